"""Compare a tagger with python-crfsuite on one thread: time to its accuracy, tagging, memory and scores.

Both get the same features. Its training time is what its `train` takes; ours is all of `fit`, encoding included. Every
run has a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import QUICK_SEQUENCES
from harness.indicators import indicators
from harness.package import token_accuracy
from harness.peers import Crfsuite, crfsuite_is_missing
from harness.problem import Problem
from harness.runs import Planned, Record, Settings
from harness.sequences import Sequences, read_conll
from harness.tables import print_table

from marginloom import SequenceTagger


@dataclass(frozen=True)
class Corpus:
    """A corpus with parts of speech, and the affixes of its words that are features."""

    folder: str
    label: int
    longest: int


@dataclass(frozen=True)
class Line:
    """What is trained: python-crfsuite, or ours on its strings or on words."""

    algorithm: str
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How tables name it."""
        passes = self.options.get("max_iter")
        return f"crfsuite {self.algorithm}" if passes is None else f"{self.algorithm}, {self.kind}, {passes} passes"


def ours(kind: str, *passes: int) -> list[Line]:
    """Return dcd-ssvm, cut short after some passes."""
    return [Line("dcd-ssvm", kind, {"C": 0.1, "tol": 0.01, "max_iter": count}) for count in passes]


CRFSUITE_AP = Line("ap", "crfsuite", {"max_iterations": 10})
CORPORA = {
    "conll2000-tagging": Corpus("conll2000_chunking", 1, 3),
    "brown-tagging": Corpus("brown_pos", 2, 4),
}
LINES = {
    "conll2000-tagging": [
        *ours("strings", 1, 2, 3, 5, 30),
        Line("averaged-perceptron", "strings", {"max_iter": 10}),
        *ours("words", 5),
        CRFSUITE_AP,
        Line("lbfgs", "crfsuite"),
    ],
    "brown-tagging": [*ours("words", 1, 2, 3, 5), CRFSUITE_AP],
}
QUESTION = Question("tagging_crfsuite", __doc__, tuple(CORPORA))


def main() -> None:
    benchmark = Benchmark(QUESTION)
    missing = crfsuite_is_missing()
    if missing:
        print(missing)
    count = QUICK_SEQUENCES if benchmark.arguments.quick else None
    for data in benchmark.sets:
        problem = benchmark.problem(data)
        for line in LINES[data]:
            if not missing or line.kind != "crfsuite":
                planned = Planned.of(problem, line.name, line.algorithm)
                benchmark.run([planned], partial(_perform, benchmark.data, line, count))
        rows = [_row(record) for record in benchmark.records(data)]
        header = ["learner", "training s", "test accuracy", "peak MB of training", "tokens tagged a second"]
        print_table(f"{data}: part of speech, the same features for all", header, rows)
    benchmark.end()


def _row(record: Record) -> list[str]:
    row = record.rows[-1]
    memory, rate = f"{row['peak_mb']:.0f}", f"{row['tokens_a_second']:,.0f}"
    return [record.settings.name, f"{row['wall']:.2f}", f"{row['score']:.4f}", memory, rate]


def _perform(folder: Path, line: Line, count: int | None, problem: Problem, settings: Settings) -> Record:
    """Train and tag in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(measure, (folder, problem.name, line, count))
    return Record(settings, "iterations", 0.0, None, [row])


def measure(folder: Path, data: str, line: Line, count: int | None) -> dict[str, float]:
    """Train, tag the test part and return what was seen."""
    corpus = CORPORA[data]
    train, test = (
        read_conll(folder / corpus.folder / f"{part}.conll.xz", (0,), corpus.label).some(count)
        for part in ("train", "test")
    )
    fit = {"crfsuite": _crfsuite, "strings": _strings, "words": _words}[line.kind]
    seconds, tag = fit(train, corpus.longest, line)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    predicted: Sequence[Sequence[str]] = tag(test.X)
    tagging = time.perf_counter() - start
    score = token_accuracy(test.y, predicted)
    return {"wall": seconds, "score": score, "peak_mb": memory, "tokens_a_second": sum(map(len, test.y)) / tagging}


def _crfsuite(train: Sequences, longest: int, line: Line) -> tuple[float, Any]:
    peer = Crfsuite(line.algorithm, **line.options)
    seconds = peer.fit((indicators(words, longest), labels) for words, labels in zip(train.X, train.y, strict=True))
    return seconds, lambda sentences: [peer.tag(indicators(words, longest)) for words in sentences]


def _strings(train: Sequences, longest: int, line: Line) -> tuple[float, Any]:
    """Train on the same strings that crfsuite gets; the seconds to make them are not training."""
    start = time.perf_counter()
    for words in train.X:
        indicators(words, longest)
    making = time.perf_counter() - start
    start = time.perf_counter()
    tagger = SequenceTagger(line.algorithm, **line.options).fit(
        (indicators(words, longest) for words in train.X), iter(train.y)
    )
    seconds = time.perf_counter() - start - making
    return seconds, lambda sentences: tagger.predict([indicators(words, longest) for words in sentences])


def _words(train: Sequences, longest: int, line: Line) -> tuple[float, Any]:
    """Train on words with the same features, extracted by us."""
    start = time.perf_counter()
    tagger = SequenceTagger(line.algorithm, features="tagging", **line.options).fit(train.X, train.y)
    return time.perf_counter() - start, tagger.predict


if __name__ == "__main__":
    main()
