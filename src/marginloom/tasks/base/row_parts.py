"""Rows of numbers as features with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.explanation import FeatureWeights

#: The place of a feature, its value and its name.
RowFeature = tuple[int, float, str]


def row_of(X: Any, example: int, bias: float) -> tuple[Any, list[RowFeature]]:
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


def row_weights(
    features: Sequence[RowFeature], weights: NDArray[np.float64], labels: Sequence[Any]
) -> list[FeatureWeights]:
    """Return the features of a row with their weights, of which there are rows by feature and columns by label.

    Examples
    --------
    >>> row_weights([(0, 2.0, "1")], np.array([[0.0, 0.5]]), ["a", "b"])
    [FeatureWeights(feature='1', value=2.0, weights={'b': 0.5})]
    """
    return [
        FeatureWeights(name, value, {str(labels[c]): float(weights[f, c]) for c in np.flatnonzero(weights[f]).tolist()})
        for f, value, name in features
    ]
