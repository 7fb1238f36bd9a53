"""Labels by numbers, each different one held once."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.labels.arrays import plain_labels


def add_strings(vocabulary: _core.Vocabulary, labels: Iterable[str]) -> NDArray[np.uint32]:
    """Return the numbers of strings in a vocabulary, to which they are added; `InputError` if one is no text.

    Examples
    --------
    >>> add_strings(_core.Vocabulary(), ["N", "V", "N"]).tolist()
    [0, 1, 0]
    """
    try:
        return vocabulary.encode_strings(labels, grow=True)
    except ValueError as error:
        raise InputError(f"a label is no text that UTF-8 can hold: {error}") from error


@dataclasses.dataclass(frozen=True)
class NumberedLabels:
    """Labels of many things.

    Attributes
    ----------
    names : array
        The different labels, as `plain_labels` has them, in any order.
    numbers : array
        For each thing the place of its label among these.
    """

    names: NDArray[Any]
    numbers: NDArray[np.uint32]

    def __len__(self) -> int:
        return int(self.numbers.size)

    @classmethod
    def of(cls, labels: Iterable[Any] | NumberedLabels) -> NumberedLabels:
        """Give labels numbers; those that have numbers come back.

        Examples
        --------
        >>> numbered = NumberedLabels.of(["V", "N", "V"])
        >>> numbered.names.tolist(), numbered.numbers.tolist()
        (['V', 'N'], [0, 1, 0])
        """
        if isinstance(labels, NumberedLabels):
            return labels
        values = plain_labels(labels)
        if values.size and isinstance(values[0], str):
            seen = _core.Vocabulary()
            return cls.of_vocabulary(seen, add_strings(seen, values))
        names, places = np.unique(values, return_inverse=True)
        return cls(names, places.astype(np.uint32))

    @classmethod
    def of_vocabulary(cls, seen: _core.Vocabulary, numbers: NDArray[np.uint32]) -> NumberedLabels:
        """Take over strings that were numbered while they were read."""
        try:
            names = [seen.name(number) for number in range(len(seen))]
        except UnicodeDecodeError as error:  # of an array of strings that is damaged
            raise InputError(
                f"labels have a character that there is not ({error.reason}); the data are damaged, make them again"
            ) from error
        return cls(np.array(names, dtype=object), numbers)

    @classmethod
    def join(cls, parts: Sequence[NumberedLabels]) -> NumberedLabels:
        """Put the labels of several files one after the other.

        Examples
        --------
        >>> NumberedLabels.join([NumberedLabels.of([7, 5]), NumberedLabels.of([9, 7])]).values().tolist()
        [7, 5, 9, 7]
        """
        if len(parts) == 1:
            return parts[0]
        together = cls.of([name for part in parts for name in part.names.tolist()])
        starts = np.cumsum([0, *(part.names.size for part in parts)])
        numbers = [together.numbers[start:][part.numbers] for start, part in zip(starts, parts, strict=False)]
        return cls(together.names, np.concatenate(numbers))

    def values(self) -> NDArray[Any]:
        """Return the label of each thing."""
        return self.names[self.numbers]


@dataclasses.dataclass(frozen=True)
class NumberedSets:
    """Sets of labels of many things.

    Attributes
    ----------
    members : NumberedLabels
        Those of all sets in a row.
    offsets : array
        Set i has the members offsets[i] to offsets[i + 1] - 1.
    """

    members: NumberedLabels
    offsets: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.offsets.size) - 1

    @classmethod
    def of(cls, sets: Sequence[Sequence[Any]]) -> NumberedSets:
        """Give labels numbers.

        Examples
        --------
        >>> NumberedSets.of([["a"], [], ["b", "a"]]).offsets.tolist()
        [0, 1, 1, 3]
        """
        members = NumberedLabels.of([label for members in sets for label in members])
        return cls(members, np.cumsum([0, *map(len, sets)]).astype(np.uint64))

    @classmethod
    def join(cls, parts: Sequence[NumberedSets]) -> NumberedSets:
        """Put the sets of several files one after the other."""
        starts = np.cumsum([0, *(part.offsets[-1] for part in parts)]).astype(np.uint64)
        offsets = [part.offsets[1:] + start for start, part in zip(starts, parts, strict=False)]
        members = NumberedLabels.join([part.members for part in parts])
        return cls(members, np.concatenate([np.zeros(1, np.uint64), *offsets]))

    def places(self) -> NDArray[np.int64]:
        """Return for each member the number of its set."""
        ends = self.offsets.astype(np.int64)
        return np.repeat(np.arange(len(self)), ends[1:] - ends[:-1])

    def lists(self) -> list[list[Any]]:
        """Return the labels of each thing."""
        values = self.members.values().tolist()
        return [values[start:end] for start, end in itertools.pairwise(self.offsets.tolist())]

    def indicators(self, classes: Sequence[Any] | None = None) -> tuple[Any, list[Any]]:
        """Return a sparse 0/1 matrix with a row per thing and a column per label, and the labels without a column.

        Parameters
        ----------
        classes : sequence, optional
            The labels of the columns; by default those that occur, sorted.

        Examples
        --------
        >>> matrix, unknown = NumberedSets.of([["b"], [], ["a", "b"]]).indicators()
        >>> matrix.toarray().tolist(), unknown
        ([[0, 1], [0, 0], [1, 1]], [])
        """
        from scipy.sparse import csr_matrix

        names = self.members.names.tolist()
        order = sorted(names) if classes is None else list(classes)
        columns = {label: column for column, label in enumerate(order)}
        if len(columns) < len(order):
            raise InputError("classes has a label more than once; give each column a label of its own")
        unknown = [name for name in names if name not in columns]
        column_of = np.array([columns.get(name, -1) for name in names], dtype=np.int64)
        found = column_of[self.members.numbers]
        known = found >= 0
        shape = (len(self), len(order))
        matrix = csr_matrix((np.ones(int(known.sum()), np.uint8), (self.places()[known], found[known])), shape=shape)
        matrix.data[:] = 1  # a label that is written twice counts once
        return matrix, unknown
