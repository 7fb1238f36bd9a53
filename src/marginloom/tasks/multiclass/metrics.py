"""Scores of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marginloom.errors import InputError
from marginloom.tasks.base.metrics import averages, ratio, scores_per_label


def class_scores(gold: ArrayLike, predicted: ArrayLike, names: Sequence[str | int]) -> dict[str, Any]:
    """Score predicted classes against the true ones.

    Parameters
    ----------
    gold, predicted : array of int
        Numbers of classes; one that is not the number of a name counts as an error, for example an unknown true class.
    names : sequence of str or int
        The names of the classes.

    Returns
    -------
    dict
        ``accuracy``; ``macro_precision``, ``macro_recall`` and ``macro_f1``, the means over the classes that occur in
        one of the two; ``weighted_precision`` and so on, the means weighted by support; and ``per_label``: for each of
        these classes, by its name, ``precision``, ``recall``, ``f1`` and ``support``, the number of true examples.

    Examples
    --------
    >>> scores = class_scores([0, 0, 1, 1], [0, 1, 1, 1], ["a", "b"])
    >>> scores["accuracy"], scores["per_label"]["a"]
    (0.75, {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'support': 2})
    """
    truth, guess = np.asarray(gold, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if truth.shape != guess.shape:
        raise InputError(f"there are {truth.size} true classes and {guess.size} predicted ones; give as many of both")
    in_gold, in_predicted, in_both = (
        np.bincount(numbers[numbers < len(names)], minlength=len(names)).tolist()
        for numbers in (truth, guess, truth[truth == guess])
    )
    per_label = scores_per_label(names, in_both, in_predicted, in_gold)
    accuracy = ratio(int(np.count_nonzero(truth == guess)), truth.size)
    return {"accuracy": accuracy, **averages(per_label), "per_label": per_label}
