"""Rows of numbers as features with names."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginloom.errors import InputError


def row_of(X: Any, example: int, bias: float) -> tuple[Any, list[tuple[int, float, str]]]:
    """Return a row of a matrix, and the places, values and names of its features, with the intercept if there is one.

    Examples
    --------
    >>> row_of(np.array([[0.0, 2.0]]), 0, 1.0)[1]
    [(1, 2.0, '2'), (2, 1.0, 'intercept')]
    """
    if not 0 <= example < X.shape[0]:
        raise InputError(f"there is no example {example + 1}: the input has {X.shape[0]} (counted from 1)")
    x = X[example : example + 1]
    dense = np.asarray(x.todense() if hasattr(x, "todense") else x, dtype=np.float64).reshape(-1)
    found = [(place, float(dense[place]), str(place + 1)) for place in np.flatnonzero(dense).tolist()]
    if bias:
        found.append((dense.size, bias, "intercept"))
    return x, found
