"""Measure how fast a tagger trains on one thread, to which certified gap and accuracy, and how fast it tags.

Part-of-speech tags of CoNLL-2000 from words alone (feature set `words`), one thread. Every line is repeated and the
fastest run is shown with the spread, because machines are noisy; seconds are training with its last
certificate, without reading and feature encoding.

Tagging is measured from columns in memory to labels, encoding included: on one thread, on
native threads, and from several Python threads at once that share one model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import print_table, required

from marginloom.features import ExtractedFeatures
from marginloom.io.conll import read_corpus
from marginloom.tasks.sequence.model import Labelled, Tagger, train_tagger
from marginloom.threads import available_cores

POS_COLUMN = 1


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


LINES = (
    Line("dcd-ssvm to a 1 % gap", {"algorithm": "dcd-ssvm", "C": 0.1, "tol": 0.01}),
    Line("dcd-ssvm to a 0.1 % gap", {"algorithm": "dcd-ssvm", "C": 0.1, "tol": 0.001, "max_iter": 500}),
    Line("dcd-light to a 1 % gap", {"algorithm": "dcd-light", "C": 0.1, "tol": 0.01, "max_iter": 500}),
    Line("averaged-perceptron, 10 passes", {"algorithm": "averaged-perceptron", "max_iter": 10}),
    Line("perceptron, 10 passes", {"algorithm": "perceptron", "max_iter": 10}),
)


def run(folder: Path, repeat: int) -> None:
    training, test = (
        Labelled.from_corpus(read_corpus([required(folder / f"conll2000_chunking/{part}.conll.xz")]), POS_COLUMN)
        for part in ("train", "test")
    )
    print("\nconll2000, part of speech, words alone\n")
    rows = [measure(line, training, test, repeat) for line in LINES]
    print_table(["algorithm", "seconds", "spread", "passes", "primal", "dual", "gap", "test accuracy"], rows)
    tagger, _ = train_tagger(training, ExtractedFeatures("words"), C=0.1)
    print("\ntagging the training sentences\n")
    header = ["threads", "native, tokens a second", "Python threads, tokens a second"]
    print_table(header, tagging_rows(tagger, training))


def measure(line: Line, training: Labelled, test: Labelled, repeat: int) -> list[str]:
    seconds = []
    for _ in range(repeat):
        tagger, result = train_tagger(training, ExtractedFeatures("words"), **line.options)
        seconds.append(result.seconds["train"] + result.seconds["certify"])
    proof = result.certificate
    return [
        line.name,
        f"{min(seconds):.2f}",
        f"{min(seconds):.2f} to {max(seconds):.2f}",
        str(result.iterations),
        f"{proof.primal:.1f}" if proof else "-",
        f"{proof.dual:.1f}" if proof else "-",
        f"{100 * proof.gap:.2f} %" if proof else "-",
        f"{tagger.scores({'test': test})['test']['accuracy']:.4f}",
    ]


def tagging_rows(tagger: Tagger, labelled: Labelled) -> list[list[str]]:
    tokens = len(labelled.labels)
    counts = [count for count in (1, 2, 4, 8, 16) if count <= available_cores()]

    def python_threads(count: int) -> None:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda _: tagger.tag(labelled.source, 1), range(count)))

    return [
        [
            str(count),
            f"{tokens / fastest(lambda count=count: tagger.tag(labelled.source, count)):,.0f}",
            f"{count * tokens / fastest(lambda count=count: python_threads(count)):,.0f}",
        ]
        for count in counts
    ]


def fastest(work: Callable[[], object], repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
