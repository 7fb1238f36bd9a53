"""From what users give, in Python or in files, to rows of numbers with their sets of labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.io.libsvm import read_rows
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedSets
from marginloom.tasks.base.rows import rows_to_score
from marginloom.tasks.multilabel.label_sets import PackedSets, pack_indicators, pack_numbers, unpack


@dataclasses.dataclass(frozen=True)
class LabelledRows:
    """Examples, one a row, with their right labels: a 0/1 array or sparse matrix, lists of labels, or numbered."""

    X: Any
    labels: Any


def read_labelled(path: str, n_features: int, strings: bool, quiet: bool = False) -> LabelledRows:
    """Read examples to score a model on, which has so many features, and names or numbers as labels."""
    rows = read_rows(path)
    return LabelledRows(rows_to_score(rows, n_features, quiet), rows.label_sets(strings))


def is_matrix(labels: Any) -> bool:
    """Tell whether right labels are a 0/1 matrix and not lists of labels.

    Examples
    --------
    >>> is_matrix(np.eye(2)), is_matrix([["a"], []])
    (True, False)
    """
    return hasattr(labels, "tocsr") or (isinstance(labels, np.ndarray) and labels.dtype != object)


def learn_labels(labels: Any) -> tuple[LabelSet, Any]:
    """Return the labels that there are, and the right ones as `MultilabelTask` takes them.

    Examples
    --------
    >>> names, gold = learn_labels([["b", "a"], [], ["a"]])
    >>> names.names, gold.bits.tolist()
    (['a', 'b'], [[3], [0], [1]])
    """
    if is_matrix(labels):
        if labels.ndim != 2 or labels.shape[1] == 0:
            raise InputError(f"y must be a 0/1 matrix with a column per label, and its shape is {labels.shape}")
        return LabelSet(list(range(labels.shape[1]))), labels
    sets = _as_sets(labels)
    if len(sets.members) == 0:
        raise InputError("no example has a label, so there is nothing to learn")
    found, numbers = LabelSet.learn(sets.members)
    return found, PackedSets(pack_numbers(sets.places(), numbers, (len(sets), len(found.names))))


def encode_labels(labels: LabelSet, given: Any) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """Return a 0/1 matrix with a column per label, then one per label that training did not see; and those."""
    width = len(labels.names)
    if is_matrix(given):
        if given.ndim != 2 or given.shape[1] != width:
            raise InputError(f"y has the shape {given.shape}; there must be a column for each of {width} labels")
        return unpack(pack_indicators(given), width), {}
    sets = _as_sets(given)
    numbers, beyond = labels.encode_all(sets.members)
    shape = len(sets), width + len(beyond)
    return unpack(pack_numbers(sets.places(), numbers, shape), shape[1]), labels.count_unseen(sets.members)


def _as_sets(labels: Any) -> NumberedSets:
    if isinstance(labels, NumberedSets):
        return labels
    if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
        raise InputError(f"y must be a 0/1 matrix or a list with the labels of each example, not {labels!r}"[:300])
    sets = []
    for i, members in enumerate(labels):
        if isinstance(members, (str, bytes)) or not isinstance(members, Iterable):
            raise InputError(f"y[{i}] is {members!r}; give a list of labels for each example, which may be empty")
        sets.append(list(members))
    return NumberedSets.of(sets)
