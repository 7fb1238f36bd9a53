"""The labels of a model: strings or whole numbers, numbered from 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError
from marginloom.labels.arrays import plain_labels
from marginloom.labels.numbered import NumberedLabels, add_strings

MAX_LABELS = 65_535  # one number less than 16 bits hold, which marks a label that training did not see
UNSEEN = np.uint16(0xFFFF)

_TOO_LARGE = 2**63  # for the type int64; a file has such labels in an array of their own


class LabelSet:
    """Labels in order: sorted where they were learnt, as given where they are the columns of a matrix.

    Parameters
    ----------
    names : sequence of str or of int
        The labels, all different.

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
        add_strings(self.vocabulary, [str(name) for name in self.names])
        self._array = plain_labels(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    @classmethod
    def learn(cls, labels: Iterable[Any] | NumberedLabels) -> tuple[LabelSet, NDArray[np.uint16]]:
        """Return the labels that occur, and the number of each."""
        given = NumberedLabels.of(labels)
        if len(given) == 0:
            raise InputError("there is no label, because there is no token")
        names = given.names.tolist()
        order = sorted(range(len(names)), key=names.__getitem__)
        found = cls([names[place] for place in order])
        rank = np.empty(len(names), dtype=np.uint16)
        rank[order] = np.arange(len(names), dtype=np.uint16)
        return found, rank[given.numbers]

    def encode(self, labels: Iterable[Any] | NumberedLabels) -> NDArray[np.uint16]:
        """Return the number of each label; those that training did not see become `UNSEEN`."""
        given = NumberedLabels.of(labels)
        return self._ranks(given)[given.numbers]

    def encode_all(self, labels: Iterable[Any] | NumberedLabels) -> tuple[NDArray[np.int64], list[Any]]:
        """Return the number of each label, and those that training did not see, whose numbers follow the others."""
        given = NumberedLabels.of(labels)
        ranks, unseen = self._ranks(given).astype(np.int64), sorted(self.unseen(given), key=str)
        beyond = {label: len(self.names) + place for place, label in enumerate(unseen)}
        for place in np.flatnonzero(ranks == UNSEEN).tolist():
            ranks[place] = beyond[given.names[place]]
        return ranks[given.numbers], unseen

    def unseen(self, labels: Iterable[Any] | NumberedLabels) -> list[Any]:
        """Return the labels that training did not see, in order."""
        given = NumberedLabels.of(labels)
        return sorted(given.names[self._ranks(given) == UNSEEN].tolist())

    def count_unseen(self, labels: Iterable[Any] | NumberedLabels) -> dict[str, int]:
        """Return the labels that training did not see, as texts, with how often they occur."""
        given = NumberedLabels.of(labels)
        counts = np.bincount(given.numbers, minlength=given.names.size)
        unseen = np.flatnonzero(self._ranks(given) == UNSEEN)
        return dict(sorted((str(given.names[place]), int(counts[place])) for place in unseen))

    def _ranks(self, given: NumberedLabels) -> NDArray[np.uint16]:
        """Return the number of each different label."""
        if len(given) and self.strings != isinstance(given.names[0], str):
            kinds = ("strings", "whole numbers") if self.strings else ("whole numbers", "strings")
            raise InputError(f"the labels are {kinds[1]}, and the model was trained on {kinds[0]}")
        return np.array([self._numbers.get(name, UNSEEN) for name in given.names.tolist()], dtype=np.uint16)

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
        return shown if len(self.names) <= limit else f"{shown} and {len(self.names) - limit} more"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `load` makes the same set."""
        if self.strings:
            return vocabulary_tensors(self.vocabulary, "labels")
        large = [name for name in self.names if name >= _TOO_LARGE]  # the last ones, in sorted labels
        tensors: dict[str, NDArray[Any]] = {"labels": np.array(self.names[: len(self.names) - len(large)], np.int64)}
        return tensors | ({"large_labels": np.array(large, np.uint64)} if large else {})

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]], *, is_sorted: bool = True) -> LabelSet:
        """Make the set from its arrays; where it must be sorted, `ValueError` if it is not."""
        if "labels" in tensors:
            signed, large = tensors["labels"], tensors.get("large_labels", np.zeros(0, np.uint64))
            names: list[Any] = [*signed.ravel().tolist(), *large.ravel().tolist()]
            right = signed.dtype == np.int64 and large.dtype == np.uint64 and signed.ndim == large.ndim == 1
            in_order = all(first < second for first, second in pairwise(names)) if is_sorted else _differ(names)
            if not right or not in_order:
                raise ValueError("the labels are not whole numbers in order")
            return cls(names)
        vocabulary = load_vocabulary(tensors, "labels")
        names = [vocabulary.name(number) for number in range(len(vocabulary))]
        if is_sorted and names != sorted(names):
            raise ValueError("the labels are not in order")
        return cls(names)


def _differ(names: list[Any]) -> bool:
    return len(set(names)) == len(names)
