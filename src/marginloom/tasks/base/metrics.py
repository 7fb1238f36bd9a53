"""Numbers that scores of all kinds are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

#: For each label precision, recall, f1 and support, the number of times that it is right.
PerLabel: TypeAlias = dict[str, dict[str, Any]]

MEASURES = ("precision", "recall", "f1")


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
