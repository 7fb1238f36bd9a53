"""From what users have to the arrays that a task reads."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginloom import _core

UNKNOWN = np.uint32(0xFFFFFFFF)
MAX_FEATURES = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class Encoded:
    """Sentences as arrays: sparse rows (`tokens`, `features`, `values`) or dense ones (`values` alone).

    Attributes
    ----------
    sentences : array
        Sentence i has the tokens sentences[i] to sentences[i + 1] - 1.
    tokens, features : array or None
        Token t has the features tokens[t] to tokens[t + 1] - 1; None if dense.
    values : array or None
        Of the features; None if all are 1.
    observation_offsets, observations : array or None
        Token t has the observations observation_offsets[t] to observation_offsets[t + 1] - 1, which templates join with
        labels before it; None if no template does.
    """

    sentences: NDArray[np.uint64]
    tokens: NDArray[np.uint64] | None
    features: NDArray[np.uint32] | None
    values: NDArray[np.float32] | None
    feature_count: int
    observation_offsets: NDArray[np.uint64] | None = None
    observations: NDArray[np.uint32] | None = None

    def of_sentences(self, kept: NDArray[np.bool_]) -> Encoded:
        """Return the sentences that are to be kept.

        Examples
        --------
        >>> whole = Encoded(np.array([0, 1, 3]), np.array([0, 2, 3, 4]), np.array([5, 6, 7, 8]), None, 9)
        >>> part = whole.of_sentences(np.array([False, True]))
        >>> part.sentences.tolist(), part.tokens.tolist(), part.features.tolist()
        ([0, 2], [0, 1, 2], [7, 8])
        """
        lengths = _counts(self.sentences)
        sentences, tokens_kept = _offsets(lengths[kept]), np.repeat(kept, lengths)
        if self.tokens is None or self.features is None:
            assert self.values is not None
            rows = self.values.reshape(tokens_kept.size, self.feature_count)[tokens_kept]
            return dataclasses.replace(self, sentences=sentences, values=rows.reshape(-1))
        counts = _counts(self.tokens)
        entries_kept = np.repeat(tokens_kept, counts)
        kept_part = Encoded(
            sentences,
            _offsets(counts[tokens_kept]),
            self.features[entries_kept],
            None if self.values is None else self.values[entries_kept],
            self.feature_count,
        )
        if self.observation_offsets is None or self.observations is None:
            return kept_part
        counts = _counts(self.observation_offsets)
        return dataclasses.replace(
            kept_part,
            observation_offsets=_offsets(counts[tokens_kept]),
            observations=self.observations[np.repeat(tokens_kept, counts)],
        )


def _counts(offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    return offsets[1:].astype(np.int64) - offsets[:-1].astype(np.int64)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)


class FeatureSet(Protocol):
    """Turns a kind of source into arrays, learns its vocabulary when fitted, and can be stored in a model."""

    @property
    def kind(self) -> str:
        """The kind that a model file names, a key of `STORED`."""

    @property
    def name(self) -> str:
        """The name that users see."""

    @property
    def feature_count(self) -> int:
        """Number of features."""

    def fit(self, source: Any) -> Encoded:
        """Learn what features there are and encode the training sentences."""

    def transform(self, source: Any) -> Encoded:
        """Encode other sentences; features that training did not see are left out."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `load` makes the same feature set."""

    def describe(self, feature: int) -> str:
        """Name a feature."""


def keep_frequent(
    vocabulary: _core.Vocabulary, features: NDArray[np.uint32], min_count: int
) -> tuple[_core.Vocabulary, NDArray[np.uint32]]:
    """Renumber features by falling frequency and drop those seen fewer than `min_count` times.

    Frequent features share pages and cache lines then, and lie at the front of the weights. Dropped features become
    `UNKNOWN`.

    Examples
    --------
    >>> words = _core.Vocabulary()
    >>> numbers = words.encode_strings(["a", "b", "b"], grow=True)
    >>> kept, numbers = keep_frequent(words, numbers, min_count=2)
    >>> kept.name(0), numbers.tolist()
    ('b', [4294967295, 0, 0])
    """
    counts = np.bincount(features, minlength=len(vocabulary))
    by_count = np.argsort(-counts, kind="stable")
    order = by_count[counts[by_count] >= min_count].astype(np.uint32)
    rank = np.full(len(vocabulary), UNKNOWN, dtype=np.uint32)
    rank[order] = np.arange(order.size, dtype=np.uint32)
    return vocabulary.selected(order), rank[features]


def drop_unknown(
    tokens: NDArray[np.uint64], features: NDArray[np.uint32], values: NDArray[np.float32] | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32] | None]:
    """Remove the features numbered `UNKNOWN` from sparse rows."""
    known = features != UNKNOWN
    if known.all():
        return tokens, features, values
    before = np.concatenate([[0], np.cumsum(known)]).astype(np.uint64)
    return before[tokens], features[known], None if values is None else values[known]
