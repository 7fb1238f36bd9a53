"""Sequences to label: parts of speech, named entities and handwritten words."""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.files import required
from harness.package import sequence_parts
from harness.problem import Adapter, Parts, Problem, sample

#: Of all sequence problems, as in the paper of demi-dcd; learners.py chooses its own.
C = 0.1


@dataclass(frozen=True)
class Sequences:
    """Sequences of inputs with the labels of their elements."""

    X: list[Any]
    y: list[list[str]]

    def __len__(self) -> int:
        return len(self.X)

    def take(self, places: Sequence[int]) -> Sequences:
        """Return the sequences at some places."""
        return Sequences([self.X[place] for place in places], [self.y[place] for place in places])

    def some(self, count: int | None) -> Sequences:
        """Return all, or a seeded sample."""
        return self.take(sample(len(self), count).tolist())


@dataclass(frozen=True)
class SequenceData:
    """A data set; `dev` is None where it has no such part."""

    name: str
    score_name: str
    features: Mapping[str, Any] | None
    constraints: str | None
    training: Sequences
    dev: Sequences | None
    test: Sequences
    options: Mapping[str, Any] = field(default_factory=dict)  # of the tagger, besides

    def problem(self, count: int | None) -> Problem:
        """Return the problem that is scored on the test part."""
        dev = None if self.dev is None else self.dev.some(count)
        data = replace(self, training=self.training.some(count), dev=dev, test=self.test.some(count))
        return replace(data._problem(data.training, data.test), development=data._development)

    def _development(self) -> Problem:
        """Score on `dev`, or on a seeded tenth of the training part."""
        if self.dev is not None:
            return self._problem(self.training, self.dev)
        order = np.random.default_rng(0).permutation(len(self.training)).tolist()
        held_out = len(order) // 10
        return self._problem(self.training.take(order[held_out:]), self.training.take(order[:held_out]))

    def _problem(self, training: Sequences, scored: Sequences) -> Problem:
        def make() -> Parts:
            given, wanted = (training.X, training.y), (scored.X, scored.y)
            parts = sequence_parts(given, wanted, self.features, self.constraints, self.score_name, self.options)
            return Parts(*parts)

        return Problem(self.name, len(training), C, self.score_name, make, self.constraints)


@cache
def read_conll(path: Path, columns: Sequence[int], label: int) -> Sequences:
    """Read columns and the label of every token, without the lines that mark documents; one column gives strings."""
    X, y = [], []
    with lzma.open(required(path), "rt", encoding="utf-8") as lines:
        for empty, group in itertools.groupby(map(str.split, lines), key=lambda cells: not cells):
            rows = [] if empty else [cells for cells in group if cells[0] != "-DOCSTART-"]
            if not rows:
                continue
            if len(columns) == 1:
                X.append([cells[columns[0]] for cells in rows])
            else:
                X.append([tuple(cells[column] for column in columns) for cells in rows])
            y.append([cells[label] for cells in rows])
    return Sequences(X, y)


def tags(name: str, corpus: str, label: int, feature_set: str, **options: Any) -> Adapter:
    """Return the adapter of parts of speech from words."""

    def read(folder: Path, count: int | None) -> Problem:
        train, test = (read_conll(folder / corpus / f"{part}.conll.xz", (0,), label) for part in ("train", "test"))
        return SequenceData(name, "accuracy", {"name": feature_set}, None, train, None, test, options).problem(count)

    return read


def entities(
    name: str, label: int, constraints: str | None, *, corpus: str = "", feature_set: str = "ner", **options: Any
) -> Adapter:
    """Return the adapter of named entities from words and parts of speech."""

    def read(folder: Path, count: int | None) -> Problem:
        files = (folder / (corpus or name) / f"{part}.conll.xz" for part in ("train", "dev", "test"))
        parts = [read_conll(path, (0, 1), label) for path in files]
        features = {"name": feature_set, "pos_column": 2}
        return SequenceData(name, "f1", features, constraints, *parts, options).problem(count)

    return read


def ocr_letters(folder: Path, count: int | None) -> Problem:
    """Read words as matrices with the 128 pixels of a letter a row; folds 1 to 9 to train on, fold 0 to test on."""
    with lzma.open(required(folder / "ocr_letters/letter.data.xz"), "rt") as lines:
        rows = [line.split() for line in lines]
    parts: dict[bool, Sequences] = {True: Sequences([], []), False: Sequences([], [])}
    for _, group in itertools.groupby(rows, key=lambda row: row[3]):  # columns: id, letter, next, word, position, fold
        word = list(group)
        part = parts[word[0][5] == "0"]
        part.X.append(np.array([row[6:] for row in word], dtype=np.float32))
        part.y.append([row[1] for row in word])
    return SequenceData("ocr_letters", "accuracy", None, None, parts[False], None, parts[True]).problem(count)
