"""The estimator for object detection."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Estimator, Posed
from marginloom.tasks.base.model import Model
from marginloom.tasks.detection.boxes import Box, LossFunction
from marginloom.tasks.detection.features import LabelledImages, labelled_images
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.model import DetectionModel, DetectionProblem


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class ObjectDetector(Estimator):
    """Finds one object in every image: a window of one of a few sizes, at any place, and its label.

    A box is (top, left, height, width) in pixels, top and left counted from 0. An image is an array, height x width or
    height x width x channels; its pixels are the features. Bytes (uint8) are divided by 255. Maps of features that were
    computed elsewhere are images too, with `stride`.

    Parameters
    ----------
    {common parameters}
    window_sizes : list of pairs, optional
        Heights and widths of windows in pixels. By default those of the training boxes, if they are not more than 20.
    stride : int
        Pixels of a cell, where X holds maps of features: window sizes and boxes must be multiples of it.
    box_loss : {"iou", "zero_one"} or callable
        What a wrong detection costs. ``"iou"``: 1 minus intersection over union if the label is right, else 1.
        ``"zero_one"``: 0 if the label is right and intersection over union is above 0.5, else 1. A callable gets the
        right label, the right box, a label and an array of boxes, and returns a number for each box; it is
        evaluated before training, for every pair of labels and every way in which windows can overlap.
    fit_intercept : bool
        Give every label and size a weight beside those of the pixels.
    overlap : float
        Of the detections of `predict_k_best`, none overlaps a better one of its label by more than this
        (intersection over union); 1 keeps all.

    Attributes
    ----------
    classes_ : list
        The labels.
    window_sizes_ : list of pairs
        Heights and widths of windows in pixels.
    coef_ : list of arrays
        For every window size the weights of the labels: labels x rows x columns x channels, in cells.
    {common attributes}

    Examples
    --------
    >>> from marginloom.tasks.detection.digits import make_digit_detection
    >>> train, test = make_digit_detection(300, seed=1), make_digit_detection(3, seed=2)
    >>> detector = ObjectDetector(C=0.1, max_iter=5).fit(train.images, train.targets)
    >>> [found == right for found, right in zip(detector.predict(test.images), test.targets)]
    [True, True, True]
    """

    window_sizes: Sequence[tuple[int, int]] | None = None
    stride: int = 1
    box_loss: str | LossFunction = "iou"
    fit_intercept: bool = False
    overlap: float = 0.5

    model_type = DetectionModel
    fit_inputs = """
X : array or list of arrays
    The images.
y : list of (label, box)
    The object in each of them: labels are strings or whole numbers, boxes (top, left, height, width).
"""

    def _pose(self, X: Any, y: Any) -> Posed:
        stride = checked("stride", self.stride, "positive count")
        overlap = checked("overlap", self.overlap, "not negative")
        if overlap > 1:
            raise InputError(f"overlap must be between 0 and 1, not {overlap}")
        problem = DetectionProblem(
            training=labelled_images(X, y, stride),
            window_sizes=self.window_sizes,
            stride=stride,
            box_loss=self.box_loss,
            fit_intercept=checked("fit_intercept", self.fit_intercept, "switch"),
            overlap=overlap,
        )
        return Posed(problem)

    def _to_score(self, problem: DetectionProblem, X: Any, y: Any) -> LabelledImages:
        return labelled_images(X, y, problem.stride)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = list(self.model_.labels.names)
        stride = self.model_.stride
        self.window_sizes_ = [(height * stride, width * stride) for height, width in self.model_.sizes]

    @property
    def coef_(self) -> list[NDArray[np.float64]]:
        """For every window size the weights of the labels: labels x rows x columns x channels."""
        self._check_fitted()
        model: DetectionModel = self.model_
        labels = model.weights.reshape(len(model.labels.names), -1)
        templates = []
        start = 0
        for height, width in model.sizes:
            end = start + height * width * model.channels
            blocks = labels[:, start:end].reshape(-1, model.channels, height, width)
            templates.append(np.moveaxis(blocks, 1, 3))
            start = end + int(model.bias)
        return templates

    def predict(self, X: Any) -> list[tuple[Any, Box]]:
        """Return the best (label, box) of every image."""
        self._check_fitted()
        return [
            (best[0].label, best[0].box) for best in self.model_.predict_k_best(ImageSet.pack(X), 1, self.n_threads)
        ]

    def predict_k_best(self, X: Any, k: int = 3) -> list[list[tuple[tuple[Any, Box], float]]]:
        """Return for every image its k best (label, box) with their scores, best first, without those that overlap.

        A detection is left out if it overlaps a better one of the same label by more than `overlap`, so there may be
        fewer than k.
        """
        self._check_fitted()
        k = checked("k", k, "positive count")
        model: DetectionModel = self.model_
        return [
            [((found.label, found.box), found.score) for found in detections]
            for detections in model.predict_k_best(ImageSet.pack(X), k, self.n_threads)
        ]

    def _gold_examples(self, X: Any, y: Any) -> LabelledImages:
        return labelled_images(X, y, self.model_.stride)

    @calibrated_method
    def predict_proba(self, X: Any) -> list[list[NDArray[np.float64]]]:
        """Return for every image the probabilities of all windows; only after `calibrate`.

        For each of `window_sizes_` an array, labels x tops x lefts, in cells of `stride` pixels; those of an image sum
        to 1 together.
        """
        found: list[list[NDArray[np.float64]]] = self.model_.probabilities(ImageSet.pack(X), self.n_threads)
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the share of images where the label is right and intersection over union is above 0.5."""
        return float(self.evaluate(X, y)["detection_accuracy"])

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Return all scores: detection_accuracy and mean_iou."""
        self._check_fitted()
        model: DetectionModel = self.model_
        return model.scores(labelled_images(X, y, model.stride), self.n_threads)

    @classmethod
    def _own_parameters(cls, model: DetectionModel) -> dict[str, Any]:
        return {
            "window_sizes": [(height * model.stride, width * model.stride) for height, width in model.sizes],
            "stride": model.stride,
            "box_loss": model.settings.get("box_loss", "iou"),  # "function", which fit refuses, if it was one
            "fit_intercept": model.bias,
            "overlap": model.overlap,
        }


__all__ = ["ObjectDetector"]
