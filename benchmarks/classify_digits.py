"""Digit detection for classify.py: digits of MNIST somewhere in 64 x 64 images, as in fastssvm-2021."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from classify_data import Problem
from numpy.typing import NDArray

from marginloom import make_digit_detection, read_mnist
from marginloom.tasks.base.labels import LabelSet
from marginloom.tasks.detection.boxes import loss_tables
from marginloom.tasks.detection.digits import DigitImages
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.model import Detector, LabelledImages
from marginloom.tasks.detection.task import DetectionTask

#: The paper's C of 100,000 over all examples, per example.
C = 5.0
IMAGES, TEST_IMAGES = 20_000, 10_000
SIZES = [(28, 28)]


def digits(folder: Path, count: int | None) -> Problem:
    """Train on digits of the training part of MNIST, and test on those of its test part."""
    size = IMAGES if count is None else count
    train = make_digit_detection(size, digits=read_mnist(folder / "mnist"), seed=0)
    test = make_digit_detection(min(size, TEST_IMAGES), digits=read_mnist(folder / "mnist", "test"), seed=1)
    gold = np.column_stack([train.labels, np.zeros(size, dtype=np.int64), train.boxes[:, :2]])
    losses = loss_tables("iou", range(10), SIZES)
    task = DetectionTask(ImageSet.pack(train.images), gold.astype(np.uint32), 10, SIZES, losses=losses)
    evaluator = Detector(labels=LabelSet(list(range(10))), sizes=SIZES, channels=1).evaluator(_labelled(test), -1)

    def score(weights: NDArray[np.float64]) -> float:
        return float(evaluator(weights)["detection_accuracy"])

    return Problem("digits", task, C, score, "accuracy", size)


def _labelled(made: DigitImages) -> LabelledImages:
    return LabelledImages(ImageSet.pack(made.images), made.labels, made.boxes)
