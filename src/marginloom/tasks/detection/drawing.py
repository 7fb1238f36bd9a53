"""Pictures of detections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.detection.boxes import Box

#: Colours of the best detection, of the others, and of the right box.
FOUND, OTHER, RIGHT = (255, 127, 14), (110, 110, 220), (44, 160, 44)
_LEAST_SIDE = 256  # small images are enlarged to about this many pixels


def draw_boxes(
    image: NDArray[Any], found: Sequence[Box], right: Box | None = None, stride: int = 1
) -> NDArray[np.uint8]:
    """Draw boxes into a picture of an image.

    Parameters
    ----------
    image : array, height x width or height x width x channels
        With three channels red, green and blue; otherwise the mean of the channels, in grey from the darkest value to
        the lightest.
    found : sequence of boxes
        What was detected, best first: the first in orange, the others in blue.
    right : box, optional
        Where the object is, in green.
    stride : int
        Pixels of a cell of the image, where it is a map of features.

    Returns
    -------
    array of uint8, height x width x 3
        Enlarged by a whole factor if it is small.

    Examples
    --------
    >>> picture = draw_boxes(np.zeros((64, 64)), [(8, 8, 28, 28)])
    >>> picture.shape
    (256, 256, 3)
    >>> picture[32, 40].tolist()
    [255, 127, 14]
    """
    colours = _colours(np.asarray(image))
    factor = max(1, _LEAST_SIDE // (max(colours.shape[:2]) * stride))
    picture = colours.repeat(factor * stride, axis=0).repeat(factor * stride, axis=1)
    marks = [(box, OTHER) for box in reversed(found[1:])]
    marks += [(right, RIGHT)] if right is not None else []
    marks += [(found[0], FOUND)] if found else []
    thickness = max(1, factor // 2)
    for (top, left, height, width), colour in marks:
        box = picture[top * factor : (top + height) * factor, left * factor : (left + width) * factor]
        box[:thickness] = box[-thickness:] = colour
        box[:, :thickness] = box[:, -thickness:] = colour
    return picture


def _colours(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return red, green and blue from 0 to 255."""
    values = image.astype(np.float64)
    if values.ndim == 3 and values.shape[2] != 3:
        values = values.mean(axis=2)
    if image.dtype != np.uint8 or values.ndim == 2:
        lowest, highest = values.min(), values.max()
        values = (values - lowest) * (255 / (highest - lowest) if highest > lowest else 0)
    if values.ndim == 2:
        values = np.stack([values] * 3, axis=2)
    return values.round().astype(np.uint8)
