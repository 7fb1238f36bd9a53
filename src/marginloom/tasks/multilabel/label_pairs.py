"""Which pairs of labels interact: given, a tree learnt from co-occurrence, or all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.memory import PAIR_BYTES, require_memory
from marginloom.errors import InputError

Pairs = list[tuple[int, int]]


def resolve_pairs(pairs: Any, n_labels: int, indicators: Any) -> Pairs:
    """Return the pairs of label numbers that a description stands for.

    Parameters
    ----------
    pairs : None, "tree", "full" or pairs of label numbers
        What users say.
    n_labels : int
        How many labels there are.
    indicators : function
        Called without arguments for the 0/1 matrix of the right labels, if a tree is to be learnt.

    Returns
    -------
    list of pairs
        Each with the lower number first.

    Examples
    --------
    >>> resolve_pairs("full", 3, None)
    [(0, 1), (0, 2), (1, 2)]
    """
    if pairs is None:
        return []
    if isinstance(pairs, str):
        if pairs == "full":
            count = n_labels * (n_labels - 1) // 2
            require_memory(
                f"a list of the {count:,} pairs of {n_labels:,} labels",
                {"pairs": PAIR_BYTES * count},
                "name the pairs, or take 'tree'",
            )
            return [(a, b) for a in range(n_labels) for b in range(a + 1, n_labels)]
        if pairs == "tree":
            return co_occurrence_tree(indicators())
        raise InputError(f"pairs must be None, 'tree', 'full' or a list of pairs of labels, not {pairs!r}")
    return [_pair(pair, n_labels) for pair in _as_list(pairs)]


def co_occurrence_tree(indicators: Any) -> Pairs:
    """Return the tree over labels that loses least of their joint distribution (Chow and Liu 1968).

    It is the maximum spanning tree of the mutual information of pairs of labels, each estimated from how often the two
    are present together. Pairs that are independent in the data are left out, so it may fall apart into several trees.

    Parameters
    ----------
    indicators : array or sparse matrix
        A row per example and a column per label; 1 where the label is present.

    Returns
    -------
    list of pairs of int
        At most one less than there are labels.

    Examples
    --------
    >>> co_occurrence_tree(np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]]))
    [(0, 1)]
    """
    from scipy.sparse import csr_matrix

    present = csr_matrix(indicators, dtype=np.float64)
    examples, labels = present.shape
    counts = np.asarray(present.sum(axis=0)).ravel()
    columns = present.T.tocsr()
    # Prim's algorithm: `best` is the strongest link of each label to the tree, `partner` its other end.
    best = np.zeros(labels)
    partner = np.full(labels, -1)
    outside = np.ones(labels, dtype=bool)
    pairs: Pairs = []
    for _ in range(labels):
        label = int(np.argmax(np.where(outside, best, -1.0)))
        if partner[label] >= 0:
            pairs.append((min(label, int(partner[label])), max(label, int(partner[label]))))
        outside[label] = False
        together = np.asarray((columns[[label]] @ present).todense()).ravel()
        information = mutual_information(together, counts[label], counts, examples)
        stronger = outside & (information > np.maximum(best, 1e-12))
        best[stronger] = information[stronger]
        partner[stronger] = label
    return sorted(pairs)


def mutual_information(
    together: NDArray[np.float64], first: float, second: NDArray[np.float64], examples: int
) -> NDArray[np.float64]:
    """Return the mutual information, in nats, of one label with others, from the counts of examples that have them.

    Examples
    --------
    >>> mutual_information(np.array([2.0]), 2.0, np.array([2.0]), 4).round(4).tolist()
    [0.6931]
    """
    if examples == 0:
        return np.zeros_like(second)
    total = np.zeros_like(second)
    for both, one, other in (
        (together, first, second),
        (first - together, first, examples - second),
        (second - together, examples - first, second),
        (examples - first - second + together, examples - first, examples - second),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            term = both / examples * np.log(both * examples / (one * other))
        total += np.where(both > 0, term, 0.0)
    return total


def _as_list(pairs: Any) -> list[Any]:
    if not isinstance(pairs, Iterable):
        raise InputError(f"pairs must be None, 'tree', 'full' or a list of pairs of labels, not {pairs!r}")
    return list(pairs)


def _pair(pair: Any, n_labels: int) -> tuple[int, int]:
    try:
        a, b = (int(label) for label in pair)
    except (TypeError, ValueError) as error:
        raise InputError(f"pairs must hold pairs of label numbers, not {pair!r}") from error
    if not (0 <= a < n_labels and 0 <= b < n_labels) or a == b:
        raise InputError(f"pairs must hold two different labels of 0 to {n_labels - 1}, not {pair!r}")
    return min(a, b), max(a, b)
