"""Measure what the named feature sets reach, on one thread, with C = 0.1 and a gap of 1 %.

Seconds are all of `SequenceTagger.fit`, feature encoding included.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.problem import Problem
from harness.runs import Planned, Record, Settings
from harness.sequences import Sequences, read_conll
from harness.tables import percent, print_table

from marginloom import SequenceTagger


@dataclass(frozen=True)
class Labels:
    """Labels that a feature set is made for: where they are, and how the tagger is made."""

    folder: str
    columns: tuple[int, ...]
    label: int
    tagger: dict[str, Any]
    scored: tuple[str, ...] = ("test",)


LABELS = {
    "parts of speech": Labels("conll2000_chunking", (0,), 1, {"features": "tagging"}),
    "chunks": Labels("conll2000_chunking", (0, 1), 2, {"features": "chunking", "pos_column": 2, "constraints": "bio"}),
    "entities": Labels(
        "conll2003_en", (0, 1), 3, {"features": "ner", "pos_column": 2, "constraints": "bio"}, ("dev", "test")
    ),
}
QUESTION = Question("tagging_features", __doc__, tuple(LABELS))
QUICK_SENTENCES = 1000


def main() -> None:
    benchmark = Benchmark(QUESTION)
    for name in benchmark.sets:
        labels = LABELS[name]
        parts = {
            part: read_conll(benchmark.data / labels.folder / f"{part}.conll.xz", labels.columns, labels.label).some(
                QUICK_SENTENCES if benchmark.arguments.quick else None
            )
            for part in ("train", *labels.scored)
        }
        problem = Problem(name, len(parts["train"]), 0.1, "accuracy")
        benchmark.describe(problem)
        planned = Planned.of(problem, labels.tagger["features"], "dcd-ssvm", tol=0.01, max_iter=100)
        benchmark.run([planned], partial(_perform, parts))
    rows = [_line(record) for name in benchmark.sets for record in benchmark.records(name)]
    print_table("scores of the named feature sets", ["task", "features", "seconds", "gap", "scores"], rows)
    benchmark.end()


def _perform(parts: Mapping[str, Sequences], problem: Problem, settings: Settings) -> Record:
    """Train on one part and score on the others; the one row has no passes."""
    options = {"algorithm": settings.algorithm, "C": settings.C, "tol": settings.tol, "max_iter": settings.max_iter}
    tagger = SequenceTagger(**LABELS[problem.name].tagger, **options)
    start = time.perf_counter()
    tagger.fit(parts["train"].X, parts["train"].y)
    seconds = time.perf_counter() - start
    scores = {name: tagger.evaluate(part.X, part.y) for name, part in parts.items() if name != "train"}
    kept = {
        part: {name: values[name] for name in ("accuracy", "f1") if name in values} for part, values in scores.items()
    }
    proof = {"gap": tagger.certificate_.gap} if tagger.certificate_ else None
    row = {"wall": seconds, "score": scores["test"]["accuracy"], "scores": kept}
    return Record(settings, tagger.stopped_, 0.0, proof, [row])


def _line(record: Record) -> list[str]:
    row = record.rows[-1]
    scores = [
        f"{part} " + ", ".join(f"{name} {value:.4f}" for name, value in values.items())
        for part, values in row["scores"].items()
    ]
    gap = percent(record.certified_gap, "{:.2f} %")
    return [record.settings.data, record.settings.name, f"{row['wall']:.2f}", gap, "; ".join(scores)]


if __name__ == "__main__":
    main()
