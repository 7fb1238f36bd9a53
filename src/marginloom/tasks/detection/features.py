"""From what users give to images with the label and box of the object in each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.detection.images import ImageSet, checked_boxes


@dataclasses.dataclass(frozen=True)
class LabelledImages:
    """Images with the right label and box of each; `boxes` has rows of top, left, height and width, in pixels."""

    images: ImageSet
    labels: Iterable[Any] | NumberedLabels
    boxes: NDArray[np.int64]


def labelled_images(X: Any, y: Any, stride: int = 1) -> LabelledImages:
    """Check and pack images with the label and box of each."""
    images = ImageSet.pack(X)
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InputError(f"y must be a list with (label, box) of every image, not {type(y).__name__}")
    pairs = list(y)
    if len(pairs) != len(images):
        raise InputError(f"X has {len(images)} images, and y has {len(pairs)} labels with boxes")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"y[{i}] is {pair!r}; it must be (label, (top, left, height, width))"[:300])
    boxes = checked_boxes([box for _, box in pairs], images, stride)
    return LabelledImages(images, [label for label, _ in pairs], boxes)
