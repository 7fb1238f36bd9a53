"""The multilabel data sets of classify.py, and the choice of settings on a part of the training examples."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from classify_data import Adapter, Problem, sample
from classify_peers import OnePerLabel
from common import required
from numpy.typing import NDArray

from marginloom import read_libsvm
from marginloom.metrics import multilabel_scores
from marginloom.multilabel import LABELS_PER_SLACK
from marginloom.tasks.label_sets import unpack
from marginloom.tasks.multilabel import MultilabelTask
from marginloom.threads import resolve_threads


@dataclass(frozen=True)
class LabelSettings:
    """How to make a task of rows and labels.

    `length` is that of all rows, None for as they are; `missing` is what a right label that is missing costs where a
    wrong one costs 1.
    """

    C: float
    length: float | None = 1.0
    missing: float = 1.0
    pairs: str | None = None
    loss: str = "hinge"

    def __str__(self) -> str:
        length = "rows as they are" if self.length is None else f"rows of length {self.length:g}"
        labels = f"{self.pairs or 'no'} interactions, a missing label costs {self.missing:g}"
        return f"{length}, {labels}, {self.loss.replace('_', ' ')}"


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


def scaled(X: Any, length: float | None) -> Any:
    """Return the rows with that length."""
    from sklearn.preprocessing import normalize

    return X if length is None else normalize(X) * length


def label_problem(name: str, data: LabelData, settings: LabelSettings) -> Problem:
    """Make a problem; LinearSVC has its objective only with the Hamming loss, the hinge and no interactions."""
    X, X_test = scaled(data.X, settings.length), scaled(data.X_test, settings.length)
    labels = data.Y.shape[1]
    options: dict[str, Any] = {"bias": 1.0}
    if settings.missing != 1:
        options["label_costs"] = np.tile([settings.missing, 1.0], (labels, 1))
    whole = MultilabelTask(X, data.Y, labels, pairs=settings.pairs, **options)
    task = whole
    if settings.pairs is None:
        together = LABELS_PER_SLACK if settings.loss == "hinge" else 1
        task = MultilabelTask(X, data.Y, labels, labels_per_slack=together, **options)
    test = MultilabelTask(X_test, None, labels, pairs=whole.pairs, bias=1.0)

    def score(weights: NDArray[np.float64]) -> float:
        predicted = unpack(test.predict(weights, resolve_threads(-1)), labels)
        return float(multilabel_scores(data.Y_test, predicted)["micro_f1"])

    has_peer = settings.missing == 1 and settings.pairs is None and settings.loss == "hinge"
    return Problem(
        name,
        task,
        settings.C,
        score,
        "micro F1",
        data.Y.shape[0],
        OnePerLabel(X, data.Y, X_test, data.Y_test) if has_peer else None,
        whole if settings.loss == "hinge" else None,
        str(settings),
    )


def labels_adapter(name: str, data_set: str, settings: LabelSettings) -> Adapter:
    """Return the adapter of a data set with these settings."""
    return lambda folder, count: label_problem(name, read_labels(folder, data_set, count), settings)


TMC = "ml_tmc2007_500"
#: The paper's C, 1,000,000 over 43,038 examples.
TMC_C = 23.2
#: What `--part choose` found best: see RESULTS.md.
TMC_CHOSEN = LabelSettings(TMC_C, length=0.5, missing=2.5, pairs="tree")
CHOICES = [
    *(
        LabelSettings(TMC_C, length, missing, pairs)
        for length in (1.0, 0.5, 0.25)
        for pairs in (None, "tree")
        for missing in (1.5, 2.0, 2.5, 3.0)
    ),
    *(
        LabelSettings(TMC_C, length, missing, loss="squared_hinge")
        for length in (1.0, 0.5, 0.25)
        for missing in (1.0, 1.5, 2.0)
    ),
]


def held_out(data: LabelData) -> LabelData:
    """Return the training part with a seeded tenth of it as the part to score on.

    Rows that are equal stay together, so that none to score on is known from training.
    """
    rows = data.X.tocsr()
    rows.sort_indices()
    groups: dict[bytes, list[int]] = {}
    for i, (start, end) in enumerate(itertools.pairwise(rows.indptr)):
        key = rows.indices[start:end].tobytes() + rows.data[start:end].tobytes()
        groups.setdefault(key, []).append(i)
    order = np.random.default_rng(0).permutation(len(groups))
    members = list(groups.values())
    chosen: list[int] = []
    for group in order:
        if len(chosen) >= rows.shape[0] // 10:
            break
        chosen += members[group]
    scored = np.zeros(rows.shape[0], dtype=bool)
    scored[chosen] = True
    return LabelData(data.X[~scored], data.Y[~scored], data.X[scored], data.Y[scored])


def choices(data: LabelData) -> dict[LabelSettings, Problem]:
    """Return a problem for every setting, scored on the held-out tenth."""
    part = held_out(data)
    return {settings: replace(label_problem(TMC, part, settings), peer=None) for settings in CHOICES}
