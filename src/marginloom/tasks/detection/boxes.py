"""Boxes in images: how much they overlap, and the losses of detection that follow from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.errors import InputError

#: top, left, height and width, in pixels
Box: TypeAlias = tuple[int, int, int, int]
#: loss(gold label, gold box, label, boxes) -> one number per row of boxes
LossFunction: TypeAlias = Callable[[Any, Box, Any, NDArray[np.int64]], ArrayLike]

LOSSES = ("iou", "zero_one")
#: What a detection must overlap the right box by, more than, to count as right.
RIGHT_OVERLAP = 0.5


def intersection_over_union(box: ArrayLike, boxes: ArrayLike) -> NDArray[np.float64]:
    """Return the area that boxes share with a box, divided by the area that they cover together.

    Parameters
    ----------
    box : array of 4 numbers, or of n rows of 4
        Top, left, height and width.
    boxes : array of n rows of 4
        The same of the others.

    Examples
    --------
    >>> intersection_over_union((0, 0, 2, 2), [(0, 0, 2, 2), (0, 1, 2, 2), (5, 5, 2, 2)]).round(3).tolist()
    [1.0, 0.333, 0.0]
    """
    first = np.asarray(box, dtype=np.float64)
    second = np.asarray(boxes, dtype=np.float64)
    ends = np.minimum(first[..., :2] + first[..., 2:], second[..., :2] + second[..., 2:])
    sides = np.maximum(ends - np.maximum(first[..., :2], second[..., :2]), 0)
    shared = sides[..., 0] * sides[..., 1]
    union = first[..., 2] * first[..., 3] + second[..., 2] * second[..., 3] - shared
    return np.asarray(shared / union)


@dataclasses.dataclass(frozen=True)
class LossTables:
    """Losses of all pairs of windows, as the native task reads them.

    Attributes
    ----------
    numbers : list of int
        For every right label and every label the number of a table.
    losses : array
        The tables: by right size, size, displacement of top, displacement of left.
    """

    numbers: list[int]
    losses: NDArray[np.float64]


def loss_tables(
    loss: str | LossFunction, labels: Sequence[Any], sizes: Sequence[tuple[int, int]], stride: int = 1
) -> LossTables:
    """Evaluate a loss for every pair of labels and sizes and every displacement at which windows can overlap.

    Parameters
    ----------
    loss : {"iou", "zero_one"} or callable
        ``"iou"``: 1 minus intersection over union if the label is right, else 1. ``"zero_one"``: 0 if the label is
        right and intersection over union is above 0.5, else 1. A callable gets the right label, the right box, a label
        and an array of boxes, a row each, and returns a number for each of them. It may depend on the labels, the
        sizes and how the boxes lie to each other, not on where in the image they are; boxes that do not touch the
        right one all have the loss of those next to it.
    labels : sequence
        The labels.
    sizes : sequence of pairs
        Heights and widths of windows, in cells.
    stride : int
        Pixels of a cell.

    Examples
    --------
    >>> loss_tables("iou", ["cat"], [(1, 2)]).losses.reshape(2, 3, 5)[0, 1].round(2).tolist()
    [1.0, 0.67, 0.0, 0.67, 1.0]
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise InputError(f"box_loss is {loss!r}; it must be one of {', '.join(LOSSES)}, or a function")
        same = _evaluate(_NAMED[loss], None, None, sizes, stride)
        numbers = np.ones((len(labels), len(labels)), dtype=np.int64) - np.eye(len(labels), dtype=np.int64)
        return LossTables(numbers.reshape(-1).tolist(), np.concatenate([same, np.ones_like(same)]))
    if not callable(loss):
        raise InputError(f"box_loss is {loss!r}; it must be one of {', '.join(LOSSES)}, or a function")
    tables = [_evaluate(loss, right, label, sizes, stride) for right in labels for label in labels]
    return LossTables(list(range(len(tables))), np.concatenate(tables))


def _evaluate(
    loss: LossFunction, right: Any, label: Any, sizes: Sequence[tuple[int, int]], stride: int
) -> NDArray[np.float64]:
    """Return one table, flat."""
    reach = np.max(np.asarray(sizes), axis=0)
    tops, lefts = np.meshgrid(*(np.arange(-side, side + 1) for side in reach), indexing="ij")
    rows = []
    for right_size in sizes:
        # Far enough from the corner that no box has a negative place.
        box = tuple(int(value) * stride for value in (*reach, *right_size))
        for size in sizes:
            boxes = np.stack(
                [tops + reach[0], lefts + reach[1], np.full_like(tops, size[0]), np.full_like(tops, size[1])], axis=-1
            )
            found = np.asarray(loss(right, box, label, boxes.reshape(-1, 4) * stride), dtype=np.float64)  # type: ignore[arg-type]
            if found.shape != (tops.size,):
                raise InputError(f"box_loss returned an array of shape {found.shape} for {tops.size} boxes")
            if not (np.isfinite(found) & (found >= 0)).all():
                raise InputError(f"box_loss of label {label!r} where {right!r} is right is negative or not finite")
            rows.append(found)
    return np.concatenate(rows)


def _iou_loss(_right: Any, box: Box, _label: Any, boxes: NDArray[np.int64]) -> NDArray[np.float64]:
    return 1 - intersection_over_union(box, boxes)


def _zero_one_loss(_right: Any, box: Box, _label: Any, boxes: NDArray[np.int64]) -> NDArray[np.float64]:
    return (intersection_over_union(box, boxes) <= RIGHT_OVERLAP).astype(np.float64)


_NAMED: dict[str, LossFunction] = {"iou": _iou_loss, "zero_one": _zero_one_loss}
