"""Programs that label the words of sentences, on one thread.

The peers get the same indicators as strings: those of our set `tagging` for parts of speech, those of `ner` for
entities. Their extraction is not counted; ours is.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.files import required
from harness.package import sequence_scores
from harness.peers import Crfsuite
from harness.sequences import Sequences, read_conll
from harness.systems import OURS, Measured, System, size_of, timed
from marginloom import read_conllu

UPOS = "ud_english_ewt UPOS"
#: The folder of every contest, and the columns of words and labels; None for the column UPOS of CoNLL-U.
PARTS_OF_SPEECH: dict[str, tuple[str, tuple[int, ...], int | None]] = {
    "conll2000": ("conll2000_chunking", (0,), 1),
    "brown": ("brown_pos", (0,), 2),
    UPOS: ("ud_english_ewt", (0,), None),
}
ENTITIES = {
    "conll2003_en": ("conll2003_en", (0, 1), 3),
    "conll2002_es": ("conll2002_es", (0, 1), 2),
}
TAG_SETS = (*PARTS_OF_SPEECH, *ENTITIES)
Strings = list[list[list[str]]]
#: Passes of Vowpal Wabbit.
PASSES = 5


@dataclass(frozen=True)
class _Data:
    train: Sequences
    test: Sequences
    has_entities: bool

    def measured(self, found: Any, training: float, predicting: float, size: int) -> Measured:
        scores, name = sequence_scores(self.test.y, found), "f1" if self.has_entities else "accuracy"
        return Measured({name: scores[name]}, training, predicting, sum(map(len, self.test.y)), size)


def tag_systems(name: str) -> list[System]:
    """Return all programs for a data set."""
    runs: dict[tuple[str, str | None], Callable[[_Data], Measured]] = {
        (OURS, None): _ours,
        (f"{OURS}, averaged perceptron", None): partial(_ours, algorithm="averaged-perceptron", max_iter=10),
        ("python-crfsuite, averaged perceptron", "pycrfsuite"): partial(_crfsuite, algorithm="ap"),
        ("python-crfsuite, L-BFGS, 100 passes", "pycrfsuite"): partial(
            _crfsuite, algorithm="lbfgs", max_iterations=100
        ),
        ("chaine, averaged perceptron", "chaine"): _chaine,
        (f"Vowpal Wabbit, sequence search, {PASSES} passes", "vowpalwabbit"): _vowpal_wabbit,
    }
    return [
        System(system, module, lambda folder, count, run=run: run(_read(folder, name, count)))
        for (system, module), run in runs.items()
    ]


def _read(folder: Path, name: str, count: int | None) -> _Data:
    place, columns, label = {**PARTS_OF_SPEECH, **ENTITIES}[name]
    parts = []
    for part in ("train", "test"):
        if label is None:
            words, _ = read_conllu(required(folder / place / f"{part}.conllu.xz"), columns=("form", "upos"))
            whole = Sequences([[form for form, _ in one] for one in words], [[tag for _, tag in one] for one in words])
        else:
            whole = read_conll(folder / place / f"{part}.conll.xz", columns, label)
        parts.append(whole.some(count))
    return _Data(*parts, has_entities=name in ENTITIES)


def _ours(data: _Data, **options: Any) -> Measured:
    from marginloom import SequenceTagger

    if data.has_entities:
        options |= {"features": "ner-rich", "pos_column": 2, "constraints": "bio"}
    tagger, training = timed(lambda: SequenceTagger(n_threads=1, **options).fit(data.train.X, data.train.y))
    found, predicting = timed(lambda: tagger.predict(data.test.X))
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(path := Path(folder, "model"))
        size = size_of(path)
    return data.measured(found, training, predicting, size)


def _crfsuite(data: _Data, algorithm: str, **parameters: float) -> Measured:
    peer, rows = Crfsuite(algorithm, **parameters), _indicators(data.train)
    training = peer.fit(zip(rows, data.train.y, strict=True), time.process_time)
    tests = _indicators(data.test)
    found, predicting = timed(lambda: [peer.tag(sentence) for sentence in tests])
    return data.measured(found, training, predicting, peer.size)


def _chaine(data: _Data) -> Measured:
    import chaine

    rows, tests = ([[set(token) for token in one] for one in _indicators(part)] for part in (data.train, data.test))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        options = {"algorithm": "ap", "verbose": 0, "model_filepath": str(path)}
        model, training = timed(lambda: chaine.train(rows, data.train.y, **options))
        found, predicting = timed(lambda: model.predict(tests))
        size = size_of(path)
    return data.measured(found, training, predicting, size)


def _vowpal_wabbit(data: _Data) -> Measured:
    from vowpalwabbit import Workspace

    labels = sorted({label for sentence in data.train.y for label in sentence})
    numbers = {label: number for number, label in enumerate(labels, 1)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, one in (("train", data.train), ("test", data.test)):
            _write_for_wabbit(folder / part, one, numbers)
        search = f"--search {len(labels)} --search_task sequence -b 24"
        passes = f"--passes {PASSES} --cache_file {folder}/cache -k --holdout_off"
        model = f"{folder}/model"
        command = f"{search} {passes} -d {folder}/train -f {model} --quiet --random_seed 0"
        _, training = timed(lambda: Workspace(command).finish())
        command = f"-t -i {model} -d {folder}/test -p {folder}/found --quiet"
        _, predicting = timed(lambda: Workspace(command).finish())
        lines = Path(folder, "found").read_text().splitlines()
        size = size_of(Path(model))
    found = [[labels[int(number) - 1] for number in line.split()] for line in lines if line.strip()]
    return data.measured(found, training, predicting, size)


def _write_for_wabbit(path: Path, part: Sequences, numbers: dict[str, int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for sentence, labels in zip(_indicators(part), part.y, strict=True):
            for token, label in zip(sentence, labels, strict=True):
                escaped = " ".join(re.sub(r"[\s:|]", "_", one) for one in token)
                file.write(f"{numbers.get(label, 1)} | {escaped}\n")
            file.write("\n")


def _indicators(part: Sequences) -> Strings:
    """Return what our sets `tagging`, and `ner` where words have a part of speech, look at, as strings."""
    return [
        _indicators_of([token[0] for token in one], [token[1] for token in one])
        if one and not isinstance(one[0], str)
        else _indicators_of(one, None)
        for one in part.X
    ]


def _indicators_of(words: Sequence[str], tags: Sequence[str] | None) -> list[list[str]]:
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    shapes = [_short_shape(word) for word in around]
    tags_around = [] if tags is None else ["<s>", *tags, "</s>"]
    result = []
    for t, word in enumerate(words):
        found = ["bias", f"lower={word.lower()}", f"shape={shapes[t + 2]}"]
        found += [f"word[{d}]={around[t + 2 + d]}" for d in (-2, -1, 0, 1, 2)]
        found += [f"prefix{n}={word[:n]}" for n in range(1, 5) if len(word) >= n]
        found += [f"suffix{n}={word[-n:]}" for n in range(1, 5) if len(word) >= n]
        if tags is not None:
            a, b, c = tags_around[t : t + 3]
            x, y, z = shapes[t + 1 : t + 4]
            found += [f"pos-1={a}", f"pos={b}", f"pos+1={c}", f"pos-1|pos={a}|{b}", f"pos|pos+1={b}|{c}"]
            found += [f"shape-1={x}", f"shape+1={z}", f"shape-1|shape={x}|{y}", f"shape|shape+1={y}|{z}"]
            found += [f"word-1|word={around[t + 1]}|{word}", f"word|word+1={word}|{around[t + 3]}"]
        result.append(found)
    return result


def _short_shape(word: str) -> str:
    if word in ("<s>", "</s>"):
        return word
    kinds = ("X" if one.isupper() else "x" if one.isalpha() else "d" if one.isdigit() else one for one in word)
    return re.sub(r"(.)\1+", r"\1", "".join(kinds))
