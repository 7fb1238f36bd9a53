"""What classify.py compares algorithms on: `Problem`, and the adapters of the multiclass data sets."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from classify_peers import CrammerSinger, Peer
from common import required
from numpy.typing import NDArray

from marginloom.tasks.base.task import Task
from marginloom.tasks.multiclass.task import MulticlassTask


@dataclass(frozen=True)
class Problem:
    """What algorithms are compared on.

    `score` takes weights and returns the test score, whose name is `score_name`. `setting` says in words how the task
    was made where there is a choice. `published` is the task with one slack per example, where `task` has more: with
    the hinge the objective is the same. `peer` is None where LinearSVC has no such objective.
    """

    name: str
    task: Task
    C: float
    score: Callable[[NDArray[np.float64]], float]
    score_name: str
    size: int
    peer: Peer | None = None
    published: Task | None = None
    setting: str | None = None


#: Makes a problem of the folder with the data sets and the number of examples of either part, None for all.
Adapter = Callable[[Path, int | None], Problem]


def sample(size: int, count: int | None) -> NDArray[np.int64]:
    """Return the numbers of all examples, or of a seeded sample."""
    chosen = np.arange(size) if count is None else np.random.default_rng(0).permutation(size)[:count]
    return chosen.astype(np.int64)


def multiclass(
    name: str, C: float, X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any], *, count: int | None
) -> Problem:
    """Make a problem of matrices and class labels; test examples of classes that are not in the sample are left out."""
    chosen = sample(len(y), count)
    X, y = X[chosen], y[chosen]
    scored = sample(len(y_test), count)
    X_test, y_test = X_test[scored], y_test[scored]
    known = np.isin(y_test, y)
    X_test, y_test = X_test[known], y_test[known]
    classes, gold = np.unique(y, return_inverse=True)
    wanted = np.searchsorted(classes, y_test)
    test = MulticlassTask(X_test, None, len(classes))
    return Problem(
        name,
        MulticlassTask(X, gold, len(classes)),
        C,
        lambda weights: float(np.mean(test.predict(weights) == wanted)),
        "accuracy",
        len(gold),
        CrammerSinger(X, gold, X_test, wanted),
    )


def libsvm_classes(name: str, C: float) -> Adapter:
    """Return the adapter of a data set in LIBSVM's format."""

    def read(folder: Path, count: int | None) -> Problem:
        from sklearn.datasets import load_svmlight_file

        def part(file: str, n_features: int | None = None) -> tuple[Any, NDArray[Any]]:
            data = lzma.decompress(Path(required(folder / name / file)).read_bytes())
            X, y = load_svmlight_file(io.BytesIO(data), n_features=n_features)
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LinearSVC takes no others
            return X, y

        X, y = part("train.svm.xz")
        return multiclass(name, C, X, y, *part("test.svm.xz", X.shape[1]), count=count)

    return read


def mnist(folder: Path, count: int | None) -> Problem:
    """Read MNIST, its pixels scaled to [0, 1]."""
    from scipy.sparse import csr_matrix

    def values(file: str, head: int) -> NDArray[np.uint8]:
        data = gzip.decompress(Path(required(folder / "mnist" / file)).read_bytes())
        return np.frombuffer(data, dtype=np.uint8)[head:]

    def part(prefix: str) -> tuple[Any, NDArray[Any]]:
        pixels = values(f"{prefix}-images-idx3-ubyte.gz", 16).reshape(-1, 784)
        return csr_matrix(pixels / 255.0), values(f"{prefix}-labels-idx1-ubyte.gz", 8)

    return multiclass("mnist", 0.1667, *part("train"), *part("t10k"), count=count)
