"""One class per example, and digits to detect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import required
from harness.package import MulticlassTask, detection_parts
from harness.peers import CrammerSinger
from harness.problem import Adapter, Parts, Problem, sample
from marginloom import make_digit_detection, read_libsvm, read_mnist

#: Images to train on and to test on, and the side of a digit.
IMAGES, TEST_IMAGES, SIDE = 20_000, 10_000, 28


def multiclass(
    name: str, C: float, train: tuple[Any, NDArray[Any]], test: tuple[Any, NDArray[Any]], count: int | None
) -> Problem:
    """Make a problem of matrices and class labels; test examples of classes that are not in the sample are left out."""
    (X, y), (X_test, y_test) = (_some(*part, count) for part in (train, test))
    known = np.isin(y_test, y)
    X_test, y_test = X_test[known], y_test[known]
    classes, gold = np.unique(y, return_inverse=True)
    wanted = np.searchsorted(classes, y_test)

    def make() -> Parts:
        scored = MulticlassTask(X_test, None, len(classes))
        return Parts(
            MulticlassTask(X, gold, len(classes)),
            lambda weights: float(np.mean(scored.predict(weights) == wanted)),
            CrammerSinger(X, gold, X_test, wanted),
        )

    return Problem(name, len(gold), C, "accuracy", make)


def _some(X: Any, y: NDArray[Any], count: int | None) -> tuple[Any, NDArray[Any]]:
    chosen = sample(len(y), count)
    return X[chosen], y[chosen]


def libsvm_classes(name: str, C: float) -> Adapter:
    """Return the adapter of a data set in LIBSVM's format."""

    def read(folder: Path, count: int | None) -> Problem:
        train = read_libsvm(required(folder / name / "train.svm.xz"))
        test = read_libsvm(required(folder / name / "test.svm.xz"), n_features=train[0].shape[1])
        return multiclass(name, C, train, test, count)

    return read


def mnist(folder: Path, count: int | None) -> Problem:
    """Read MNIST, its pixels scaled to [0, 1]; the paper's C is 10,000 over 60,000 examples."""
    from scipy.sparse import csr_matrix

    def part(name: str) -> tuple[Any, NDArray[Any]]:
        images, labels = read_mnist(folder / "mnist", name)
        return csr_matrix(images.reshape(len(labels), -1) / 255.0), labels

    return multiclass("mnist", 0.1667, part("train"), part("test"), count)


def digits(folder: Path, count: int | None) -> Problem:
    """Put digits of MNIST somewhere in images of 64 x 64, as in fastssvm-2021, whose C is 100,000 over all examples."""
    size = IMAGES if count is None else count

    def make() -> Parts:
        train = make_digit_detection(size, digits=read_mnist(folder / "mnist"), seed=0)
        test = make_digit_detection(min(size, TEST_IMAGES), digits=read_mnist(folder / "mnist", "test"), seed=1)
        return Parts(*detection_parts(train, test, SIDE))

    return Problem("digits", size, 5.0, "accuracy", make)
