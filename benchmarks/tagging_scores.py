"""Measure what the named feature sets reach, one thread, default C and gap."""

from __future__ import annotations

from pathlib import Path

from common import print_table, required

from marginloom.features import ExtractedFeatures
from marginloom.io.conll import read_corpus
from marginloom.tasks.sequence.model import Labelled, train_tagger

TASKS = (
    ("part of speech", "conll2000_chunking", 1, {"name": "tagging"}, None, ("test",)),
    ("chunks", "conll2000_chunking", 2, {"name": "chunking", "pos_column": 2}, "bio", ("test",)),
    ("entities", "conll2003_en", 3, {"name": "ner", "pos_column": 2}, "bio", ("dev", "test")),
)


def run(folder: Path) -> None:
    rows = []
    for task, data, column, features, constraints, parts in TASKS:
        files = {
            part: Labelled.from_corpus(read_corpus([required(folder / data / f"{part}.conll.xz")]), column)
            for part in ("train", *parts)
        }
        tagger, result = train_tagger(files["train"], ExtractedFeatures(**features), C=0.1, constraints=constraints)
        scores = tagger.scores({part: files[part] for part in parts})
        shown = "; ".join(
            f"{part} " + ", ".join(f"{name} {values[name]:.4f}" for name in ("accuracy", "f1") if name in values)
            for part, values in scores.items()
        )
        seconds = result.seconds["features"] + result.seconds["train"]
        rows.append([task, features["name"], f"{seconds:.2f}", f"{100 * result.certificate.gap:.2f} %", shown])
    print("\nscores of the named feature sets\n")
    print_table(["task", "features", "seconds", "gap", "scores"], rows)
