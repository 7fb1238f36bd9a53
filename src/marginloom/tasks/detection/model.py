"""An object detector as a whole: window sizes, labels and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE, Outputs
from marginloom.errors import InputError
from marginloom.io.model import Tensors
from marginloom.labels.label_set import UNSEEN, LabelSet
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.model import Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.detection.boxes import Box, LossFunction, loss_tables
from marginloom.tasks.detection.features import LabelledImages
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.metrics import detection_scores
from marginloom.tasks.detection.task import DetectionTask
from marginloom.training.spec import RunSpec

#: More sizes than this are taken for boxes drawn by hand, each with a size of its own.
MOST_SIZES_LEARNT = 20


@dataclasses.dataclass(frozen=True)
class Detection:
    """A window that was found: its label, its box in pixels (top, left, height, width), and its score.

    `confidence` is its probability, None unless that was asked for.
    """

    label: Any
    box: Box
    score: float
    confidence: float | None = None


@dataclasses.dataclass(kw_only=True)
class DetectionModel(Model):
    """A trained detector.

    Attributes
    ----------
    labels : LabelSet
        What can be found.
    sizes : list of pairs
        Heights and widths of windows, in cells.
    channels : int
        Numbers per cell.
    stride : int
        Pixels of a cell, in both directions.
    bias : bool
        Whether labels have a weight beside those of the pixels.
    overlap : float
        Of several detections, none overlaps a better one of its label by more than this (intersection over union).
    """

    labels: LabelSet
    sizes: list[tuple[int, int]]
    channels: int
    stride: int = 1
    bias: bool = False
    overlap: float = 0.5

    def predict_k_best(
        self, images: ImageSet, k: int = 1, n_threads: int | None = 1, *, confidence: bool = False
    ) -> list[list[Detection]]:
        """Return the k best windows of every image, best first, with their probabilities if they are asked for."""
        task = self.task_of(images)
        windows, scores, offsets = task.predict_k_best(self.weights, k, resolve_threads(n_threads))
        boxes = self.boxes(windows).tolist()
        labels = self.labels.decode(windows[:, 0].astype(np.uint16)).tolist()
        probabilities: list[float | None] = [None] * len(boxes)
        if confidence:
            owners = np.searchsorted(offsets, np.arange(len(windows)), side="right") - 1
            outputs = Outputs(task.numbered(windows, owners), offsets)
            probabilities = np.exp(self.log_probabilities(task, outputs, n_threads)).tolist()
        found = [
            Detection(label, (top, left, height, width), score, probability)
            for label, (top, left, height, width), score, probability in zip(
                labels, boxes, scores.tolist(), probabilities, strict=True
            )
        ]
        return [found[start:end] for start, end in itertools.pairwise(offsets.tolist())]

    def probabilities(self, images: ImageSet, n_threads: int | None = 1) -> list[list[NDArray[np.float64]]]:
        """Return for every image and every size of windows the probabilities: labels by tops by lefts, in cells."""
        task = self.task_of(images)
        rows, columns = task.window_counts()
        labels = len(self.labels.names)
        found = []
        for i, table in enumerate(self.tables(task, n_threads)):
            ends = np.cumsum(rows[i] * columns[i])
            parts = np.split(table.reshape(labels, -1), ends[:-1], axis=1)
            shapes = zip(parts, rows[i].tolist(), columns[i].tolist(), strict=True)
            found.append([part.reshape(labels, tops, lefts) for part, tops, lefts in shapes])
        return found

    def task_of(self, images: ImageSet) -> DetectionTask:
        """Return the task of finding a window in each of the images."""
        if images.channels != self.channels:
            raise InputError(
                f"the images have {images.channels} channels, and those of the training had {self.channels}"
            )
        check_image_sizes(images, self.sizes, self.stride)
        return DetectionTask(images, None, len(self.labels.names), self.sizes, bias=self.bias, overlap=self.overlap)

    def boxes(self, windows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the boxes of windows, in pixels."""
        sizes = np.asarray(self.sizes, dtype=np.int64)
        return np.concatenate([windows[:, 2:], sizes[windows[:, 1]]], axis=1) * self.stride

    def evaluator(self, labelled: LabelledImages, n_threads: int | None = 1) -> Evaluator:
        """Return what scores weights on images with their right boxes."""
        return DetectionEvaluator(self, labelled, n_threads)

    @property
    def dimension(self) -> int:
        """Number of weights that labels and windows ask for."""
        return self._empty_task().core.dimension

    def _empty_task(self) -> DetectionTask:
        return self.task_of(ImageSet.pack([], self.channels))

    def summary(self) -> dict[str, Any]:
        """Return labels and windows."""
        return {
            "labels": self.labels.names,
            "window_sizes": [[height * self.stride, width * self.stride] for height, width in self.sizes],
            "channels": self.channels,
            "stride": self.stride,
            "fit_intercept": self.bias,
            "overlap": self.overlap,
        }

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every label the weights largest in size, with the cell of the window that they belong to."""
        describe = self._empty_task().core.describe
        rows = self.weights.reshape(len(self.labels.names), -1)
        return [
            {"weight": float(row[place]), **self._describe(describe(number * row.size + place))}
            for number, row in enumerate(rows)
            for place in strongest_places(row, count)
        ]

    def _describe(self, weight: _core.WindowWeight) -> dict[str, Any]:
        height, width = self.sizes[weight.size]
        feature = f"row {weight.row}, column {weight.column}"
        if weight.constant:
            feature = "constant"
        elif self.channels > 1:
            feature += f", channel {weight.channel}"
        return {"feature": f"{feature} of {height} x {width}", "label": self.labels.names[weight.label]}

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return windows and labels as a file has them."""
        header = {
            "sizes": [list(size) for size in self.sizes],
            "channels": self.channels,
            "stride": self.stride,
            "bias": self.bias,
            "overlap": self.overlap,
        }
        return header, self.labels.tensors()

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> DetectionModel:
        """Put together what `own_parts` returned."""
        sizes = [(height, width) for height, width in header["sizes"]]
        counts = [header["channels"], header["stride"], *itertools.chain.from_iterable(sizes)]
        if not sizes or not all(type(count) is int and 1 <= count <= 65_535 for count in counts):
            raise ValueError("sizes, channels and stride are not counts")
        overlap = header["overlap"]
        if not isinstance(header["bias"], bool) or not isinstance(overlap, (int, float)) or not 0 <= overlap <= 1:
            raise ValueError("bias is neither true nor false, or overlap is not between 0 and 1")
        return cls(
            labels=LabelSet.load(tensors),
            sizes=sizes,
            channels=header["channels"],
            stride=header["stride"],
            bias=header["bias"],
            overlap=float(overlap),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DetectionProblem(Problem[DetectionModel]):
    """Labelled images, and what to make of them.

    Attributes
    ----------
    training : LabelledImages
        What to learn from.
    window_sizes : sequence of pairs, optional
        Heights and widths of windows, in pixels; by default those of the training boxes.
    stride : int
        Pixels of a cell, where the images are maps of features.
    box_loss : str or callable
        See `marginloom.tasks.detection.boxes.loss_tables`.
    fit_intercept : bool
        Give every label and size a weight beside those of the pixels.
    overlap : float
        See `DetectionModel`.
    """

    training: LabelledImages
    window_sizes: Sequence[tuple[int, int]] | None = None
    stride: int = 1
    box_loss: str | LossFunction = "iou"
    fit_intercept: bool = False
    overlap: float = 0.5

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training images and how many there are."""
        return self.training, len(self.training.images)

    def prepare(self, spec: RunSpec) -> Prepared[DetectionModel]:
        """Give labels and windows numbers, and tabulate the losses of these."""
        images, box_loss = self.training.images, self.box_loss
        if len(images) == 0:
            raise InputError("there is no image to train on")
        sizes = _window_sizes(self.training.boxes, self.window_sizes, self.stride)
        check_image_sizes(images, sizes, self.stride)
        labels, numbers = LabelSet.learn(self.training.labels)
        gold = np.column_stack([numbers, _gold_windows(self.training, sizes, self.stride)]).astype(np.uint32)
        model = DetectionModel(
            labels=labels,
            sizes=sizes,
            channels=images.channels,
            stride=self.stride,
            bias=self.fit_intercept,
            overlap=self.overlap,
            settings={"box_loss": box_loss if isinstance(box_loss, str) else "function"},
        )
        losses = loss_tables(box_loss, labels.names, sizes, self.stride)
        task = DetectionTask(images, gold, len(labels.names), sizes, bias=self.fit_intercept, losses=losses)
        return Prepared(model, task, spec)


def check_image_sizes(images: ImageSet, sizes: Sequence[tuple[int, int]], stride: int) -> None:
    """Raise `InputError` if an image is smaller than every window."""
    fits = np.zeros(len(images), dtype=bool)
    for height, width in sizes:
        fits |= (images.heights >= height) & (images.widths >= width)
    if not fits.all():
        first = int(np.argmin(fits))
        shown = " and ".join(f"{height * stride} x {width * stride}" for height, width in sizes)
        found = f"{images.heights[first] * stride} x {images.widths[first] * stride}"
        raise InputError(f"image {first} has {found} pixels, and the windows have {shown}; pad it or leave it out")


def _window_sizes(
    boxes: NDArray[np.int64], given: Sequence[tuple[int, int]] | None, stride: int
) -> list[tuple[int, int]]:
    """Return the sizes of windows in cells."""
    chosen = given if given is not None else [(int(h), int(w)) for h, w in np.unique(boxes[:, 2:], axis=0)]
    if given is None and len(chosen) > MOST_SIZES_LEARNT:
        raise InputError(
            f"the training boxes have {len(chosen)} different sizes; give window_sizes, and boxes that have them"
        )
    sizes = []
    for size in chosen:
        if len(size) != 2 or any(int(side) != side or side < 1 or side % stride for side in size):
            raise InputError(f"a window size is {size!r}; it must be a height and a width, multiples of {stride}")
        sizes.append((int(size[0]) // stride, int(size[1]) // stride))
    if not sizes or len(set(sizes)) != len(sizes):
        raise InputError("window_sizes must name a size at least, and each only once")
    return sizes


def _gold_windows(training: LabelledImages, sizes: list[tuple[int, int]], stride: int) -> NDArray[np.int64]:
    """Return the number of the size, top and left of every right box, in cells."""
    boxes = training.boxes
    off_grid = np.flatnonzero((boxes % stride).any(axis=1))
    if off_grid.size:
        i = int(off_grid[0])
        raise InputError(f"the box {tuple(boxes[i].tolist())} of image {i} does not lie on the grid of stride={stride}")
    cells = boxes // stride
    known = {size: number for number, size in enumerate(sizes)}
    numbers = [known.get((height, width), -1) for height, width in cells[:, 2:].tolist()]
    if -1 in numbers:
        i = numbers.index(-1)
        shown = ", ".join(f"{height * stride} x {width * stride}" for height, width in sizes)
        raise InputError(f"the box of image {i} has {boxes[i, 2]} x {boxes[i, 3]} pixels; the window sizes are {shown}")
    return np.column_stack([np.array(numbers, dtype=np.int64), cells[:, :2]])


class DetectionEvaluator(Evaluator):
    """Scores weights of a detector on labelled images."""

    def __init__(self, detector: DetectionModel, labelled: LabelledImages, n_threads: int | None = 1) -> None:
        self._detector = detector
        self.n_threads = resolve_threads(n_threads)
        self._task = detector.task_of(labelled.images)
        self._boxes = labelled.boxes
        self._labels = detector.labels.encode(labelled.labels)
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = detector.labels.count_unseen(labelled.labels)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the images with the numbers of their gold windows; boxes of other sizes or places have none."""
        detector = self._detector
        cells, odd = self._boxes // detector.stride, (self._boxes % detector.stride).any(axis=1)
        numbers = {size: number for number, size in enumerate(detector.sizes)}
        sizes = np.array([numbers.get((height, width), -1) for height, width in cells[:, 2:].tolist()], dtype=np.int64)
        known = (self._labels != UNSEEN) & (sizes >= 0) & ~odd
        windows = np.column_stack([self._labels.astype(np.int64), sizes, cells[:, :2]])
        gold = np.full(known.size, NO_CHOICE)
        gold[known] = self._task.numbered(windows[known], np.flatnonzero(known))
        return CalibrationExamples(self._task, gold)

    @property
    def counts(self) -> dict[str, int]:
        """Number of images."""
        return {"images": len(self._boxes)}

    @property
    def fingerprint(self) -> str:
        """Identify the images with their labels and boxes, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        digest.update(self._labels.tobytes())
        digest.update(self._boxes.tobytes())
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the scores."""
        windows, _, _ = self._task.predict_k_best(weights, 1, self.n_threads)
        return detection_scores(self._labels, self._boxes, windows[:, 0], self._detector.boxes(windows))
