"""Compare with the peers that are installed, each with its own defaults, in a process of its own, on one thread.

Tagging: parts of speech of conll2000, python-crfsuite (averaged perceptron, the same indicators) beside our default.
Label sets: ml_scene, ml_tmc2007_500 and ml_delicious, LinearSVC one per label and napkinXC beside our defaults. Columns
are the test scores, CPU seconds of training, items predicted a second, peak memory and the size of the stored model.
Peers that are missing are named. MaltParser, Yara, TurboParser, MarMoT and Wapiti are no Python packages and are left
out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness.command import Question
from harness.files import data_folder
from harness.label_sets import LabelData, read_labels
from harness.tables import machine, print_table

OURS = "marginloom"
TAGGING = "conll2000"
LABEL_SETS = ("ml_scene", "ml_tmc2007_500", "ml_delicious")
#: The module that each peer needs, and the package that has it.
PEERS = {
    "python-crfsuite": "pycrfsuite",
    "LinearSVC": "sklearn",
    "napkinXC": "napkinxc",
    "LibMultiLabel": "libmultilabel",
    "PECOS": "pecos",
    "chaine": "chaine",
    "Vowpal Wabbit": "vowpalwabbit",
    "UDPipe 1": "ufal.udpipe",
}
#: What this program can run.
CONTESTS = {TAGGING: (OURS, "python-crfsuite"), **dict.fromkeys(LABEL_SETS, (OURS, "LinearSVC", "napkinXC"))}
QUESTION = Question("peers", __doc__, tuple(CONTESTS))
QUICK = 600


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--one", metavar="NAME", help=argparse.SUPPRESS)
    arguments = QUESTION.arguments(parser)
    folder, count = data_folder(arguments.data), QUICK if arguments.quick else None
    if arguments.one is not None:
        (contest,) = arguments.set
        print(json.dumps(_measured(arguments.one, contest, folder, count)))
        return
    print(machine(), flush=True)
    missing = [name for name, module in PEERS.items() if not _is_there(module)]
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}")
    unused = [name for name in PEERS if name not in missing and not any(name in all for all in CONTESTS.values())]
    if unused:
        print(f"installed, and this program has no contest for them: {', '.join(unused)}")
    for contest in (name for name in CONTESTS if name in arguments.set):
        rows = [_in_process(name, contest, arguments) for name in CONTESTS[contest] if name not in missing]
        scores = list(dict.fromkeys(name for row in rows for name in row["scores"]))
        header = ["system", *scores, "train CPU s", "items/s", "peak MB", "model MB"]
        print_table(contest, header, [_line(row, scores) for row in rows])


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _in_process(name: str, contest: str, arguments: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, str(data_folder(arguments.data)), "--one", name, "--set", contest]
    command += ["--quick"] if arguments.quick else []
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **one_thread}, check=False)
    if done.returncode:
        sys.exit(f"{name} on {contest} failed: {done.stderr[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"system": name, **found}


def _line(row: dict[str, Any], scores: list[str]) -> list[str]:
    shown = [f"{row['scores'][name]:.4f}" if name in row["scores"] else "-" for name in scores]
    numbers = [f"{row['train']:.2f}", f"{row['speed']:,.0f}", f"{row['peak']:.0f}", f"{row['model']:.1f}"]
    return [row["system"], *shown, *numbers]


def _measured(name: str, contest: str, folder: Path, count: int | None) -> dict[str, Any]:
    """Train, predict and score in this process."""
    if contest == TAGGING:
        found = _tagging(name, folder, count)
    else:
        found = LABELLERS[name](read_labels(folder, contest, count))
    return {**found, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def _label_scores(data: LabelData, scores: Any, chosen: Any) -> dict[str, float]:
    """Return micro F1 of the chosen sets, and precision at 1, 3 and 5 of the ranking."""
    found = np.asarray(chosen, dtype=bool)
    gold = data.Y_test.astype(bool)
    order = np.argsort(-np.asarray(scores), axis=1, kind="stable")
    result = {"micro F1": float(2 * (gold & found).sum() / max(gold.sum() + found.sum(), 1))}
    for k in (1, 3, 5):
        result[f"P@{k}"] = float(np.take_along_axis(gold, order[:, :k], axis=1).sum() / (k * len(gold)))
    return result


def _our_labels(data: LabelData) -> dict[str, Any]:
    from marginloom import MultilabelClassifier

    classifier, train = _timed(lambda: MultilabelClassifier(n_threads=1).fit(data.X, data.Y))
    chosen, seconds = _timed(lambda: classifier.predict(data.X_test))
    scores = _label_scores(data, classifier.decision_function(data.X_test), chosen)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(path := Path(folder, "model"))
        size = path.stat().st_size
    return {"scores": scores, "train": train, "speed": len(data.Y_test) / seconds, "model": size / 1e6}


def _linear_svc(data: LabelData) -> dict[str, Any]:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    Y = data.Y.astype(np.int64)
    classifier, train = _timed(lambda: OneVsRestClassifier(LinearSVC(random_state=0)).fit(data.X, Y))
    chosen, seconds = _timed(lambda: classifier.predict(data.X_test))
    scores = _label_scores(data, classifier.decision_function(data.X_test), chosen)
    size = len(pickle.dumps(classifier))
    return {"scores": scores, "train": train, "speed": len(data.Y_test) / seconds, "model": size / 1e6}


def _napkinxc(data: LabelData) -> dict[str, Any]:
    from napkinxc.models import PLT
    from scipy.sparse import csr_matrix

    with tempfile.TemporaryDirectory() as folder:
        model = PLT(folder, threads=1, verbose=0, seed=0)
        gold = [np.flatnonzero(row).tolist() for row in data.Y]
        _, train = _timed(lambda: model.fit(csr_matrix(data.X), gold))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*"))
        found, seconds = _timed(lambda: model.predict_proba(csr_matrix(data.X_test), top_k=data.Y.shape[1]))
    scores = np.zeros(data.Y_test.shape)
    for row, ranked in zip(scores, found, strict=True):
        for label, probability in ranked:
            row[label] = probability
    shown = _label_scores(data, scores, scores > 0.5)
    return {"scores": shown, "train": train, "speed": len(data.Y_test) / seconds, "model": size / 1e6}


LABELLERS = {OURS: _our_labels, "LinearSVC": _linear_svc, "napkinXC": _napkinxc}


def _tagging(name: str, folder: Path, count: int | None) -> dict[str, Any]:
    from harness.sequences import read_conll

    train, test = (
        read_conll(folder / "conll2000_chunking" / f"{part}.conll.xz", (0,), 1).some(count)
        for part in ("train", "test")
    )
    gold = [label for labels in test.y for label in labels]
    if name == OURS:
        from marginloom import SequenceTagger

        words = [[_word(token) for token in sentence] for sentence in train.X]
        tagger, seconds = _timed(lambda: SequenceTagger(n_threads=1).fit(words, train.y))
        tests = [[_word(token) for token in sentence] for sentence in test.X]
        found, predicting = _timed(lambda: tagger.predict(tests))
        with tempfile.TemporaryDirectory() as place:
            tagger.save(path := Path(place, "model"))
            size = path.stat().st_size
    else:
        from harness.peers import Crfsuite

        peer = Crfsuite("ap")
        items = [_indicators(sentence) for sentence in train.X]
        seconds = peer.fit(zip(items, train.y, strict=True), time.process_time)
        tests_of_peer = [_indicators(sentence) for sentence in test.X]
        found, predicting = _timed(lambda: [peer.tag(sentence) for sentence in tests_of_peer])
        size = len(peer._model)
    labels = [label for sentence in found for label in sentence]
    accuracy = float(np.mean([one == other for one, other in zip(labels, gold, strict=True)]))
    return {"scores": {"accuracy": accuracy}, "train": seconds, "speed": len(gold) / predicting, "model": size / 1e6}


def _word(token: Any) -> str:
    return token if isinstance(token, str) else token[0]


def _indicators(sentence: Any) -> list[list[str]]:
    """Return what the set `tagging` looks at, as strings."""
    words = [_word(token) for token in sentence]
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    return [
        [
            "bias",
            f"lower={word.lower()}",
            *(f"word[{d}]={around[t + 2 + d]}" for d in (-2, -1, 0, 1, 2)),
            *(f"prefix{n}={word[:n]}" for n in range(1, 5)),
            *(f"suffix{n}={word[-n:]}" for n in range(1, 5)),
        ]
        for t, word in enumerate(words)
    ]


if __name__ == "__main__":
    main()
