"""Small problems of every task, as a user would give them to an estimator: generated ones and samples of real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.plain_sets import dense_classes, sparse_classes
from harness.small_data import (
    Data,
    Pointing,
    Read,
    blobs,
    bundled,
    columns,
    dense_sequences,
    digit_images,
    digit_rows,
    first_rows,
    first_trees,
    label_rows,
    label_rows_of,
    letters,
    named_values,
    pointing,
    texts,
)
from marginloom import (
    CustomEstimator,
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
    make_tagging,
    make_treebank,
)


@dataclass(frozen=True)
class Small:
    """An estimator with its settings, and where its data come from; the folder is that of the real data sets."""

    name: str
    estimator: Any
    data: Read

    @property
    def depends_on_algorithm(self) -> bool:
        """Whether the estimator prepares its data for an algorithm: with the hinge, sets of labels may be cut."""
        return isinstance(self.estimator, MultilabelClassifier)


def _made(make: Callable[..., Data], *arguments: Any, **options: Any) -> Read:
    return lambda folder: make(*arguments, **options)


SEQUENCES = [
    Small("made words, 1,000, C 1", SequenceTagger(features="words", C=1.0), _made(make_tagging, 1000)),
    Small("made words, 3,000", SequenceTagger(features="words"), _made(make_tagging, 3000)),
    Small(
        "made words, 3,000, hinge", SequenceTagger(features="words", loss="hinge", tol=0.001), _made(make_tagging, 3000)
    ),
    Small("made tagging, 1,000", SequenceTagger(features="tagging"), _made(make_tagging, 1000)),
    Small("made tagging, 500, C 1", SequenceTagger(features="tagging", C=1.0), _made(make_tagging, 500)),
    Small("conll2000 words, 1,000", SequenceTagger(features="words"), columns("conll2000_chunking", (0,), 1, 1000)),
    Small("conll2000 tagging, 500", SequenceTagger(features="tagging"), columns("conll2000_chunking", (0,), 1, 500)),
    Small(
        "conll2000 chunking, 1,000",
        SequenceTagger(features="chunking", pos_column=2),
        columns("conll2000_chunking", (0, 1), 2, 1000),
    ),
    Small("conll2000 tagging, 4,000", SequenceTagger(features="tagging"), columns("conll2000_chunking", (0,), 1, 4000)),
    Small("brown words, 500", SequenceTagger(features="words"), columns("brown_pos", (0,), 2, 500)),
    Small(
        "conll2003 ner, 1,000",
        SequenceTagger(features="ner", pos_column=2, constraints="bio"),
        columns("conll2003_en", (0, 1), 3, 1000),
    ),
    Small(
        "conll2003 ner, 500, hinge",
        SequenceTagger(features="ner", pos_column=2, constraints="bio", loss="hinge"),
        columns("conll2003_en", (0, 1), 3, 500),
    ),
    Small("ocr letters, 500", SequenceTagger(features=None), letters(500)),
    Small("ocr letters, 1,000, hinge", SequenceTagger(features=None, loss="hinge"), letters(1000)),
    Small("dense, 10 x 4", SequenceTagger(features=None), _made(dense_sequences, 1000, 10, 4)),
    Small("dense, 100 x 8, C 10", SequenceTagger(features=None, C=10.0), _made(dense_sequences, 4000, 100, 8)),
    Small("dense, 10 x 4, scales", SequenceTagger(features=None), _made(dense_sequences, 500, 10, 4, 1.0)),
    Small("named values", SequenceTagger(features=None, C=1.0), _made(named_values, 300)),
]


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
    Small("digits, tol 0.001", Classes(tol=0.001), bundled("digits")),
    Small("digits, hinge, tol 0.001", Classes(loss="hinge", tol=0.001), bundled("digits")),
    Small("digits, C 10", Classes(C=10.0), bundled("digits")),
    Small("mnist, 5,000", Classes(), digit_rows(5000)),
    Small("letter", Classes(), first_rows("letter", 15_000)),
    Small("sector, 3,000", Classes(C=1.0), first_rows("sector", 3000)),
]


Labels = MultilabelClassifier
LABEL_SETS = [
    Small("50,000 x 30, 8 labels", Labels(), _made(label_rows, 50_000, 30, 8)),
    Small("50,000 x 30, 8 labels, hinge", Labels(loss="hinge"), _made(label_rows, 50_000, 30, 8)),
    Small("20,000 x 10, 4 labels, scales", Labels(C=1.0), _made(label_rows, 20_000, 10, 4, 2.0)),
    Small("10,000 x 300, 20 labels", Labels(), _made(label_rows, 10_000, 300, 20)),
    Small("ml_scene", Labels(C=1.0), label_rows_of("ml_scene", 1211)),
    Small("ml_tmc2007_500, 10,000", Labels(C=1.0), label_rows_of("ml_tmc2007_500", 10_000)),
    Small("3,000 x 20, 6 labels, tree", Labels(interactions="tree"), _made(label_rows, 3000, 20, 6)),
    Small(
        "10,000 x 20, 6 labels, full, hinge",
        Labels(interactions="full", loss="hinge"),
        _made(label_rows, 10_000, 20, 6),
    ),
    Small("50 x 10, 18 labels, full", Labels(interactions="full"), _made(label_rows, 50, 10, 18)),
    Small("1,000 x 10, 4 labels, tree, scales", Labels(interactions="tree"), _made(label_rows, 1000, 10, 4, 1.0)),
    Small("ml_scene, tree", Labels(C=1.0, interactions="tree"), label_rows_of("ml_scene", 600)),
]


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
    Small("ewt, 200", Parser(C=0.01), first_trees("ud_english_ewt", 200)),
    Small("ewt, 1,000", Parser(C=0.01), first_trees("ud_english_ewt", 1000)),
    Small("turkish, 200, non-projective", Parser(C=0.01, projective=False), first_trees("ud_turkish_imst", 200)),
    Small("wsj, 50, order 2", Parser(C=0.01, order=2), first_trees("wsj_sample_dep", 50)),
]


IMAGES = [
    Small("digits, 1,000, tol 0.001", ObjectDetector(tol=0.001), _made(digit_images, 1000)),
    Small("digits, 1,700", ObjectDetector(), _made(digit_images, 1700)),
    Small("digits, 1,700, hinge", ObjectDetector(loss="hinge"), _made(digit_images, 1700)),
    Small("digits, 1,700, C 1", ObjectDetector(C=1.0), _made(digit_images, 1700)),
]


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
