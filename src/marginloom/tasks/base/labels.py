"""The labels of a model: strings or whole numbers, numbered from 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.features.base import UNKNOWN, load_vocabulary, vocabulary_tensors
from marginloom.tasks.base.label_arrays import plain_labels

MAX_LABELS = 65_535  # one number less than 16 bits hold, which marks a label that training did not see
UNSEEN = np.uint16(0xFFFF)

_TOO_LARGE = 2**63  # for the type int64; a file has such labels in an array of their own


class LabelSet:
    """Labels in sorted order.

    Parameters
    ----------
    names : sequence of str or of int
        The labels, sorted and different.

    Examples
    --------
    >>> labels, numbers = LabelSet.learn(["N", "V", "N"])
    >>> labels.names, numbers.tolist()
    (['N', 'V'], [0, 1, 0])
    """

    def __init__(self, names: Sequence[str] | Sequence[int]) -> None:
        if not 1 <= len(names) <= MAX_LABELS:
            raise InputError(f"there are {len(names)} different labels; 1 to {MAX_LABELS} are possible")
        self.names: list[Any] = list(names)
        self.strings = isinstance(self.names[0], str)
        self.vocabulary = _core.Vocabulary()
        self.vocabulary.encode_strings([str(name) for name in self.names], grow=True)
        self._array = plain_labels(self.names)

    @classmethod
    def learn(cls, labels: Iterable[Any]) -> tuple[LabelSet, NDArray[np.uint16]]:
        """Return the labels that occur, and the number of each."""
        values = plain_labels(labels)
        if values.size == 0:
            raise InputError("there is no label, because there is no token")
        if isinstance(values[0], str):
            seen = _core.Vocabulary()
            return cls.from_vocabulary(seen, _encode_strings(seen, values, grow=True))
        names, numbers = np.unique(values, return_inverse=True)
        return cls(names.tolist()), numbers.astype(np.uint16)

    @classmethod
    def from_vocabulary(
        cls, seen: _core.Vocabulary, numbers: NDArray[np.uint32]
    ) -> tuple[LabelSet, NDArray[np.uint16]]:
        """Return the labels of a vocabulary, sorted, and numbers that follow the new order."""
        names = [seen.name(number) for number in range(len(seen))]
        order = sorted(range(len(names)), key=names.__getitem__)
        labels = cls([names[number] for number in order])
        rank = np.empty(len(names), dtype=np.uint16)
        rank[order] = np.arange(len(names), dtype=np.uint16)
        return labels, rank[numbers]

    def encode(self, labels: Iterable[Any]) -> NDArray[np.uint16]:
        """Return the number of each label; those that training did not see become `UNSEEN`."""
        values = plain_labels(labels)
        if values.size == 0:
            return np.zeros(0, dtype=np.uint16)
        if self.strings != isinstance(values[0], str):
            kinds = ("strings", "whole numbers") if self.strings else ("whole numbers", "strings")
            raise InputError(f"the labels are {kinds[1]}, and the model was trained on {kinds[0]}")
        if self.strings:
            return _narrow(_encode_strings(self.vocabulary, values, grow=False))
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers.get(value, UNSEEN) for value in values.tolist()], dtype=np.uint16)

    def count_unseen(self, labels: Sequence[Any] | NDArray[Any], numbers: NDArray[Any]) -> dict[str, int]:
        """Return the labels that `encode` did not know, as texts, with how often they occur."""
        unseen = Counter(str(labels[place]) for place in np.flatnonzero(numbers == UNSEEN).tolist())
        return dict(sorted(unseen.items()))

    def decode(self, numbers: NDArray[np.uint16]) -> NDArray[Any]:
        """Return the labels of numbers."""
        return self._array[numbers]

    def find(self, label: Any) -> int:
        """Return the number of a label; `InputError` if it is not one of the set."""
        wanted = label.item() if isinstance(label, np.generic) else label  # numpy compares in double precision
        if wanted not in self.names:
            raise InputError(f"{label!r} is not a label of the training data; there are: {self.summary()}")
        return self.names.index(wanted)

    def summary(self, limit: int = 12) -> str:
        """List the labels, cut short if there are many."""
        shown = ", ".join(str(name) for name in self.names[:limit])
        return shown if len(self.names) <= limit else f"{shown}, ... ({len(self.names)} in all)"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `load` makes the same set."""
        if self.strings:
            return vocabulary_tensors(self.vocabulary, "labels")
        large = [name for name in self.names if name >= _TOO_LARGE]
        tensors: dict[str, NDArray[Any]] = {"labels": np.array(self.names[: len(self.names) - len(large)], np.int64)}
        return tensors | ({"large_labels": np.array(large, np.uint64)} if large else {})

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> LabelSet:
        """Make the set from its arrays."""
        if "labels" in tensors:
            signed, large = tensors["labels"], tensors.get("large_labels", np.zeros(0, np.uint64))
            names: list[Any] = [*signed.ravel().tolist(), *large.ravel().tolist()]
            right = signed.dtype == np.int64 and large.dtype == np.uint64 and signed.ndim == large.ndim == 1
            if not right or any(first >= second for first, second in pairwise(names)):
                raise ValueError("the labels are not whole numbers in order")
            return cls(names)
        vocabulary = load_vocabulary(tensors, "labels")
        names = [vocabulary.name(number) for number in range(len(vocabulary))]
        if names != sorted(names):
            raise ValueError("the labels are not in order")
        return cls(names)


def _encode_strings(vocabulary: _core.Vocabulary, labels: Iterable[Any], grow: bool) -> NDArray[np.uint32]:
    try:
        return vocabulary.encode_strings(labels, grow)
    except ValueError as error:
        raise InputError(f"a label is no text that UTF-8 can hold: {error}") from error


def _narrow(numbers: NDArray[np.uint32]) -> NDArray[np.uint16]:
    return np.where(numbers == UNKNOWN, UNSEEN, numbers).astype(np.uint16)
