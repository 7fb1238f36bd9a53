"""Numbers that scores of all kinds are made of."""

from __future__ import annotations


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
