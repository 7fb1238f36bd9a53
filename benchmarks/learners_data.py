"""The data sets of learners.py: reading, the development parts, and tasks that are encoded once for all learners."""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from common import required

from marginloom.features import ExtractedFeatures, FeatureSet, MatrixFeatures
from marginloom.tasks.base.labels import LabelSet
from marginloom.tasks.sequence.constraints import forbidden_pairs
from marginloom.tasks.sequence.model import Labelled, Tagger, TaggingEvaluator
from marginloom.tasks.sequence.task import SequenceTask

SEED = 0


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

    def labelled(self) -> Labelled:
        """Return them as training and evaluation want them."""
        return Labelled(self.X, list(itertools.chain.from_iterable(self.y)))


@dataclass(frozen=True)
class DataSet:
    """What learners are compared on; `dev` is None where the data set has no such part."""

    name: str
    score: str
    features: Callable[[], FeatureSet]
    constraints: str | None
    training: Sequences
    dev: Sequences | None
    test: Sequences

    def sizes(self) -> str:
        """Say how large the parts are."""
        dev = f"{len(self.dev)} for development, " if self.dev else ""
        return f"{len(self.training)} sequences to train on, {dev}{len(self.test)} to test on"

    def quick(self, count: int = 1000) -> DataSet:
        """Return a seeded sample of every part."""
        parts = {
            name: part.take(_sample(len(part), count))
            for name, part in (("training", self.training), ("dev", self.dev), ("test", self.test))
            if part is not None
        }
        return replace(self, **parts)

    def for_choice(self) -> Problem:
        """Return the problem on which C is chosen: scored on `dev`, or on a seeded tenth of the training part."""
        if self.dev is not None:
            return Problem(self, self.training, self.dev)
        order = np.random.default_rng(SEED).permutation(len(self.training)).tolist()
        held_out = len(order) // 10
        return Problem(self, self.training.take(order[held_out:]), self.training.take(order[:held_out]))

    def for_comparison(self) -> Problem:
        """Return the problem on which learners are compared: scored on the test part."""
        return Problem(self, self.training, self.test)


class Problem:
    """A task to train on and sequences to score on, both encoded on first use."""

    def __init__(self, data: DataSet, training: Sequences, scored: Sequences) -> None:
        self.data = data
        self.training = training
        self.scored = scored

    @cached_property
    def _parts(self) -> tuple[SequenceTask, TaggingEvaluator]:
        labelled = self.training.labelled()
        features = self.data.features()
        encoded = features.fit(labelled.source)
        labels, gold = LabelSet.learn(labelled.labels)
        forbidden = forbidden_pairs(self.data.constraints, labels.names)
        task = SequenceTask(encoded, gold, len(labels.names), forbidden=forbidden)
        tagger = Tagger(features=features, labels=labels, start_end=False, forbidden=forbidden)
        return task, tagger.evaluator(self.scored.labelled())

    @property
    def task(self) -> SequenceTask:
        """The task to train on."""
        return self._parts[0]

    def score(self, weights: Any) -> float:
        """Return the score of weights on the sequences to score on."""
        return float(self._parts[1](weights)[self.data.score])


def _sample(size: int, count: int) -> list[int]:
    return sorted(np.random.default_rng(SEED).permutation(size)[:count].tolist())


def read_conll(path: Path, columns: Sequence[int], label: int) -> Sequences:
    """Read the columns and the label of every token, without the lines that mark documents."""
    X, y = [], []
    with lzma.open(required(path), "rt", encoding="utf-8") as lines:
        for empty, group in itertools.groupby(map(str.split, lines), key=lambda cells: not cells):
            rows = [] if empty else [cells for cells in group if cells[0] != "-DOCSTART-"]
            if rows:
                X.append([tuple(cells[column] for column in columns) for cells in rows])
                y.append([cells[label] for cells in rows])
    return Sequences(X, y)


def entities(folder: Path, name: str, label: int, constraints: str | None) -> DataSet:
    train, dev, test = (
        read_conll(folder / name / f"{part}.conll.xz", (0, 1), label) for part in ("train", "dev", "test")
    )
    return DataSet(name, "f1", lambda: ExtractedFeatures("ner", pos_column=2), constraints, train, dev, test)


def _conll2000(folder: Path) -> DataSet:
    train, test = (read_conll(folder / f"conll2000_chunking/{part}.conll.xz", (0,), 1) for part in ("train", "test"))
    return DataSet("conll2000", "accuracy", lambda: ExtractedFeatures("tagging"), None, train, None, test)


def _ocr_letters(folder: Path) -> DataSet:
    """Words as matrices with the 128 pixels of a letter a row; folds 1 to 9 to train on, fold 0 to test on."""
    with lzma.open(required(folder / "ocr_letters/letter.data.xz"), "rt") as lines:
        rows = [line.split() for line in lines]
    parts: dict[bool, Sequences] = {True: Sequences([], []), False: Sequences([], [])}
    for _, group in itertools.groupby(rows, key=lambda row: row[3]):  # columns: id, letter, next, word, position, fold
        word = list(group)
        part = parts[word[0][5] == "0"]
        part.X.append(np.array([row[6:] for row in word], dtype=np.float32))
        part.y.append([row[1] for row in word])
    return DataSet("ocr_letters", "accuracy", MatrixFeatures, None, parts[False], None, parts[True])


DATA_SETS: dict[str, Callable[[Path], DataSet]] = {
    "conll2003_en": lambda folder: entities(folder, "conll2003_en", 3, "bio"),
    # a training sentence starts with I-LOC, so that its right labels would break the constraints
    "conll2002_es": lambda folder: entities(folder, "conll2002_es", 2, None),
    "conll2000": _conll2000,
    "ocr_letters": _ocr_letters,
}
