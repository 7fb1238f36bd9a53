"""Scores of detections."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.tasks.detection.boxes import RIGHT_OVERLAP, intersection_over_union


def detection_scores(
    labels: NDArray[Any], boxes: ArrayLike, found_labels: NDArray[Any], found_boxes: ArrayLike
) -> dict[str, float]:
    """Score one detection for each image.

    Parameters
    ----------
    labels, found_labels : array
        The right labels and those that were found.
    boxes, found_boxes : array, n x 4
        Their boxes.

    Returns
    -------
    dict
        ``detection_accuracy``, the share of images where the label is right and intersection over union is above 0.5,
        and ``mean_iou``, the mean of intersection over union, whatever the label.

    Examples
    --------
    >>> detection_scores(np.array([1, 2]), [(0, 0, 2, 2)] * 2, np.array([1, 1]), [(0, 0, 2, 2)] * 2)
    {'detection_accuracy': 0.5, 'mean_iou': 1.0}
    """
    if len(labels) == 0:
        return {"detection_accuracy": 0.0, "mean_iou": 0.0}
    overlap = intersection_over_union(boxes, found_boxes)
    right = (np.asarray(labels) == np.asarray(found_labels)) & (overlap > RIGHT_OVERLAP)
    return {"detection_accuracy": float(right.mean()), "mean_iou": float(overlap.mean())}
