"""Inputs of classifiers: one row of numbers per example, sparse or dense, as the native tasks read them."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import check_weight_count
from marginloom.common.parameters import checked
from marginloom.common.sparse_matrices import checked_csr
from marginloom.core.marginals import MarginalTask
from marginloom.errors import InputError

#: Values that are looked at together.
_PART = 1 << 20


@dataclasses.dataclass(frozen=True)
class Inputs:
    """A matrix without copies where possible; dense if `offsets` is None. Make it with `Inputs.read`.

    Attributes
    ----------
    rows, columns : int
        Its shape.
    offsets, indices : array or None
        Where the entries of each row begin, and their columns.
    singles, doubles : array or None
        The values, in one of the two precisions.

    Examples
    --------
    >>> Inputs.read(np.eye(3)).columns
    3
    """

    rows: int
    columns: int
    offsets: NDArray[np.uint64] | None
    indices: NDArray[np.uint32] | None
    singles: NDArray[np.float32] | None
    doubles: NDArray[np.float64] | None

    @classmethod
    def read(cls, X: Any, name: str = "X") -> Inputs:
        """Take a scipy sparse matrix or array, or what numpy takes for a matrix.

        CSR matrices with 32-bit indices and C-contiguous arrays, of float32 or float64, are not copied.

        Parameters
        ----------
        X : sparse matrix or array of shape (examples, features)
            The inputs.
        name : str
            What to call it in error messages.

        Returns
        -------
        Inputs
            A view of X, or a copy if it has another layout.

        Examples
        --------
        >>> Inputs.read(np.zeros((2, 5), dtype=np.float32)).singles.size
        10
        """
        if hasattr(X, "tocsr"):
            return cls._read_sparse(X, name)
        array = np.asarray(X)
        if array.dtype not in (np.float32, np.float64):
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"{name} must be a matrix of numbers: {error}") from error
        if array.ndim != 2:
            raise InputError(f"{name} must have two dimensions, examples and features, and has {array.ndim}")
        values = np.ascontiguousarray(array).reshape(-1)
        singles, doubles = _by_precision(values)
        return cls(array.shape[0], array.shape[1], None, None, singles, doubles)

    @classmethod
    def _read_sparse(cls, X: Any, name: str) -> Inputs:
        matrix = checked_csr(X, name)
        values = matrix.data
        if values.dtype not in (np.float32, np.float64):
            if values.dtype.kind not in "biuf":
                raise InputError(f"{name} must be a matrix of real numbers, and its type is {values.dtype}")
            values = values.astype(np.float64)
        indices = np.ascontiguousarray(matrix.indices)
        indices = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
        offsets = matrix.indptr.astype(np.uint64)
        singles, doubles = _by_precision(np.ascontiguousarray(values))
        return cls(matrix.shape[0], matrix.shape[1], offsets, indices, singles, doubles)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The arrays that it has."""
        return [array for array in (self.offsets, self.indices, self.singles, self.doubles) if array is not None]

    @property
    def scaled(self) -> bool:
        """Whether values that are not 0 differ."""
        return any(has_sizes(array) for array in (self.singles, self.doubles) if array is not None)

    @property
    def memory(self) -> int:
        """Bytes that the arrays take."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def entries(self) -> int:
        """Numbers that it holds."""
        return sum(array.size for array in (self.singles, self.doubles) if array is not None)

    @property
    def columns_in_use(self) -> int:
        """How many columns have an entry."""
        if self.indices is None:
            return self.columns
        in_use = np.zeros(self.columns, dtype=bool)
        in_use[self.indices] = True
        return int(np.count_nonzero(in_use))

    def native(self, labels: int, bias: float) -> _core.InputRows:
        """Return it for a native task, with one more column of the value `bias` unless that is 0.

        Raises
        ------
        InputError
            If there are too many weights, one for every column and label, to be numbered.
        """
        rows = _core.InputRows(
            rows=self.rows,
            columns=self.columns,
            offsets=self.offsets,
            indices=self.indices,
            singles=self.singles,
            doubles=self.doubles,
            bias=bias,
        )
        check_weight_count(rows.weight_rows(labels), self.way_to_need_less)
        return rows

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        used = self.columns_in_use
        if used > self.columns / 2:
            return f"take fewer features than {self.columns:,}, or fewer labels"
        return f"only {used:,} of the {self.columns:,} features occur: number those from 1 on, without gaps"

    @property
    def fingerprint(self) -> str:
        """Identify the matrix by its contents."""
        digest = hashlib.sha256(f"{self.rows} {self.columns}".encode())
        for array in self.arrays:
            digest.update(array.data)
        return digest.hexdigest()


def _by_precision(
    values: NDArray[np.float32] | NDArray[np.float64],
) -> tuple[NDArray[np.float32] | None, NDArray[np.float64] | None]:
    return (values, None) if values.dtype == np.float32 else (None, values)  # type: ignore[return-value]


def has_sizes(values: NDArray[Any]) -> bool:
    """Tell whether values that are not 0 differ.

    Examples
    --------
    >>> has_sizes(np.array([0.0, 1.0, 1.0])), has_sizes(np.array([1.0, 2.0]))
    (False, True)
    """
    first = None
    for start in range(0, values.size, _PART):
        part = values[start : start + _PART]
        present = part[part != 0]
        if first is None and present.size:
            first = present[0]
        if (present != first).any():
            return True
    return False


def bias_of(fit_intercept: bool, intercept_scaling: float) -> float:
    """Return the value of the feature for intercepts, 0 for none; `InputError` if one of them is something else.

    Examples
    --------
    >>> bias_of(True, 2.0), bias_of(False, 2.0)
    (2.0, 0.0)
    """
    scaling: float = checked("intercept_scaling", intercept_scaling, "positive")
    return scaling if checked("fit_intercept", fit_intercept, "switch") else 0.0


class RowTask(MarginalTask):
    """What tasks share whose examples are rows of numbers."""

    _gold: NDArray[Any] | None

    def __init__(self, X: Any) -> None:
        self._inputs = Inputs.read(X)

    @property
    def entries(self) -> int:
        """Features of all examples together."""
        return self._inputs.entries

    @property
    def scaled(self) -> bool:
        """Whether features have values of different sizes."""
        return self._inputs.scaled

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return self._inputs.way_to_need_less()

    @property
    def memory(self) -> int:
        """Bytes of the rows and their labels."""
        return self._inputs.memory + (0 if self._gold is None else self._gold.nbytes)
