"""The feature vectors that a user's method may return, brought into one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

_LARGEST = 1e30  # products of such values, and long sums of these, stay within double precision

SparseVector = tuple[NDArray[np.int64], NDArray[np.float64]]


def as_sparse_vector(vector: Any, dimension: int) -> SparseVector:
    """Return indices and values of a feature vector; values of an index that occurs more than once add up.

    Parameters
    ----------
    vector : mapping, pair, sparse row or array
        A mapping from index to value, a pair (indices, values), a scipy sparse row, or a dense array of one dimension.
    dimension : int
        How many weights there are.

    Raises
    ------
    InputError
        If it is none of these, if an index is not one of a weight, or if a value is not finite.

    Examples
    --------
    >>> as_sparse_vector({3: 1.0, 0: 2.0}, dimension=4)
    (array([3, 0]), array([1., 2.]))
    """
    if isinstance(vector, Mapping):
        indices, values = list(vector.keys()), list(vector.values())
    elif hasattr(vector, "tocoo"):
        indices, values = _sparse_row(vector, dimension)
    elif isinstance(vector, np.ndarray):
        indices, values = _dense(vector, dimension)
    elif isinstance(vector, tuple) and len(vector) == 2:
        indices, values = vector
    else:
        raise InputError(
            "must be a dict of index and value, a pair (indices, values), a scipy sparse row or a dense array of one "
            f"dimension, not {_describe(vector)}"
        )
    return _checked(_integers(indices), _numbers(values), dimension)


def _sparse_row(vector: Any, dimension: int) -> tuple[Any, Any]:
    shape = tuple(vector.shape)
    if shape not in ((1, dimension), (dimension,)):
        raise InputError(f"has the shape {shape} and must be one row of the dimension, {dimension}")
    row = vector.tocoo()
    return (row.col if len(shape) == 2 else row.coords[0]), row.data


def _dense(vector: NDArray[Any], dimension: int) -> tuple[Any, Any]:
    if vector.shape != (dimension,):
        raise InputError(f"has the shape {vector.shape} and must have that of the weights, ({dimension},)")
    indices = np.flatnonzero(vector)
    return indices, vector[indices]


def _integers(indices: Any) -> NDArray[np.int64]:
    try:
        array = np.asarray(indices)
    except ValueError as error:
        raise InputError(f"has indices that are not integers: {_describe(indices)}") from error
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"has indices that are not integers in a row: {_describe(indices)}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"has values that are not numbers: {_describe(values)}") from error
    if array.ndim != 1 or np.ndim(values) != 1:
        raise InputError(f"has values that are not numbers in a row: {_describe(values)}")
    return array


def _checked(indices: NDArray[np.int64], values: NDArray[np.float64], dimension: int) -> SparseVector:
    if indices.size != values.size:
        raise InputError(f"has {indices.size} indices and {values.size} values")
    if indices.size:
        for index in (indices.min(), indices.max()):
            if not 0 <= index < dimension:
                raise InputError(f"has the index {index}, and the dimension is {dimension}: 0 to {dimension - 1} exist")
        good = np.abs(values) <= _LARGEST
        if not good.all():
            at = int(np.flatnonzero(~good)[0])
            raise InputError(
                f"has the value {values[at]} at index {indices[at]}; values must be finite, {_LARGEST:g} at most"
            )
    return indices, values


def _describe(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"
