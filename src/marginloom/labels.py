"""The labels of a model: strings or whole numbers, numbered from 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.features.base import UNKNOWN, load_vocabulary, vocabulary_tensors

MAX_LABELS = 65_535  # one number less than 16 bits hold, which marks a label that training did not see
UNSEEN = np.uint16(0xFFFF)


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
        self._array = np.array(self.names, dtype=object if self.strings else np.int64)

    @classmethod
    def learn(cls, labels: Iterable[Any]) -> tuple[LabelSet, NDArray[np.uint16]]:
        """Return the labels that occur, and the number of each."""
        flat = labels if isinstance(labels, np.ndarray) else list(labels)
        if len(flat) == 0:
            raise InputError("there is no label, because there is no token")
        if isinstance(flat[0], str):
            seen = _core.Vocabulary()
            return cls.from_vocabulary(seen, _encode_strings(seen, flat, grow=True))
        values = _as_integers(flat)
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
        flat = labels if isinstance(labels, np.ndarray) else list(labels)
        if len(flat) == 0:
            return np.zeros(0, dtype=np.uint16)
        if self.strings != isinstance(flat[0], str):
            kinds = ("strings", "whole numbers") if self.strings else ("whole numbers", "strings")
            raise InputError(f"the labels are {kinds[1]}, and the model was trained on {kinds[0]}")
        if self.strings:
            return _narrow(_encode_strings(self.vocabulary, flat, grow=False))
        values = _as_integers(flat)
        names = np.asarray(self._array, dtype=np.int64)
        places = np.minimum(np.searchsorted(names, values), len(names) - 1)
        return np.where(names[places] == values, places, UNSEEN).astype(np.uint16)

    def decode(self, numbers: NDArray[np.uint16]) -> NDArray[Any]:
        """Return the labels of numbers."""
        return self._array[numbers]

    def find(self, label: Any) -> int:
        """Return the number of a label; `InputError` if it is not one of the set."""
        if label not in self.names:
            raise InputError(f"{label!r} is not a label of the training data; there are: {self.summary()}")
        return self.names.index(label)

    def summary(self, limit: int = 12) -> str:
        """List the labels, cut short if there are many."""
        shown = ", ".join(str(name) for name in self.names[:limit])
        return shown if len(self.names) <= limit else f"{shown}, ... ({len(self.names)} in all)"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `load` makes the same set."""
        if self.strings:
            return vocabulary_tensors(self.vocabulary, "labels")
        return {"labels": np.array(self.names, dtype=np.int64)}

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> LabelSet:
        """Make the set from its arrays."""
        if "labels" in tensors:
            numbers = tensors["labels"]
            if numbers.dtype != np.int64 or numbers.ndim != 1 or (np.diff(numbers) <= 0).any():
                raise ValueError("the labels are not whole numbers in order")
            return cls(numbers.tolist())
        vocabulary = load_vocabulary(tensors, "labels")
        names = [vocabulary.name(number) for number in range(len(vocabulary))]
        if names != sorted(names):
            raise ValueError("the labels are not in order")
        return cls(names)


def _encode_strings(vocabulary: _core.Vocabulary, labels: Iterable[Any], grow: bool) -> NDArray[np.uint32]:
    try:
        return vocabulary.encode_strings(labels, grow)
    except ValueError as error:
        raise InputError(f"labels must be all strings or all whole numbers: {error}") from error


def _narrow(numbers: NDArray[np.uint32]) -> NDArray[np.uint16]:
    return np.where(numbers == UNKNOWN, UNSEEN, numbers).astype(np.uint16)


def _as_integers(labels: Any) -> NDArray[np.int64]:
    try:
        values = np.asarray(labels)
    except (ValueError, OverflowError) as error:
        raise InputError("labels must be all strings or all whole numbers") from error
    if values.ndim != 1 or values.dtype.kind not in "iub":
        found = next((label for label in labels if not isinstance(label, (int, np.integer))), labels[0])
        raise InputError(f"labels must be all strings or all whole numbers, not {found!r}")
    return values.astype(np.int64)
