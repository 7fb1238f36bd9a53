"""Sets of labels as bits, the encoding of multilabel outputs: label l is bit l % 8 of byte l // 8."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.sparse_matrices import checked_csr
from marginloom.errors import InputError
from marginloom.tasks.base.dense import require_indicators, require_sets, row_batches


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
    require_sets(*matrix.shape)
    packed = np.empty((matrix.shape[0], bytes_of(matrix.shape[1])), dtype=np.uint8)
    for rows in row_batches(*matrix.shape):
        _check_binary(matrix[rows])
        packed[rows] = np.packbits(matrix[rows].astype(bool), axis=1, bitorder="little")
    return packed


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
    """Sets of labels, a row of bytes each, that stand for a 0/1 matrix with so many columns.

    Columns beyond the bytes are 0: labels that none of the sets can have.

    Examples
    --------
    >>> sets = PackedSets(pack_lists([[0, 2], []], 3), 3)
    >>> sets.shape, sets.matrix().tolist(), sets.members(0).tolist()
    ((2, 3), [[1, 0, 1], [0, 0, 0]], [0, 2])
    """

    bits: NDArray[np.uint8]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return self.bits.shape[0], self.width

    def matrix(self, rows: slice = slice(None)) -> NDArray[np.uint8]:
        """Return rows of the matrix."""
        bits = self.bits[rows]
        known = min(self.width, 8 * bits.shape[1])
        if known == self.width:
            return unpack(bits, known)
        return np.pad(unpack(bits, known), ((0, 0), (0, self.width - known)))

    def members(self, row: int) -> NDArray[np.int64]:
        """Return the numbers of the labels in a set."""
        return np.flatnonzero(np.unpackbits(self.bits[row], bitorder="little"))

    def dense(self) -> NDArray[np.int64]:
        """Return the matrix as an array of whole numbers."""
        require_indicators(*self.shape, bytes_each=8)
        filled = np.empty(self.shape, dtype=np.int64)
        for rows in row_batches(*self.shape):
            filled[rows] = self.matrix(rows)
        return filled

    def sparse(self) -> Any:
        """Return the matrix as a CSR matrix of whole numbers."""
        from scipy.sparse import csr_matrix

        parts = [np.zeros(0, dtype=np.int64)]
        bounds = np.zeros(self.shape[0] + 1, dtype=np.int64)
        for rows in row_batches(*self.shape):
            places, columns = np.nonzero(self.matrix(rows))
            parts.append(columns)
            bounds[rows.start + 1 : rows.stop + 1] = np.bincount(places, minlength=rows.stop - rows.start)
        columns = np.concatenate(parts)
        return csr_matrix((np.ones(columns.size, dtype=np.int64), columns, np.cumsum(bounds)), shape=self.shape)


def unpack(packed: NDArray[np.uint8], n_labels: int) -> NDArray[np.uint8]:
    """Return the 0/1 matrix of packed sets.

    Examples
    --------
    >>> unpack(pack_lists([[0, 2], []], 3), 3).tolist()
    [[1, 0, 1], [0, 0, 0]]
    """
    require_indicators(packed.shape[0], n_labels)
    return np.unpackbits(packed, axis=1, count=n_labels, bitorder="little")


def _packed(rows: Any, columns: Any, shape: tuple[int, int]) -> NDArray[np.uint8]:
    require_sets(*shape)
    packed = np.zeros((shape[0], bytes_of(shape[1])), dtype=np.uint8)
    np.bitwise_or.at(packed, (rows, columns // 8), np.left_shift(1, columns % 8).astype(np.uint8))
    return packed


def _check_binary(values: NDArray[Any]) -> None:
    if values.dtype.kind not in "buif":
        raise InputError(f"y must be a 0/1 matrix, and holds {values.dtype} values")
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise InputError(f"y must be a 0/1 matrix, and has the value {values[wrong].flat[0]}")
