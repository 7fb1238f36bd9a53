"""Numbers that scores of all kinds are made of."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: For each label precision, recall, f1 and support, the number of times that it is right.
PerLabel: TypeAlias = dict[str, dict[str, Any]]

MEASURES = ("precision", "recall", "f1")

#: Pairs of labels that `confusions` returns at most.
MOST_CONFUSIONS = 10


def ratio(part: int, whole: int) -> float:
    """Return a share; of nothing it is 0.

    Examples
    --------
    >>> ratio(1, 2), ratio(0, 0)
    (0.5, 0.0)
    """
    return part / whole if whole else 0.0


def precision_recall_f1(in_both: int, in_predicted: int, in_gold: int) -> dict[str, float]:
    """Return the three scores of what was found.

    Examples
    --------
    >>> precision_recall_f1(1, 1, 2)
    {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666}
    """
    return {
        "precision": ratio(in_both, in_predicted),
        "recall": ratio(in_both, in_gold),
        "f1": ratio(2 * in_both, in_predicted + in_gold),
    }


def scores_per_label(
    names: Iterable[Any],
    in_both: Iterable[int],
    in_predicted: Iterable[int],
    in_gold: Iterable[int],
    *,
    with_absent: bool = False,
) -> PerLabel:
    """Return the scores of each label, given how often it is predicted rightly, is predicted, and is right.

    Labels that are neither predicted nor right anywhere are left out, unless `with_absent` is true.

    Examples
    --------
    >>> scores_per_label(["N", "V", "X"], [1, 0, 0], [1, 1, 0], [2, 0, 0])["N"]
    {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'support': 2}
    """
    return {
        str(name): {**precision_recall_f1(both, predicted, gold), "support": gold}
        for name, both, predicted, gold in zip(names, in_both, in_predicted, in_gold, strict=True)
        if predicted or gold or with_absent
    }


def confusions(gold: NDArray[Any], predicted: NDArray[Any], names: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the most frequent pairs of a gold label and another one that was predicted, at most `MOST_CONFUSIONS`.

    Parameters
    ----------
    gold, predicted : array of int
        The gold and the predicted label of every item, as places in `names`.
    names : sequence of str or int
        The labels.

    Returns
    -------
    list of dict
        ``gold``, ``predicted`` and ``count``, the most frequent pair first; equally frequent ones by name.

    Examples
    --------
    >>> confusions(np.array([0, 0, 0, 1]), np.array([1, 1, 0, 0]), ["NOUN", "VERB"])
    [{'gold': 'NOUN', 'predicted': 'VERB', 'count': 2}, {'gold': 'VERB', 'predicted': 'NOUN', 'count': 1}]
    """
    wrong = np.flatnonzero(gold != predicted)
    pairs = gold[wrong].astype(np.int64) * len(names) + predicted[wrong]
    found, counts = np.unique(pairs, return_counts=True)
    named = [
        (-count, str(names[pair // len(names)]), str(names[pair % len(names)]))
        for pair, count in zip(found.tolist(), counts.tolist(), strict=True)
    ]
    most = heapq.nsmallest(MOST_CONFUSIONS, named)
    return [{"gold": truth, "predicted": guess, "count": -count} for count, truth, guess in most]


def averages(per_label: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the plain mean of the labels' scores (macro), and the mean weighted by support.

    Examples
    --------
    >>> found = averages(scores_per_label(["N", "V"], [3, 0], [3, 1], [3, 1]))
    >>> found["macro_f1"], found["weighted_f1"]
    (0.5, 0.75)
    """
    rows = list(per_label.values())
    support = sum(row["support"] for row in rows)
    macro = {f"macro_{name}": sum(row[name] for row in rows) / len(rows) if rows else 0.0 for name in MEASURES}
    weighted = {
        f"weighted_{name}": sum(row[name] * row["support"] for row in rows) / support if support else 0.0
        for name in MEASURES
    }
    return macro | weighted
