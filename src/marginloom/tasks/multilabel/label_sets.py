"""Sets of labels as bits, the encoding of multilabel outputs: label l is bit l % 8 of byte l // 8."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.errors import InputError
from marginloom.sparse_matrices import checked_csr
from marginloom.tasks.base.dense import require_indicators


def bytes_of(n_labels: int) -> int:
    """Return the bytes that a set takes.

    Examples
    --------
    >>> bytes_of(9)
    2
    """
    return (n_labels + 7) // 8


def pack_indicators(indicators: Any) -> NDArray[np.uint8]:
    """Return a row of bytes per row of a 0/1 matrix, dense or sparse.

    Parameters
    ----------
    indicators : array or sparse matrix
        A row per example and a column per label; 1 or True where the label is present.

    Returns
    -------
    array of uint8
        A row per example.

    Examples
    --------
    >>> pack_indicators([[1, 0, 1], [0, 0, 0]]).tolist()
    [[5], [0]]
    """
    if hasattr(indicators, "tocoo"):
        present = checked_csr(indicators, "y").tocoo()
        _check_binary(present.data)
        kept = present.data != 0
        return _packed(present.row[kept], present.col[kept], present.shape)
    try:
        matrix = np.asarray(indicators)
    except ValueError as error:
        raise InputError("y must be a 0/1 matrix with a row per example, and its rows differ in length") from error
    if matrix.ndim != 2:
        raise InputError(f"y must be a 0/1 matrix with a row per example, not an array of {matrix.ndim} dimension(s)")
    _check_binary(matrix)
    return np.packbits(matrix.astype(bool), axis=1, bitorder="little")


def pack_lists(sets: Sequence[Iterable[int]], n_labels: int) -> NDArray[np.uint8]:
    """Return a row of bytes per list of label numbers.

    Examples
    --------
    >>> pack_lists([[0, 2], []], 3).tolist()
    [[5], [0]]
    """
    members = [list(labels) for labels in sets]
    places = np.repeat(np.arange(len(members)), [len(labels) for labels in members])
    return pack_numbers(places, np.array([label for labels in members for label in labels]), (len(members), n_labels))


def pack_numbers(places: ArrayLike, numbers: ArrayLike, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a row of bytes per set, given for each member the number of its set and that of its label.

    Examples
    --------
    >>> pack_numbers([0, 0], [0, 2], (2, 3)).tolist()
    [[5], [0]]
    """
    columns = np.asarray(numbers, dtype=np.int64)
    if columns.size and not (columns.min() >= 0 and columns.max() < shape[1]):
        beyond = columns[(columns < 0) | (columns >= shape[1])][0]
        raise InputError(f"a label has the number {beyond}; there are {shape[1]} labels, numbered from 0")
    return _packed(places, columns, shape)


@dataclasses.dataclass(frozen=True)
class PackedSets:
    """Right labels of all examples as a task holds them: a row of bytes each."""

    bits: NDArray[np.uint8]


def unpack(packed: NDArray[np.uint8], n_labels: int) -> NDArray[np.uint8]:
    """Return the 0/1 matrix of packed sets.

    Examples
    --------
    >>> unpack(pack_lists([[0, 2], []], 3), 3).tolist()
    [[1, 0, 1], [0, 0, 0]]
    """
    require_indicators(packed.shape[0], n_labels)
    return np.unpackbits(packed, axis=1, count=n_labels, bitorder="little")


def split(packed: NDArray[np.uint8], n_labels: int, size: int) -> NDArray[np.uint8]:
    """Cut sets into parts of so many labels each, the last part of a set filled up with absent ones.

    Examples
    --------
    >>> split(pack_lists([[0, 2]], 3), 3, 2).tolist()
    [[1], [1]]
    """
    require_indicators(packed.shape[0], n_labels, copies=2)
    indicators = unpack(packed, n_labels)
    filled = np.pad(indicators, ((0, 0), (0, -n_labels % size)))
    return np.packbits(filled.reshape(-1, size), axis=1, bitorder="little")


def _packed(rows: Any, columns: Any, shape: tuple[int, int]) -> NDArray[np.uint8]:
    packed = np.zeros((shape[0], bytes_of(shape[1])), dtype=np.uint8)
    np.bitwise_or.at(packed, (rows, columns // 8), np.left_shift(1, columns % 8).astype(np.uint8))
    return packed


def _check_binary(values: NDArray[Any]) -> None:
    if values.dtype.kind not in "buif":
        raise InputError(f"y must be a 0/1 matrix, and holds {values.dtype} values")
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise InputError(f"y must be a 0/1 matrix, and has the value {values[wrong].flat[0]}")
