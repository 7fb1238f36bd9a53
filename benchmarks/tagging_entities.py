"""Compare an entity recognizer with python-crfsuite's CRF on Spanish, with the features of docs/from_crfsuite.md.

Both train on one thread, to a certified gap of 1 % and for up to 100 iterations of L-BFGS. Seconds are those of the CPU
for all of training, from the ready Python objects on. Every run has a process of its own.
"""

from __future__ import annotations

import itertools
import lzma
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import QUICK_SEQUENCES
from harness.files import required
from harness.peers import Crfsuite, crfsuite_is_missing
from harness.problem import Problem
from harness.runs import Planned, Record, Settings
from harness.tables import print_table

from marginloom import SequenceTagger, metrics

PAGE = Path(__file__).parents[1] / "docs" / "from_crfsuite.md"
FOLDERS = {"conll2002_es": "conll2002_es"}
OURS, PEER = "SequenceTagger", "crfsuite lbfgs"
QUESTION = Question("tagging_entities", __doc__, tuple(FOLDERS))


def main() -> None:
    benchmark = Benchmark(QUESTION)
    missing = crfsuite_is_missing()
    if missing:
        print(missing)
    count = QUICK_SEQUENCES if benchmark.arguments.quick else None
    for data in benchmark.sets:
        problem = benchmark.problem(data)
        for program in (OURS,) if missing else (OURS, PEER):
            planned = Planned.of(problem, program, program)
            benchmark.run([planned], partial(_perform, benchmark.data, program, count))
        rows = [[record.settings.name, *_figures(record.rows[-1])] for record in benchmark.records(data)]
        header = ["learner", "CPU seconds of training", "weighted F1 of labels", "F1 of entities"]
        print_table(f"{data}: entities, the same features for both", header, rows)
    benchmark.end()


def _figures(row: dict[str, Any]) -> list[str]:
    return [f"{row['wall']:.1f}", f"{row['labels_f1']:.4f}", f"{row['score']:.4f}"]


def _perform(folder: Path, program: str, count: int | None, problem: Problem, settings: Settings) -> Record:
    """Train and tag in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(measure, (folder / FOLDERS[problem.name], program, count))
    return Record(settings, "iterations", 0.0, None, [row])


def measure(folder: Path, program: str, count: int | None) -> dict[str, float]:
    """Train, tag the test part and return what was seen."""
    page = page_names(folder)
    X, y = page["X_train"][:count], page["y_train"][:count]
    start = time.process_time()
    predict = _ours(X, y) if program == OURS else _crfsuite(X, y)
    seconds = time.process_time() - start
    gold, predicted = page["y_test"], predict(page["X_test"])
    labels = sorted({*itertools.chain.from_iterable(y)} - {"O"})
    return {
        "wall": seconds,
        "labels_f1": metrics.flat_f1_score(gold, predicted, average="weighted", labels=labels),
        "score": metrics.span_f1_score(gold, predicted),
    }


def page_names(folder: Path) -> dict[str, Any]:
    """Run the page up to its features, and return what it has named: the examples of the data in a folder."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("## Training")[0], re.DOTALL)
    names: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        for part in ("train", "test"):
            Path(place, f"{part}.conll").write_bytes(lzma.open(required(folder / f"{part}.conll.xz")).read())
        os.chdir(place)
        try:
            exec("\n".join(code), names)
        finally:
            os.chdir(here)
    return names


def _ours(X: Any, y: Any) -> Callable[[Any], Any]:
    return SequenceTagger(C=0.1, n_threads=1).fit(X, y).predict


def _crfsuite(X: Any, y: Any) -> Callable[[Any], Any]:
    options = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}
    peer = Crfsuite("lbfgs", **options)
    peer.fit(zip(X, y, strict=True))
    return lambda sentences: [peer.tag(sentence) for sentence in sentences]


if __name__ == "__main__":
    main()
