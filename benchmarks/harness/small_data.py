"""The data of small problems: generated, or samples of real data sets, whose folder the readers are given."""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import required
from harness.sequences import read_conll
from marginloom import CustomTask, make_digit_detection, read_conllu, read_libsvm, read_mnist

#: Inputs and right outputs.
Data = tuple[Any, Any]

#: Reads data from the folder with the real data sets.
Read = Callable[[Path], Data]


def columns(corpus: str, columns: tuple[int, ...], label: int, count: int) -> Read:
    def read(folder: Path) -> Data:
        some = read_conll(folder / corpus / "train.conll.xz", columns, label).some(count)
        return some.X, some.y

    return read


def letters(count: int, scales: bool = False) -> Read:
    def read(folder: Path) -> Data:
        with lzma.open(required(folder / "ocr_letters/letter.data.xz"), "rt") as lines:
            rows = (line.split() for line in lines)
            words = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row[3])][:count]
        factor = np.logspace(-1, 1, 128) if scales else np.ones(128)
        X = [np.array([row[6:] for row in word], dtype=np.float64) * factor for word in words]
        return X, [[row[1] for row in word] for word in words]

    return read


def dense_sequences(count: int, features: int, labels: int, scales: float = 0.0) -> Data:
    """Draw sequences of real vectors around the centre of their label, each label apt to follow itself."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(labels, features))
    factor = np.logspace(-scales, scales, features)
    X, y = [], []
    for _ in range(count):
        numbers = [int(random.integers(labels))]
        for _ in range(int(random.integers(4, 16))):
            numbers.append(numbers[-1] if random.random() < 0.6 else int(random.integers(labels)))
        X.append((centres[numbers] + 1.2 * random.normal(size=(len(numbers), features))) * factor)
        y.append([f"l{number}" for number in numbers])
    return X, y


def named_values(count: int) -> Data:
    """Draw sequences whose elements are dicts of a few named values."""
    X, y = dense_sequences(count, 12, 5)
    return [[{f"f{k}": float(v) for k, v in enumerate(row) if abs(v) > 0.5} for row in rows] for rows in X], y


def blobs(examples: int, features: int, classes: int, scales: float = 0.0, noise: float = 1.0) -> Data:
    """Draw examples around the centres of classes; features are 10^-scales to 10^scales large."""
    random = np.random.default_rng(0)
    y = random.integers(classes, size=examples)
    X = random.normal(size=(classes, features))[y] + noise * random.normal(size=(examples, features))
    return X * np.logspace(-scales, scales, features), y


def texts(examples: int, words: int, classes: int, length: int = 40) -> Data:
    """Draw sparse rows of length 1: frequent words, and some that lean to a class."""
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    random = np.random.default_rng(0)
    y = random.integers(classes, size=examples)
    common = (words * random.random((examples, length)) ** 3).astype(np.int64)
    own = (y[:, None] * 37 + random.integers(0, 60, size=(examples, length // 5))) % words
    places = np.hstack([common, own])
    rows = np.repeat(np.arange(examples), places.shape[1])
    return normalize(csr_matrix((np.ones(places.size), (rows, places.ravel())), shape=(examples, words))), y


def bundled(name: str) -> Read:
    def read(folder: Path) -> Data:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(return_X_y=True)

    return read


def digit_rows(count: int) -> Read:
    """Return a reader of the first digits of MNIST, pixels from 0 to 1."""

    def read(folder: Path) -> Data:
        images, labels = read_mnist(folder / "mnist", "train")
        return images[:count].reshape(count, -1) / 255.0, labels[:count]

    return read


def first_rows(name: str, count: int) -> Read:
    def read(folder: Path) -> Data:
        X, y = read_libsvm(required(folder / name / "train.svm.xz"))
        return X[:count], np.asarray(y)[:count]

    return read


def label_rows(rows: int, features: int, labels: int, scales: float = 0.0) -> Data:
    """Draw rows and sets of labels by noisy half spaces, some of which are near copies of others."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, features))
    planes = random.normal(size=(features, labels))
    planes[:, labels // 2 :] = planes[:, : labels - labels // 2] + 0.3 * random.normal(
        size=(features, labels - labels // 2)
    )
    scores = X @ planes / np.sqrt(features) + 0.5 * random.normal(size=(rows, labels)) - 0.5
    return X * np.logspace(-scales, scales, features), (scores > 0).astype(int)


def label_rows_of(name: str, count: int) -> Read:
    def read(folder: Path) -> Data:
        from sklearn.datasets import load_svmlight_file
        from sklearn.preprocessing import MultiLabelBinarizer

        X, sets = load_svmlight_file(str(_unpacked(folder / name / "train.svm.xz")), multilabel=True)
        return X[:count], MultiLabelBinarizer().fit_transform(sets[:count])

    return read


def _unpacked(path: Path) -> Path:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".svm", delete=False) as plain:
        plain.write(lzma.open(required(path)).read())
    return Path(plain.name)


def first_trees(corpus: str, count: int) -> Read:
    def read(folder: Path) -> Data:
        X, y = read_conllu(next((folder / corpus).glob("train.con*.xz")))
        return X[:count], y[:count]

    return read


def digit_images(count: int) -> Data:
    """Put digits of 8 x 8 somewhere in images of 18 x 18."""
    found = make_digit_detection(count, seed=0)
    return found.images, found.targets


class Pointing(CustomTask):
    """Which of several vectors is the right one."""

    def features(self, x: NDArray[Any], y: int) -> Any:
        """Return the vector."""
        return x[y]

    def loss(self, gold: int, y: int) -> float:
        """Return 1 for every wrong one."""
        return float(gold != y)

    def argmax(self, x: NDArray[Any], w: NDArray[Any]) -> int:
        """Return the best."""
        return int(np.argmax(x @ w))

    def argmax_augmented(self, x: NDArray[Any], gold: int, w: NDArray[Any]) -> int:
        """Return the most violated."""
        scores = x @ w + 1.0
        scores[gold] -= 1.0
        return int(np.argmax(scores))


def pointing(count: int, dimension: int, scales: float = 0.0) -> Data:
    """Draw ten vectors each, of which a noisy plane prefers one."""
    random = np.random.default_rng(0)
    X = random.normal(size=(count, 10, dimension))
    gold = np.argmax(X @ random.normal(size=dimension) + random.normal(size=(count, 10)), axis=1)
    return list(X * np.logspace(-scales, scales, dimension)), gold.tolist()
