"""Small problems of every task, as a user would give them to an estimator: generated ones and samples of real data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import required
from harness.plain_sets import dense_classes, sparse_classes
from harness.sequences import read_conll
from marginloom import (
    CustomEstimator,
    CustomTask,
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
    make_digit_detection,
    make_tagging,
    make_treebank,
    read_conllu,
    read_libsvm,
)

#: Inputs and right outputs.
Data = tuple[Any, Any]


@dataclass(frozen=True)
class Small:
    """An estimator with its settings, and where its data come from; the folder is that of the real data sets."""

    name: str
    estimator: Any
    data: Callable[[Path], Data]

    @property
    def depends_on_algorithm(self) -> bool:
        """Whether the estimator prepares its data for an algorithm: with the hinge, sets of labels may be cut."""
        return isinstance(self.estimator, MultilabelClassifier)


def _made(make: Callable[..., Data], *arguments: Any, **options: Any) -> Callable[[Path], Data]:
    return lambda folder: make(*arguments, **options)


# Sequences


def _columns(corpus: str, columns: tuple[int, ...], label: int, count: int) -> Callable[[Path], Data]:
    def read(folder: Path) -> Data:
        some = read_conll(folder / corpus / "train.conll.xz", columns, label).some(count)
        return some.X, some.y

    return read


def _letters(count: int, scales: bool = False) -> Callable[[Path], Data]:
    import lzma

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


SEQUENCES = [
    Small("made words, 1,000, C 1", SequenceTagger(features="words", C=1.0), _made(make_tagging, 1000)),
    Small("made words, 3,000", SequenceTagger(features="words"), _made(make_tagging, 3000)),
    Small(
        "made words, 3,000, hinge", SequenceTagger(features="words", loss="hinge", tol=0.001), _made(make_tagging, 3000)
    ),
    Small("made tagging, 1,000", SequenceTagger(features="tagging"), _made(make_tagging, 1000)),
    Small("made tagging, 500, C 1", SequenceTagger(features="tagging", C=1.0), _made(make_tagging, 500)),
    Small("conll2000 words, 1,000", SequenceTagger(features="words"), _columns("conll2000_chunking", (0,), 1, 1000)),
    Small("conll2000 tagging, 500", SequenceTagger(features="tagging"), _columns("conll2000_chunking", (0,), 1, 500)),
    Small(
        "conll2000 chunking, 1,000",
        SequenceTagger(features="chunking", pos_column=2),
        _columns("conll2000_chunking", (0, 1), 2, 1000),
    ),
    Small("brown words, 500", SequenceTagger(features="words"), _columns("brown_pos", (0,), 2, 500)),
    Small(
        "conll2003 ner, 1,000",
        SequenceTagger(features="ner", pos_column=2, constraints="bio"),
        _columns("conll2003_en", (0, 1), 3, 1000),
    ),
    Small(
        "conll2003 ner, 500, hinge",
        SequenceTagger(features="ner", pos_column=2, constraints="bio", loss="hinge"),
        _columns("conll2003_en", (0, 1), 3, 500),
    ),
    Small("ocr letters, 500", SequenceTagger(features=None), _letters(500)),
    Small("ocr letters, 1,000, hinge", SequenceTagger(features=None, loss="hinge"), _letters(1000)),
    Small("dense, 10 x 4", SequenceTagger(features=None), _made(dense_sequences, 1000, 10, 4)),
    Small("dense, 100 x 8", SequenceTagger(features=None, C=1.0), _made(dense_sequences, 1000, 100, 8)),
    Small("dense, 10 x 4, scales", SequenceTagger(features=None), _made(dense_sequences, 500, 10, 4, 1.0)),
    Small("named values", SequenceTagger(features=None, C=1.0), _made(named_values, 300)),
]


# Classes


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


def _bundled(name: str) -> Callable[[Path], Data]:
    def read(folder: Path) -> Data:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(return_X_y=True)

    return read


def _libsvm(name: str, count: int) -> Callable[[Path], Data]:
    def read(folder: Path) -> Data:
        X, y = read_libsvm(required(folder / name / "train.svm.xz"))
        return X[:count], np.asarray(y)[:count]

    return read


Classes = MulticlassClassifier
CLASSES = [
    Small("20,000 x 69, 10 classes", Classes(), _made(blobs, 20_000, 69, 10, noise=3.0)),
    Small("20,000 x 69, 10 classes, hinge", Classes(loss="hinge"), _made(blobs, 20_000, 69, 10, noise=3.0)),
    Small("60,000 x 10, 3 classes", Classes(), _made(blobs, 60_000, 10, 3, noise=2.0)),
    Small("10,000 x 6, 100 classes", Classes(), _made(blobs, 10_000, 6, 100, noise=0.3)),
    Small("3,000 x 6, 100 classes, C 10", Classes(C=10.0), _made(blobs, 3000, 6, 100, noise=0.5)),
    Small("1,000 x 41, 20 classes, scales", Classes(), _made(blobs, 1000, 41, 20, 2.0)),
    Small("1,000 x 41, 20 classes, scales, hinge", Classes(loss="hinge"), _made(blobs, 1000, 41, 20, 2.0)),
    Small("20,000 x 20, 5 classes, scales", Classes(), _made(blobs, 20_000, 20, 5, 1.0, noise=2.0)),
    Small("5,000 x 150, 10 classes, scales", Classes(), _made(blobs, 5000, 150, 10, 1.0, noise=3.0)),
    Small("10,000 x 30, 5 classes, C 10", Classes(C=10.0), _made(blobs, 10_000, 30, 5, noise=2.0)),
    Small("1,000 x 4,000, 5 classes", Classes(), _made(blobs, 1000, 4000, 5, noise=10.0)),
    Small("10,000 x 300, 4 classes", Classes(), _made(blobs, 10_000, 300, 4, noise=5.0)),
    Small("400 classes, dense", Classes(C=1.0), _made(dense_classes, 400)),
    Small("300 classes, dense, hinge", Classes(C=1.0, loss="hinge", tol=0.001), _made(dense_classes, 300)),
    Small("500 classes, sparse", Classes(C=1.0), _made(sparse_classes, 500)),
    Small("texts, 20,000 x 10,000, 10 classes", Classes(C=1.0), _made(texts, 20_000, 10_000, 10)),
    Small("texts, 20,000 x 2,000, 2 classes, hinge", Classes(C=1.0, loss="hinge"), _made(texts, 20_000, 2000, 2)),
    Small("texts, 5,000 x 20,000, 50 classes, C 10", Classes(C=10.0), _made(texts, 5000, 20_000, 50)),
    Small("digits", Classes(), _bundled("digits")),
    Small("digits, hinge, tol 0.001", Classes(loss="hinge", tol=0.001), _bundled("digits")),
    Small("digits, C 10", Classes(C=10.0), _bundled("digits")),
    Small("breast cancer, tol 0.0001", Classes(tol=0.0001), _bundled("breast_cancer")),
    Small("letter", Classes(), _libsvm("letter", 15_000)),
    Small("sector, 3,000", Classes(C=1.0), _libsvm("sector", 3000)),
]


# Label sets


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


def _label_file(name: str, count: int) -> Callable[[Path], Data]:
    def read(folder: Path) -> Data:
        from sklearn.datasets import load_svmlight_file
        from sklearn.preprocessing import MultiLabelBinarizer

        X, sets = load_svmlight_file(str(_unpacked(folder / name / "train.svm.xz")), multilabel=True)
        return X[:count], MultiLabelBinarizer().fit_transform(sets[:count])

    return read


def _unpacked(path: Path) -> Path:
    import lzma
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".svm", delete=False) as plain:
        plain.write(lzma.open(required(path)).read())
    return Path(plain.name)


Labels = MultilabelClassifier
LABEL_SETS = [
    Small("50,000 x 30, 8 labels", Labels(), _made(label_rows, 50_000, 30, 8)),
    Small("50,000 x 30, 8 labels, hinge", Labels(loss="hinge"), _made(label_rows, 50_000, 30, 8)),
    Small("20,000 x 10, 4 labels, scales", Labels(C=1.0), _made(label_rows, 20_000, 10, 4, 2.0)),
    Small("10,000 x 300, 20 labels", Labels(), _made(label_rows, 10_000, 300, 20)),
    Small("ml_scene", Labels(C=1.0), _label_file("ml_scene", 1211)),
    Small("ml_tmc2007_500, 10,000", Labels(C=1.0), _label_file("ml_tmc2007_500", 10_000)),
    Small("3,000 x 20, 6 labels, tree", Labels(interactions="tree"), _made(label_rows, 3000, 20, 6)),
    Small(
        "10,000 x 20, 6 labels, full, hinge",
        Labels(interactions="full", loss="hinge"),
        _made(label_rows, 10_000, 20, 6),
    ),
    Small("50 x 10, 18 labels, full", Labels(interactions="full"), _made(label_rows, 50, 10, 18)),
    Small("1,000 x 10, 4 labels, tree, scales", Labels(interactions="tree"), _made(label_rows, 1000, 10, 4, 1.0)),
    Small("ml_scene, tree", Labels(C=1.0, interactions="tree"), _label_file("ml_scene", 600)),
]


# Trees


def _treebank(corpus: str, count: int) -> Callable[[Path], Data]:
    def read(folder: Path) -> Data:
        X, y = read_conllu(next((folder / corpus).glob("train.con*.xz")))
        return X[:count], y[:count]

    return read


Parser = DependencyParser
TREES = [
    Small("made, 500", Parser(C=0.01), _made(make_treebank, 500)),
    Small("made, 200, order 2", Parser(C=0.01, order=2), _made(make_treebank, 200)),
    Small("made, 200, non-projective", Parser(C=0.01, projective=False), _made(make_treebank, 200, nonprojective=0.2)),
    Small("made, 100, hinge, labelled", Parser(C=0.01, loss="hinge", labelled=True), _made(make_treebank, 100)),
    Small(
        "made, 100, order 2, non-projective",
        Parser(C=0.01, order=2, projective=False),
        _made(make_treebank, 100, nonprojective=0.2),
    ),
    Small("ewt, 200", Parser(C=0.01), _treebank("ud_english_ewt", 200)),
    Small("turkish, 200, non-projective", Parser(C=0.01, projective=False), _treebank("ud_turkish_imst", 200)),
    Small("wsj, 50, order 2", Parser(C=0.01, order=2), _treebank("wsj_sample_dep", 50)),
]


# Images


def digit_images(count: int) -> Data:
    """Put digits of 8 x 8 somewhere in images of 18 x 18."""
    found = make_digit_detection(count, seed=0)
    return found.images, found.targets


IMAGES = [
    Small("digits, 1,000, tol 0.001", ObjectDetector(tol=0.001), _made(digit_images, 1000)),
    Small("digits, 1,700", ObjectDetector(), _made(digit_images, 1700)),
    Small("digits, 1,700, hinge", ObjectDetector(loss="hinge"), _made(digit_images, 1700)),
    Small("digits, 1,700, C 1", ObjectDetector(C=1.0), _made(digit_images, 1700)),
]


# Tasks in Python


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


def _custom(dimension: int, **options: Any) -> CustomEstimator:
    return CustomEstimator(task=Pointing, parameters={"dimension": dimension}, **options)


CUSTOM = [
    Small("pointing, 20", _custom(20), _made(pointing, 1500, 20)),
    Small("pointing, 20, hinge", _custom(20, loss="hinge"), _made(pointing, 1500, 20)),
    Small("pointing, 200", _custom(200), _made(pointing, 1000, 200)),
    Small("pointing, 20, scales", _custom(20), _made(pointing, 1000, 20, 1.0)),
]

GROUPS: dict[str, list[Small]] = {
    "sequences": SEQUENCES,
    "classes": CLASSES,
    "label sets": LABEL_SETS,
    "trees": TREES,
    "images": IMAGES,
    "custom": CUSTOM,
}
