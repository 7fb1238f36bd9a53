"""From what users give, in Python or in files, to rows of numbers with their sets of labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedSets
from marginloom.tasks.multilabel.label_sets import PackedSets, pack_indicators, pack_numbers


@dataclasses.dataclass(frozen=True)
class LabelledRows:
    """Examples, one a row, with their right labels: a 0/1 array, data frame or sparse matrix, lists, or numbered."""

    X: Any
    labels: Any


def unit_rows(X: Any) -> Any:
    """Return rows scaled to length 1; rows of zeros stay. The kind of matrix and its type of numbers stay too.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        X = X if X.dtype.kind == "f" else X.astype(np.float64)
        return X / _divisors(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64)))[:, None].astype(X.dtype)
    rows = X.tocsr().copy()
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)
    rows.sum_duplicates()
    counts = np.diff(rows.indptr)
    places = np.repeat(np.arange(counts.size), counts)
    squares = np.bincount(places, weights=rows.data.astype(np.float64) ** 2, minlength=counts.size)
    rows.data /= np.repeat(_divisors(np.sqrt(squares)), counts).astype(rows.dtype)
    return rows


def _divisors(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(lengths > 0, lengths, 1.0)


def as_labels(given: Any) -> Any:
    """Return right labels as they are, or as an array if they are neither that nor a frame but can become one.

    Examples
    --------
    >>> as_labels([["a"], []])
    [['a'], []]
    """
    if given is None:
        raise InputError("MultilabelClassifier requires y to be passed, but the target y is None")
    return np.asarray(given) if hasattr(given, "__array__") and not is_frame(given) else given


def is_matrix(labels: Any) -> bool:
    """Tell whether right labels are a 0/1 matrix and not lists of labels.

    Examples
    --------
    >>> is_matrix(np.eye(2)), is_matrix([["a"], []])
    (True, False)
    """
    is_array = isinstance(labels, np.ndarray) and labels.dtype != object
    return is_array or hasattr(labels, "tocsr") or is_frame(labels)


def is_frame(labels: Any) -> bool:
    """Tell whether right labels are a data frame, of pandas or another library, whose columns have names.

    Examples
    --------
    >>> is_frame(np.eye(2))
    False
    """
    return hasattr(labels, "columns") and hasattr(labels, "to_numpy")


def learn_labels(labels: Any) -> tuple[LabelSet, Any]:
    """Return the labels that there are, and the right ones as `MultilabelTask` takes them.

    Examples
    --------
    >>> names, gold = learn_labels([["b", "a"], [], ["a"]])
    >>> names.names, gold.bits.tolist()
    (['a', 'b'], [[3], [0], [1]])
    """
    if is_frame(labels):
        return LabelSet(_column_names(labels)), labels.to_numpy()
    if is_matrix(labels):
        if labels.ndim == 1 and labels.dtype.kind == "f" and (labels % 1 != 0).any():
            raise InputError("Unknown label type: continuous; y must be a 0/1 matrix with a column per label")
        if labels.ndim != 2 or labels.shape[1] == 0:
            raise InputError(f"y must be a 0/1 matrix with a column per label, and its shape is {labels.shape}")
        return LabelSet(list(range(labels.shape[1]))), labels
    sets = _as_sets(labels)
    if len(sets.members) == 0:
        raise InputError("no example has a label, so there is nothing to learn")
    found, numbers = LabelSet.learn(sets.members)
    shape = len(sets), len(found.names)
    return found, PackedSets(pack_numbers(sets.places(), numbers, shape), shape[1])


def encode_labels(labels: LabelSet, given: Any) -> tuple[PackedSets, dict[str, int]]:
    """Return sets with a column per label, then one per label that training did not see; and those."""
    width = len(labels.names)
    if is_frame(given):
        given = _ordered_values(given, labels.names)
    if is_matrix(given):
        if given.ndim != 2 or given.shape[1] != width:
            raise InputError(f"y has the shape {given.shape}; there must be a column for each of {width} labels")
        return PackedSets(pack_indicators(given), width), {}
    sets = _as_sets(given)
    numbers, beyond = labels.encode_all(sets.members)
    shape = len(sets), width + len(beyond)
    return PackedSets(pack_numbers(sets.places(), numbers, shape), shape[1]), labels.count_unseen(sets.members)


def _column_names(frame: Any) -> list[Any]:
    """Return the names of the columns: the labels."""
    names = [name.item() if isinstance(name, np.generic) else name for name in frame.columns]
    if not names:
        raise InputError("y is a data frame without columns; it must have one of 0 and 1 for every label")
    kinds = {type(name) for name in names}
    if kinds not in ({str}, {int}):
        raise InputError(f"the columns of y must all be named by strings or all by whole numbers, not {names!r}"[:300])
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"y has two columns of the name {twice!r}; labels must differ")
    return names


def _ordered_values(frame: Any, labels: list[Any]) -> NDArray[Any]:
    """Return the 0/1 matrix of a data frame, the columns in the order of the labels that training had."""
    names = _column_names(frame)
    if set(names) != set(labels):
        missing = [label for label in labels if label not in names]
        unknown = [name for name in names if name not in labels]
        raise InputError(
            f"the columns of y must be the labels that training had; missing: {missing!r}, unknown: {unknown!r}"[:300]
        )
    return np.asarray(frame.to_numpy())[:, [names.index(label) for label in labels]]


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
