"""Object detection: a window and its label in every image; inference is in cpp/tasks/detection."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.core.choice import Choice, Circumstances
from marginloom.core.marginals import MarginalTask
from marginloom.errors import InputError
from marginloom.tasks.detection.boxes import LossTables
from marginloom.tasks.detection.images import ImageSet


class DetectionTask(MarginalTask):
    """Images in which one window is to be found and labelled, with or without the right one.

    Parameters
    ----------
    images : ImageSet
        The images, or maps of features.
    gold : array of uint32 or None
        A row for every image: label, number of the size, top and left of the right window, in cells.
    label_count : int
        How many labels there are.
    sizes : sequence of pairs
        Heights and widths of windows, in cells.
    bias : bool
        Whether every label and size has a weight of its own beside those of the pixels.
    losses : LossTables, optional
        Needed with `gold`, see `marginloom.tasks.detection.boxes.loss_tables`.
    overlap : float
        Of the k best windows of an image, none has the label of a better one and overlaps it by more than this
        (intersection over union); 1 keeps all.

    Examples
    --------
    >>> from marginloom.tasks.detection.boxes import loss_tables
    >>> images = ImageSet.pack([np.eye(4)])
    >>> gold = np.array([[0, 0, 1, 1]], dtype=np.uint32)
    >>> task = DetectionTask(images, gold, 2, [(2, 2)], losses=loss_tables("iou", "ab", [(2, 2)]))
    >>> task.core.dimension
    8
    >>> windows, scores, offsets = task.predict_k_best(np.arange(8.0), 1)
    >>> windows.tolist(), scores.tolist()
    ([[1, 0, 0, 0]], [11.0])
    """

    def __init__(
        self,
        images: ImageSet,
        gold: NDArray[np.uint32] | None,
        label_count: int,
        sizes: Sequence[tuple[int, int]],
        *,
        bias: bool = False,
        losses: LossTables | None = None,
        overlap: float = 1.0,
    ) -> None:
        self._images = images
        self._gold = None if gold is None else np.ascontiguousarray(gold, dtype=np.uint32).reshape(-1)
        self._sizes = [(int(height), int(width)) for height, width in sizes]
        self._label_count = label_count
        self._bias: bool = checked("bias", bias, "switch")
        self._losses = LossTables([], np.zeros(0)) if losses is None else losses
        try:
            data = _core.DetectionData(
                pixels=images.pixels,
                heights=images.heights,
                widths=images.widths,
                gold=self._gold,
                channels=images.channels,
                label_count=label_count,
            )
            options = _core.DetectionOptions(
                sizes=self._sizes,
                bias=self._bias,
                loss_tables=self._losses.numbers,
                losses=self._losses.losses,
                overlap=overlap,
            )
            self.core: _core.DetectionTask = _core.DetectionTask(data, options)
        except ValueError as error:
            raise InputError(str(error)) from error

    @property
    def fingerprint(self) -> str:
        """Identify the sizes of images and windows and the right windows; pixels may change before a state is used."""
        digest = hashlib.sha256(self._images.heights.tobytes())
        digest.update(self._images.widths.tobytes())
        digest.update(b"" if self._gold is None else self._gold.tobytes())
        digest.update(repr((self._label_count, self._sizes)).encode())
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the images, the right windows, the pixels and the options."""
        losses = hashlib.sha256(repr(self._losses.numbers).encode())
        losses.update(self._losses.losses.tobytes())
        pixels = hashlib.sha256(str(self._images.channels).encode())
        pixels.update(self._images.pixels.tobytes())
        return {
            "examples": self.fingerprint,
            "fit_intercept": json.dumps(self._bias),
            "detection_loss": losses.hexdigest(),
            "features": pixels.hexdigest(),
        }

    @property
    def memory(self) -> int:
        """Bytes of the pixels and the right windows."""
        return self._images.memory + (0 if self._gold is None else self._gold.nbytes)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the scores of all windows of the largest image."""
        largest = int((self._images.heights.astype(np.int64) * self._images.widths).max(initial=0))
        return 4 * largest * self._label_count * len(self._sizes)

    @property
    def scaled(self) -> bool:
        """Pixels are all of one scale."""
        return False

    @property
    def pass_work(self) -> float:
        """Products of pixels with weights: every window of every image, for every label."""
        products = 0
        for height, width in self._sizes:
            rows = np.maximum(self._images.heights.astype(np.int64) - height + 1, 0)
            columns = np.maximum(self._images.widths.astype(np.int64) - width + 1, 0)
            products += int((rows * columns).sum()) * height * width
        return float(products * self._images.channels * self._label_count)

    def choose(self, circumstances: Circumstances) -> Choice:
        """Take what averages the weights over passes: without that, windows that overlap make them swing."""
        reason = f"images, {circumstances.one_thread}"
        return Choice("shrinking-dcd", reason, newton_passes=self.costs.newton_passes)

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return "take smaller or fewer window sizes, a larger stride, or fewer labels"

    def predict_k_best(
        self, weights: NDArray[np.float64], k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint64]]:
        """Return label, size, top and left of the k best windows of every image, their scores, and whose they are.

        Image i has the windows from the i-th number of the last array to the one before the next.
        """
        found = self._predictions(weights, n_threads, k)
        return found.outputs.view("<u2").astype(np.int64).reshape(-1, 4), found.scores, found.example_bounds

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the numbers of the windows."""
        windows = found.outputs.view("<u2").astype(np.int64).reshape(-1, 4)
        bounds = found.example_bounds.astype(np.int64)
        counts = bounds[1:] - bounds[:-1]
        return self.numbered(windows, np.repeat(np.arange(counts.size), counts))

    def numbered(self, windows: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the numbers of windows (label, size, top, left) of these images, in that order."""
        rows, columns = self.window_counts()
        before = np.cumsum(rows * columns, axis=1)
        label, size, top, left = windows.T
        starts = np.where(size > 0, before[images, np.maximum(size, 1) - 1], 0)
        place = label * before[images, -1] + starts + top * columns[images, size] + left
        return np.asarray(place, dtype=np.uint32)

    def window_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many tops and how many lefts windows can have, for every image and size; 0 where none fits."""
        heights, widths = np.array(self._sizes, dtype=np.int64).T
        rows = np.maximum(self._images.heights.astype(np.int64)[:, None] - heights + 1, 0)
        columns = np.maximum(self._images.widths.astype(np.int64)[:, None] - widths + 1, 0)
        fits = (rows > 0) & (columns > 0)
        return rows * fits, columns * fits
