"""Matrices with classes: sets of scikit-learn with their features as they were measured, and ones with many classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import read_libsvm

Classes = tuple[Any, NDArray[np.int64]]

#: Generated examples of a class, features of dense ones, and features and words of sparse ones.
EXAMPLES, DENSE, SPARSE, WORDS = 5, 100, 20_000, 50


def unscaled(folder: Path | None) -> Iterator[tuple[str, Classes]]:
    """Yield wine, breast_cancer, digits and, if the folder has it, pendigits."""
    from sklearn import datasets

    yield "wine", datasets.load_wine(return_X_y=True)
    yield "breast_cancer", datasets.load_breast_cancer(return_X_y=True)
    yield "digits", datasets.load_digits(return_X_y=True)
    path = None if folder is None else folder / "pendigits" / "all.svm.xz"
    if path is None or not path.is_file():
        print("\npendigits is left out: there is no pendigits/all.svm.xz in the folder with the data sets")
        return
    X, y = read_libsvm(path)
    yield "pendigits", (X.toarray(), y)


def dense_classes(count: int) -> Classes:
    """Draw examples around the centres of so many classes; inputs are about 1.4 long."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(count, DENSE))
    y = np.repeat(np.arange(count), EXAMPLES)
    return (centres[y] + random.normal(size=(y.size, DENSE))) / np.sqrt(DENSE), y


def sparse_classes(count: int) -> Classes:
    """Draw short texts: a quarter of the words are the class's own, the others frequent ones; inputs have length 1."""
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    random = np.random.default_rng(0)
    y = np.repeat(np.arange(count), EXAMPLES)
    own = WORDS // 4
    of_class = random.integers(0, SPARSE, size=(count, 2 * own))
    places = random.integers(0, 2 * own, size=(y.size, own))
    words = np.hstack(
        [of_class[y[:, None], places], (SPARSE * random.random((y.size, WORDS - own)) ** 3).astype(np.int64)]
    )
    rows = np.repeat(np.arange(y.size), WORDS)
    counts = csr_matrix((np.ones(words.size), (rows, words.ravel())), shape=(y.size, SPARSE))
    return normalize(counts), y


#: Sets with many classes, by what their features are.
MANY_CLASSES: dict[str, Callable[[int], Classes]] = {"dense": dense_classes, "sparse": sparse_classes}
