"""Dense arrays that grow with the product of two sizes: compared with what memory there is before they are made."""

from __future__ import annotations

from collections.abc import Iterator

from marginloom.common.memory import require_memory

#: Cells of a matrix that are looked at together, where the matrix as a whole would take too much.
_CELLS = 1 << 22
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


def row_batches(rows: int, columns: int) -> Iterator[slice]:
    """Yield ranges of the rows of a matrix which together are all of them, and of which none is large.

    Examples
    --------
    >>> list(row_batches(3, 2**21))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    size = max(1, _CELLS // max(columns, 1))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def require_indicators(examples: int, labels: int, bytes_each: int = 1) -> None:
    """Compare a dense 0/1 matrix of labels with what there is.

    Examples
    --------
    >>> require_indicators(3, 4)
    """
    require_memory(
        f"a 0/1 matrix, {examples:,} examples by {labels:,} labels,",
        {"labels": bytes_each * examples * labels},
        "give fewer examples at a time, or take fewer labels",
    )


def require_sets(examples: int, labels: int) -> None:
    """Compare sets of labels, a bit for each label of an example, with what there is.

    Examples
    --------
    >>> require_sets(3, 4)
    """
    require_memory(
        f"a bit for each of {labels:,} labels of {examples:,} examples",
        {"sets": examples * ((labels + 7) // 8)},
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
