"""Which labels before a token, joined with an observation, have a weight: those that training has."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import require_memory
from marginloom.features.base import Encoded
from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.io.model import Tensors

_BYTES = 64  # of an occurrence while combinations are counted
_MOST_LABELS = 65_535


@dataclasses.dataclass(frozen=True)
class Histories:
    """The combinations of an observation, labels before a token and its own label that have a weight.

    Attributes
    ----------
    offsets : array of uint64
        Observation o has the combinations offsets[o] to offsets[o + 1] - 1.
    before : array of uint32
        The labels before the token: that of the token before, plus that of the one before it times one more than there
        are labels. The number of labels stands for one that does not count.
    labels : array of uint16
        The label of the token.
    label_count : int
        How many labels there are.
    triples : bool
        Whether the last observation is one that every token has, so that three labels in a row have a weight.

    Examples
    --------
    >>> encoded = Encoded(np.array([0, 3]), None, None, None, 0, np.array([0, 1, 2, 3]), np.array([0, 1, 0]))
    >>> found = Histories.learn(encoded, np.array([1, 0, 1], np.uint16), 2, np.array([BEFORE, BEFORE]))
    >>> found.named(["A", "B"])
    [(0, ('A',), 'B'), (1, ('B',), 'A')]
    """

    offsets: NDArray[np.uint64]
    before: NDArray[np.uint32]
    labels: NDArray[np.uint16]
    label_count: int
    triples: bool = False

    @classmethod
    def learn(
        cls,
        encoded: Encoded,
        numbers: NDArray[np.uint16],
        label_count: int,
        reaches: NDArray[np.uint8],
        triples: bool = False,
    ) -> Histories:
        """Collect the combinations of labelled sentences.

        Parameters
        ----------
        encoded : Encoded
            The sentences.
        numbers : array
            The gold label of every token.
        label_count : int
            How many labels there are.
        reaches : array
            For every observation which labels before a token its template reads.
        triples : bool
            Add an observation that every token has.
        """
        bounds = encoded.sentences.astype(np.int64)
        tokens = int(bounds[-1])
        offsets = encoded.observation_offsets
        occurrences = 0 if encoded.observations is None else encoded.observations.size
        require_memory(
            f"counting the labels before {tokens:,} tokens",
            {"combinations": _BYTES * (occurrences + (tokens if triples else 0))},
            "take fewer templates with labels, or fewer sentences",
        )
        place = np.arange(tokens) - np.repeat(bounds[:-1], _counts(encoded.sentences))
        gold = numbers.astype(np.int64)
        if offsets is None or encoded.observations is None:
            token, observed = np.zeros(0, np.int64), np.zeros(0, np.int64)
        else:
            token = np.repeat(np.arange(tokens), _counts(offsets))
            observed = encoded.observations.astype(np.int64)
        reach = reaches[observed].astype(np.int64) if observed.size else np.zeros(0, np.int64)
        if triples:
            token = np.concatenate([token, np.arange(tokens)])
            observed = np.concatenate([observed, np.full(tokens, reaches.size)])
            reach = np.concatenate([reach, np.full(tokens, BOTH)])
        there = place[token] >= np.where(reach == BEFORE, 1, 2)
        token, observed, reach = token[there], observed[there], reach[there]
        before_that = np.where(reach == BEFORE, label_count, gold[token - 2])
        before = np.where(reach == BEFORE_THAT, label_count, gold[token - 1])
        histories = before_that * (label_count + 1) + before
        # Numbers of both together first, so that those of all three fit.
        pairs, pair = np.unique(histories * label_count + gold[token], return_inverse=True)
        found = np.unique(observed * max(pairs.size, 1) + pair)
        observed, pair = np.divmod(found, max(pairs.size, 1))
        before, label = np.divmod(pairs[pair], label_count)
        return cls(
            np.searchsorted(observed, np.arange(reaches.size + triples + 1)).astype(np.uint64),
            before.astype(np.uint32),
            label.astype(np.uint16),
            label_count,
            triples,
        )

    @functools.cached_property
    def core(self) -> _core.LabelHistories:
        """The native table, which has checked the arrays."""
        return _core.LabelHistories(
            _core.LabelHistoryData(
                observations=self.offsets,
                histories=self.before,
                labels=self.labels,
                label_count=self.label_count,
                triples=self.triples,
            )
        )

    def __len__(self) -> int:
        """Return the number of combinations."""
        return self.labels.size

    @property
    def observation_count(self) -> int:
        """Number of observations, without one that every token has."""
        return self.offsets.size - 1 - self.triples

    def describe(self, combination: int, names: list[Any]) -> tuple[int | None, tuple[Any, ...]]:
        """Return its observation, None for the one of every token, and the labels before, the nearest last."""
        observation = int(np.searchsorted(self.offsets, combination, side="right")) - 1
        pair = divmod(int(self.before[combination]), self.label_count + 1)
        labels = tuple(names[number] if number < self.label_count else None for number in pair)
        known = labels[1:] if pair[0] == self.label_count else labels
        return None if self.triples and observation == self.observation_count else observation, known

    def named(self, names: list[Any]) -> list[tuple[int | None, tuple[Any, ...], Any]]:
        """Return all combinations: the observation's number, the labels before, and the label."""
        return [(*self.describe(k, names), names[self.labels[k]]) for k in range(len(self))]

    def tensors(self) -> Tensors:
        """Return the arrays from which `load` makes the same table."""
        return {
            "histories_observations": self.offsets,
            "histories_before": self.before,
            "histories_labels": self.labels,
        }

    @classmethod
    def load(cls, tensors: Tensors, label_count: int, observations: int, triples: bool) -> Histories:
        """Make the table from its arrays, which may be damaged."""
        arrays = [tensors[f"histories_{name}"] for name in ("observations", "before", "labels")]
        for array, kind in zip(arrays, (np.uint64, np.uint32, np.uint16), strict=True):
            if array.dtype != kind or array.ndim != 1:
                raise ValueError("the histories have the wrong type")
        offsets, before, labels = (np.require(array, requirements="A") for array in arrays)
        found = cls(offsets, before, labels, label_count, triples)
        if found.observation_count != observations:
            raise ValueError(f"the histories are those of {found.observation_count} observations, not {observations}")
        found.core  # noqa: B018 - checks the arrays
        return found


def _counts(offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    bounds = offsets.astype(np.int64)
    return bounds[1:] - bounds[:-1]
