"""Weights of a tagger by the names of what they connect, as CRFsuite's users know them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pair: TypeAlias = tuple[Any, Any]

#: Rows that are looked at together, so that a large model is never copied.
_PART = 1 << 14


class NamedWeights(Mapping[Pair, float]):
    """The weights of a table that are not 0, each under the names of its row and its column.

    Nothing is copied: keys are made when they are asked for. The first look at a single pair numbers the names of the
    rows, once.

    Parameters
    ----------
    table : array
        The weights.
    row_name : callable
        From the number of a row to its name.
    columns : sequence
        The names of the columns.

    Examples
    --------
    >>> weights = NamedWeights(np.array([[0.5, 0.0], [0.0, -2.0]]), ["w=the", "w=dog"].__getitem__, ["D", "N"])
    >>> dict(weights)
    {('w=the', 'D'): 0.5, ('w=dog', 'N'): -2.0}
    """

    def __init__(self, table: NDArray[np.float64], row_name: Callable[[int], Any], columns: Sequence[Any]) -> None:
        self._table = table
        self._row_name = row_name
        self._columns = list(columns)

    def __getitem__(self, pair: Pair) -> float:
        try:
            row, column = pair
            weight = float(self._table[self._rows[row], self._column_numbers[column]])
        except (KeyError, TypeError, ValueError):
            weight = 0.0
        if weight == 0:
            raise KeyError(pair)
        return weight

    def __iter__(self) -> Iterator[Pair]:
        for start in range(0, len(self._table), _PART):
            rows, columns = np.nonzero(self._table[start : start + _PART])
            for row, column in zip((start + rows).tolist(), columns.tolist(), strict=True):
                yield self._row_name(row), self._columns[column]

    def __len__(self) -> int:
        parts = (self._table[start : start + _PART] for start in range(0, len(self._table), _PART))
        return sum(int(np.count_nonzero(part)) for part in parts)

    def __repr__(self) -> str:
        return f"<{len(self)} weights that are not 0, from pairs of names to numbers>"

    @functools.cached_property
    def _rows(self) -> dict[Any, int]:
        return {self._row_name(row): row for row in range(len(self._table))}

    @functools.cached_property
    def _column_numbers(self) -> dict[Any, int]:
        return {name: number for number, name in enumerate(self._columns)}
