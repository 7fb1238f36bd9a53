"""The data sets of classify.py, one adapter each: a function from the folder to a `Problem`, listed in `PROBLEMS`."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import required
from numpy.typing import NDArray

from marginloom.tasks.base import Task
from marginloom.tasks.multiclass import MulticlassTask

QUICK = 2_000  # examples


@dataclass(frozen=True)
class Problem:
    """What algorithms are compared on.

    `score` takes weights and returns the test score, whose name is `score_name`. `peer` has X, y, the test X and y for
    LinearSVC, or is None where it has no such objective.
    """

    name: str
    task: Task
    C: float
    score: Callable[[NDArray[np.float64]], float]
    score_name: str
    size: int
    peer: tuple[Any, NDArray[np.int64], Any, NDArray[np.int64]] | None = None


Adapter = Callable[[Path, bool], Problem]


def multiclass(
    name: str, C: float, X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any], *, quick: bool
) -> Problem:
    """Make a problem of matrices and class labels; every test label must occur in training."""
    if quick:
        chosen = np.random.default_rng(0).permutation(len(y))[:QUICK]
        X, y = X[chosen], y[chosen]
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
        (X, gold, X_test, wanted),
    )


def _libsvm(name: str, C: float) -> Adapter:
    def read(folder: Path, quick: bool) -> Problem:
        from sklearn.datasets import load_svmlight_file

        def part(file: str, n_features: int | None = None) -> tuple[Any, NDArray[Any]]:
            data = lzma.decompress(Path(required(folder / name / file)).read_bytes())
            X, y = load_svmlight_file(io.BytesIO(data), n_features=n_features)
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LinearSVC takes no others
            return X, y

        X, y = part("train.svm.xz")
        return multiclass(name, C, X, y, *part("test.svm.xz", X.shape[1]), quick=quick)

    return read


def _mnist(folder: Path, quick: bool) -> Problem:
    from scipy.sparse import csr_matrix

    def values(file: str, head: int) -> NDArray[np.uint8]:
        data = gzip.decompress(Path(required(folder / "mnist" / file)).read_bytes())
        return np.frombuffer(data, dtype=np.uint8)[head:]

    def part(prefix: str) -> tuple[Any, NDArray[Any]]:
        pixels = values(f"{prefix}-images-idx3-ubyte.gz", 16).reshape(-1, 784)
        return csr_matrix(pixels / 255.0), values(f"{prefix}-labels-idx1-ubyte.gz", 8)

    return multiclass("mnist", 0.1667, *part("train"), *part("t10k"), quick=quick)


#: C is per example; the paper's are letter 100,000 / 15,000 and MNIST 10,000 / 60,000.
PROBLEMS: dict[str, Adapter] = {
    "letter": _libsvm("letter", 6.667),
    "mnist": _mnist,
    "sector": _libsvm("sector", 1.0),
}
