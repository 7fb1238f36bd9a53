"""Sets of labels, and the settings among which multilabel_settings.py chooses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import required
from harness.package import MultilabelTask, multilabel_score
from harness.peers import OnePerLabel
from harness.problem import Adapter, Parts, Problem, sample
from marginloom import read_libsvm

#: As `MultilabelClassifier` has it with the hinge and algorithms that do not take the labels of a row together.
LABELS_PER_SLACK = 8


@dataclass(frozen=True)
class LabelSettings:
    """How to make a task of rows and labels.

    `length` is that of all rows, None for as they are. Pairs of features that occur together in at least `together`
    training rows are features too, at half the length of the features themselves; None for no pairs. `missing` is what
    a right label that is missing costs where a wrong one costs 1.
    """

    C: float
    length: float | None = 1.0
    together: int | None = None
    missing: float = 1.0
    interactions: str | None = None

    def __str__(self) -> str:
        length = "rows as they are" if self.length is None else f"rows of length {self.length:g}"
        together = f"with pairs of features in {self.together} rows, " if self.together else ""
        return f"{length}, {together}{self.interactions or 'no'} interactions, a missing label costs {self.missing:g}"


@dataclass(frozen=True)
class LabelData:
    """Training and test rows with 0/1 matrices of labels."""

    X: Any
    Y: NDArray[np.uint8]
    X_test: Any
    Y_test: NDArray[np.uint8]


def read_labels(folder: Path, name: str, count: int | None) -> LabelData:
    """Read a data set, or a seeded sample of both its parts."""
    X, y = read_libsvm(required(folder / name / "train.svm.xz"), multilabel=True)
    X_test, y_test = read_libsvm(required(folder / name / "test.svm.xz"), multilabel=True, n_features=X.shape[1])
    labels = 1 + max(itertools.chain.from_iterable([*y, *y_test]))
    chosen, scored = sample(X.shape[0], count), sample(X_test.shape[0], count)
    return LabelData(X[chosen], _indicators(y, labels)[chosen], X_test[scored], _indicators(y_test, labels)[scored])


def _indicators(sets: list[list[int]], labels: int) -> NDArray[np.uint8]:
    result = np.zeros((len(sets), labels), dtype=np.uint8)
    for row, members in zip(result, sets, strict=True):
        row[members] = 1
    return result


def prepared(data: LabelData, settings: LabelSettings) -> LabelData:
    """Return the rows with their pairs of features and with their length."""
    from scipy.sparse import hstack
    from sklearn.preprocessing import normalize

    parts = [data.X, data.X_test]
    if settings.together is not None:
        pairs = _pairs_of_features(data.X, settings.together)
        parts = [hstack([normalize(X), 0.5 * normalize(_both(X, pairs))]).tocsr() for X in parts]
    if settings.length is not None:
        parts = [settings.length * normalize(X) for X in parts]
    return LabelData(parts[0], data.Y, parts[1], data.Y_test)


def _pairs_of_features(X: Any, least: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    present = (X != 0).astype(np.float64)
    counts = (present.T @ present).tocoo()
    kept = (counts.row < counts.col) & (counts.data >= least)
    return counts.row[kept], counts.col[kept]


def _both(X: Any, pairs: tuple[NDArray[np.int32], NDArray[np.int32]]) -> Any:
    present = (X != 0).astype(np.float64).tocsc()
    return present[:, pairs[0]].multiply(present[:, pairs[1]]).tocsr()


def label_problem(name: str, data: LabelData, settings: LabelSettings) -> Problem:
    """Make a problem of rows and labels."""
    return Problem(name, data.Y.shape[0], settings.C, "micro F1", lambda: _parts(data, settings), str(settings))


def _parts(data: LabelData, settings: LabelSettings) -> Parts:
    """Make the tasks; LinearSVC has their objective only with the Hamming loss and no interactions."""
    data = prepared(data, settings)
    labels = data.Y.shape[1]
    options: dict[str, Any] = {"bias": 1.0}
    if settings.missing != 1:
        options["label_costs"] = np.tile([settings.missing, 1.0], (labels, 1))
    whole = MultilabelTask(data.X, data.Y, labels, pairs=settings.interactions, **options)
    task = whole
    if settings.interactions is None:
        task = MultilabelTask(data.X, data.Y, labels, labels_per_slack=LABELS_PER_SLACK, **options)
    test = MultilabelTask(data.X_test, None, labels, pairs=whole.pairs, bias=1.0)
    has_peer = settings.missing == 1 and settings.interactions is None
    peer = OnePerLabel(data.X, data.Y, data.X_test, data.Y_test) if has_peer else None
    return Parts(task, multilabel_score(test, data.Y_test), peer, whole)


def labels_adapter(name: str, data_set: str, settings: LabelSettings) -> Adapter:
    """Return the adapter of a data set with these settings."""
    return lambda folder, count: label_problem(name, read_labels(folder, data_set, count), settings)


TMC = "ml_tmc2007_500"
#: The paper's C, 1,000,000 over 43,038 examples.
TMC_C = 23.2
#: What multilabel_settings.py found best: see RESULTS.md.
TMC_CHOSEN = LabelSettings(TMC_C, length=0.5, together=20, missing=2.0, interactions="tree")
CHOICES = [
    LabelSettings(TMC_C, length, together, missing, interactions)
    for together in (None, 200, 50, 20)
    for length in ((1.0, 0.5, 0.25) if together is None else (0.5, 0.25))
    for missing, interactions in ((2.0, None), (1.5, "tree"), (2.0, "tree"), (2.5, "tree"))
]


def held_out(data: LabelData) -> LabelData:
    """Return the training part with the last tenth of it as the part to score on.

    Not a random tenth: the reports are in some order, and their labels drift along it. Each of the first nine tenths of
    ml_tmc2007_500 has 2.17 to 2.33 labels a row, the last one has 1.97.
    """
    cut = data.X.shape[0] - data.X.shape[0] // 10
    return LabelData(data.X[:cut], data.Y[:cut], data.X[cut:], data.Y[cut:])
