"""How far probabilities can be relied on: reliability in bins, and the calibration error."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class ReliabilityBin:
    """Predictions whose confidence lies between two bounds.

    Attributes
    ----------
    lower, upper : float
        The bounds.
    count : int
        How many predictions there are.
    confidence : float
        Their mean confidence; NaN if there are none.
    accuracy : float
        The share of them that is correct; NaN if there are none.
    """

    lower: float
    upper: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> list[ReliabilityBin]:
    """Compare confidence with accuracy, in bins of equal width.

    Parameters
    ----------
    confidence : array of float
        The probability that the model gives each prediction.
    correct : array of bool
        Whether the prediction is correct.
    bins : int
        Number of bins from 0 to 1.

    Examples
    --------
    >>> for row in reliability([0.9, 0.8, 0.3], [True, False, False], bins=2):
    ...     print(row.count, round(row.confidence, 2), round(row.accuracy, 2))
    1 0.3 0.0
    2 0.85 0.5
    """
    probabilities, right = _checked(confidence, correct)
    places = np.clip((probabilities * bins).astype(np.int64), 0, bins - 1)
    counts = np.bincount(places, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = np.bincount(places, probabilities, bins) / counts
        shares = np.bincount(places, right, bins) / counts
    return [
        ReliabilityBin(place / bins, (place + 1) / bins, int(counts[place]), float(means[place]), float(shares[place]))
        for place in range(bins)
    ]


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """Return the mean difference between confidence and accuracy, over bins of equal width.

    Examples
    --------
    >>> round(expected_calibration_error([0.9, 0.8, 0.3], [True, False, False], bins=2), 3)
    0.333
    """
    rows = [row for row in reliability(confidence, correct, bins) if row.count]
    total = sum(row.count for row in rows)
    return float(sum(row.count * abs(row.confidence - row.accuracy) for row in rows) / total) if total else 0.0


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    probabilities = np.asarray(confidence, dtype=np.float64).reshape(-1)
    right = np.asarray(correct, dtype=np.float64).reshape(-1)
    if probabilities.shape != right.shape:
        raise InputError(f"there are {probabilities.size} probabilities for {right.size} predictions")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError("probabilities must lie between 0 and 1")
    return probabilities, right
