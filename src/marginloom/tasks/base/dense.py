"""Dense arrays that grow with the product of two sizes: compared with what memory there is before they are made."""

from __future__ import annotations

from marginloom.memory import require_memory

_NUMBER = 8
_PYTHON_NUMBER = 32  # a float and where it is, in a list


def require_coefficients(labels: int, features: int) -> None:
    """Compare a dense matrix of coefficients with what there is.

    Examples
    --------
    >>> require_coefficients(3, 4)
    """
    require_memory(
        f"a dense matrix of coefficients, {labels:,} labels by {features:,} features,",
        {"coefficients": _NUMBER * labels * features},
        "use model_.weights instead, which has them already, a row per feature",
    )


def require_scores(examples: int, labels: int) -> None:
    """Compare a dense matrix of scores with what there is.

    Examples
    --------
    >>> require_scores(3, 4)
    """
    require_memory(
        f"a dense matrix of scores, {examples:,} examples by {labels:,} labels,",
        {"scores": _NUMBER * examples * labels},
        "give fewer examples at a time",
    )


def require_indicators(examples: int, labels: int, copies: int = 1) -> None:
    """Compare a dense 0/1 matrix of labels with what there is.

    Examples
    --------
    >>> require_indicators(3, 4)
    """
    require_memory(
        f"a 0/1 matrix, {examples:,} examples by {labels:,} labels,",
        {"labels": copies * examples * labels},
        "give fewer examples at a time, or take fewer labels",
    )


def require_costs(labels: int) -> None:
    """Compare a matrix of costs, as given and as native code takes it, with what there is.

    Examples
    --------
    >>> require_costs(3)
    """
    require_memory(
        f"a matrix of costs for {labels:,} classes",
        {"costs": (3 * _NUMBER + _PYTHON_NUMBER) * labels**2},
        "take fewer classes, or train without costs",
    )
