"""Compare a tagger with python-crfsuite on features that are ready Python objects: throughput and memory.

Both train the averaged perceptron with as many passes, on one thread, and tag with it. The objects are made before, and
their making does not count. Every run has a process of its own, in which both libraries are imported; seconds are those
of the CPU. Peak memory is the whole process's; "grown" is what training has added to it.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
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

from marginloom import Callback, SequenceTagger

PASSES = 10
OURS, PEER = "marginloom", "crfsuite"
CORPORA = {"conll2000-tagging": ("conll2000_chunking", 1, 3), "brown-tagging": ("brown_pos", 2, 4)}
KINDS: dict[str, Callable[[list[list[str]]], list[Any]]] = {
    "lists": lambda tokens: tokens,
    "dicts": lambda tokens: [dict(feature.partition("=")[::2] for feature in token) for token in tokens],
}
FIGURES = {
    "total": "tokens trained a second, all of fit",
    "pass": "tokens a second of a pass",
    "tag": "tokens tagged a second",
    "peak_mb": "peak MB",
    "grown_mb": "grown MB",
    "score": "test accuracy",
}
QUESTION = Question("tagging_strings", __doc__, tuple(CORPORA))


def main() -> None:
    benchmark = Benchmark(QUESTION)
    missing = crfsuite_is_missing()
    if missing:
        print(missing)
    count = QUICK_SEQUENCES if benchmark.arguments.quick else None
    for data in benchmark.sets:
        problem = benchmark.problem(data)
        for kind in KINDS:
            for program in (OURS,) if missing else (OURS, PEER):
                planned = Planned.of(problem, f"{program}, {kind}", program)
                benchmark.run([planned], partial(_perform, benchmark.data, program, kind, count))
        print_table(
            f"{data}: averaged perceptron, {PASSES} passes", ["", *FIGURES.values()], _rows(benchmark.records(data))
        )
    benchmark.end()


def _rows(records: Sequence[Record]) -> list[list[str]]:
    figures = {record.settings.name: record.rows[-1] for record in records}
    rows = []
    for kind in KINDS:
        both = [figures.get(f"{program}, {kind}") for program in (OURS, PEER)]
        for program, row in zip((OURS, PEER), both, strict=True):
            if row is not None:
                rows.append([f"{program}, {kind}", *(_shown(name, row[name]) for name in FIGURES)])
        if None not in both:
            rows.append([f"ratio, {kind}", *(f"{both[0][name] / both[1][name]:.2f}" for name in FIGURES)])
    return rows


def _shown(name: str, figure: float) -> str:
    return f"{figure:.4f}" if name == "score" else f"{figure:,.0f}"


def _perform(folder: Path, program: str, kind: str, count: int | None, problem: Problem, settings: Settings) -> Record:
    """Train and tag in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(measure, (folder, problem.name, program, kind, count))
    return Record(settings, "iterations", 0.0, None, [row])


def measure(folder: Path, data: str, program: str, kind: str, count: int | None) -> dict[str, float]:
    """Train, tag the test part and return what was seen."""
    directory, label, longest = CORPORA[data]
    train, test = (
        read_conll(folder / directory / f"{part}.conll.xz", (0,), label).some(count) for part in ("train", "test")
    )
    made, given = ([KINDS[kind](indicators(words, longest)) for words in part.X] for part in (train, test))
    resident = _resident_mb()
    start = time.process_time()
    pass_seconds, tag = (_ours if program == OURS else _crfsuite)(made, train)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    predicted = tag(given)
    tagging = time.process_time() - start
    tokens = sum(map(len, train.y))
    return {
        "wall": seconds,
        "total": tokens / seconds,
        "pass": tokens / pass_seconds,
        "tag": sum(map(len, test.y)) / tagging,
        "peak_mb": peak,
        "grown_mb": max(peak - resident, 0.1),
        "score": token_accuracy(test.y, predicted),
    }


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


class TrainingClock(Callback):
    """Measures the CPU seconds of the passes."""

    seconds = 0.0

    def before_training(self, run: Any) -> None:
        """Start."""
        self._start = time.process_time()

    def after_training(self, run: Any) -> None:
        """Stop."""
        self.seconds = time.process_time() - self._start


def _ours(made: list[Any], train: Sequences) -> tuple[float, Callable[[list[Any]], Any]]:
    tagger, clock = SequenceTagger("averaged-perceptron", features=None, max_iter=PASSES), TrainingClock()
    tagger.fit(made, train.y, callbacks=[clock])
    return clock.seconds / PASSES, tagger.predict


def _crfsuite(made: list[Any], train: Sequences) -> tuple[float, Callable[[list[Any]], Any]]:
    peer = Crfsuite("ap", max_iterations=PASSES, epsilon=0.0)
    seconds = peer.fit(zip(made, train.y, strict=True), time.process_time)
    return seconds / PASSES, lambda sentences: [peer.tag(sentence) for sentence in sentences]


if __name__ == "__main__":
    main()
