"""Sparse matrices of users, which are believed only when their indices have been looked at.

Scipy checks them on request only, and its conversions read and write wherever a broken index points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginloom.errors import InputError


def checked_csr(matrix: Any, name: str) -> Any:
    """Return a sparse matrix as CSR with sorted indices and without duplicates; a CSR one that has both is not copied.

    Parameters
    ----------
    matrix : sparse matrix or array
        Of any format; it is not changed.
    name : str
        What to call it in error messages.

    Raises
    ------
    InputError
        If it has not two dimensions, or its indices do not fit its shape.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> checked_csr(coo_array([[0, 2], [1, 0]]), "X").indices.tolist()
    [1, 0]
    """
    check_sparse(matrix, name)
    rows = matrix.tocsr()
    if rows is not matrix:
        check_sparse(rows, name)
    count = int(rows.indptr[-1])
    if rows.has_canonical_format and rows.indices.size == count:
        return rows
    rows = rows.copy()
    rows.prune()
    rows.sum_duplicates()
    return rows


def check_sparse(matrix: Any, name: str) -> None:
    """Raise `InputError` unless a sparse matrix has two dimensions and indices that fit its shape.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> broken = csr_array([[1, 0], [0, 1]])
    >>> broken.indices[0] = 7
    >>> check_sparse(broken, "X")
    Traceback (most recent call last):
    marginloom.errors.InputError: X is a broken sparse matrix: an index is 7, and its rows have 2 columns; make it anew
    """
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two dimensions, and the sparse matrix has {matrix.ndim}")
    rows, columns = matrix.shape
    format = getattr(matrix, "format", "")
    if format in ("csr", "csc", "bsr"):
        if matrix.data.ndim != (3 if format == "bsr" else 1):
            raise _broken(name, f"its values are an array of {matrix.data.ndim} dimensions")
        height, width = matrix.blocksize if format == "bsr" else (1, 1)
        major, minor = (columns, rows) if format == "csc" else (rows // height, columns // width)
        _check_compressed(matrix, major, minor, name)
    elif format == "coo":
        _check_entries(matrix, name)


def _check_compressed(matrix: Any, major: int, minor: int, name: str) -> None:
    offsets, indices, data = matrix.indptr, matrix.indices, matrix.data
    for array in (offsets, indices):
        _check_whole(array, name)
    if offsets.shape != (major + 1,) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise _broken(name, f"its index pointer must have {major + 1} numbers that start with 0 and do not fall")
    if offsets[-1] > indices.size or indices.size != len(data):
        raise _broken(name, f"it should have {offsets[-1]} entries, and has {indices.size} indices, {len(data)} values")
    _check_range(indices[: offsets[-1]], minor, "rows" if matrix.format != "csc" else "columns", name)


def _check_entries(matrix: Any, name: str) -> None:
    for indices, size, others in ((matrix.row, matrix.shape[0], "columns"), (matrix.col, matrix.shape[1], "rows")):
        _check_whole(indices, name)
        if indices.shape != matrix.data.shape:
            raise _broken(name, f"it has {indices.size} indices for {matrix.data.size} values")
        _check_range(indices, size, others, name)


def _check_whole(array: Any, name: str) -> None:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise _broken(name, f"its indices are an array of {array.dtype} with {array.ndim} dimensions")


def _check_range(indices: Any, size: int, others: str, name: str) -> None:
    if indices.size == 0:
        return
    for index in (int(np.min(indices)), int(np.max(indices))):
        if not 0 <= index < size:
            within = "columns" if others == "rows" else "rows"
            raise _broken(name, f"an index is {index}, and its {others} have {size} {within}")


def _broken(name: str, what: str) -> InputError:
    return InputError(f"{name} is a broken sparse matrix: {what}; make it anew")
