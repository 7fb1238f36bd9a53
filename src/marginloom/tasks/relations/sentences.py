"""Sentences with spans, and the same as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.columns import FEATS, FORM, NamedRows

#: The name of the column of tags, as templates and taggers know it.
POS = "pos"
#: A type that gold may give to spans which are no entities: it takes part in no relation, and counts as nothing found.
NO_ENTITY = "none"


class Relation(NamedTuple):
    """A relation between two spans of a sentence, numbered in the order of the text."""

    type: str
    head: int
    tail: int


@dataclasses.dataclass(frozen=True)
class Sentence:
    """One sentence, checked.

    Attributes
    ----------
    place : str
        Where it comes from, for messages.
    record : mapping
        As it was given.
    tokens : list of str
        Its words.
    pos : list of str or None
        Their tags.
    spans : list of tuple
        First token and one past the last token of every span, in the order of the text.
    given : list of int
        For every span its number as it was given.
    types : list of str or None
        Gold types of the spans, if it has them.
    relations : list of Relation or None
        Gold relations, if it has them.
    feats : list of str or None
        Morphological features of the words, as CoNLL-U has them.
    """

    place: str
    record: Mapping[str, Any]
    tokens: list[str]
    pos: list[str] | None
    spans: list[tuple[int, int]]
    given: list[int]
    types: list[str] | None
    relations: list[Relation] | None
    feats: list[str] | None = None

    @property
    def gold(self) -> tuple[list[str], list[Relation]]:
        """The gold types and relations of a sentence that was checked to have them."""
        assert self.types is not None
        assert self.relations is not None
        return self.types, self.relations

    def with_spans(self, spans: Sequence[tuple[int, int]]) -> Sentence:
        """Return the same sentence with other spans and nothing known about them."""
        inside = sorted(spans)
        return dataclasses.replace(self, spans=inside, given=list(range(len(inside))), types=None, relations=None)


class SpanTable(NamedTuple):
    """The spans of all sentences, in a row."""

    offsets: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]

    @property
    def core(self) -> _core.SpanArrays:
        """The same as the native part takes it."""
        return _core.SpanArrays(offsets=self.offsets, starts=self.starts, ends=self.ends)


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Sentences in a row.

    Examples
    --------
    >>> corpus = Corpus([Sentence("X", {}, ["Bo", "ran"], None, [(0, 1)], [0], None, None)])
    >>> corpus.spans.starts.tolist(), corpus.pair_offsets.tolist()
    ([0], [0, 0])
    """

    sentences: Sequence[Sentence]

    @cached_property
    def spans(self) -> SpanTable:
        """Where the spans are."""
        flat = np.array([span for one in self.sentences for span in one.spans], dtype=np.uint32).reshape(-1, 2)
        counts = [len(one.spans) for one in self.sentences]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
        return SpanTable(offsets, np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1]))

    @cached_property
    def pair_offsets(self) -> NDArray[np.int64]:
        """Where the ordered pairs of every sentence begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(pair_counts(self.spans.offsets))]).astype(np.int64)

    @property
    def has_pos(self) -> bool:
        """Whether every sentence that has tokens has tags."""
        return any(one.tokens for one in self.sentences) and all(
            one.pos is not None for one in self.sentences if one.tokens
        )

    def rows(self, with_pos: bool, with_feats: bool = False) -> NamedRows:
        """Return the sentences as rows of columns: words, and tags and morphological features if asked for.

        Raises
        ------
        InputError
            If a sentence has no tags, or no features.
        """
        names = (*((POS,) if with_pos else ()), *((FEATS,) if with_feats else ()))
        if not names:
            return NamedRows([one.tokens for one in self.sentences], (FORM,))
        rows = []
        for one in self.sentences:
            columns = [getattr(one, name) for name in names]
            for name, column in zip(names, columns, strict=True):
                if one.tokens and column is None:
                    raise InputError(_missing(one, name))
            rows.append(list(zip(one.tokens, *(column or [] for column in columns), strict=True)))
        return NamedRows(rows, (FORM, *names))


def _missing(sentence: Sentence, name: str) -> str:
    """Say that a sentence lacks a field that templates read."""
    if name == FEATS:
        return (
            f"{sentence.place}: found no field 'feats', expected the morphological features of the "
            f"{len(sentence.tokens)} tokens, which templates of the model read; add them, or train without these "
            "templates"
        )
    return (
        f"{sentence.place}: found no field 'pos', expected the tags of the {len(sentence.tokens)} tokens: the "
        "features of the model read them, since its training data have them; add them, or train without"
    )


def span_counts(offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of spans of every sentence.

    Examples
    --------
    >>> span_counts(np.array([0, 2, 2], np.uint64)).tolist()
    [2, 0]
    """
    bounds = offsets.astype(np.int64)
    return bounds[1:] - bounds[:-1]


def pair_counts(offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of ordered pairs of different spans of every sentence.

    Examples
    --------
    >>> pair_counts(np.array([0, 3], np.uint64)).tolist()
    [6]
    """
    counts = span_counts(offsets)
    return counts * (counts - 1)


def pair_row(count: int, head: int, tail: int) -> int:
    """Return the number of an ordered pair among those of a sentence with so many spans.

    Examples
    --------
    >>> [pair_row(3, head, tail) for head, tail in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]]
    [0, 1, 2, 3, 4, 5]
    """
    return head * (count - 1) + tail - (tail > head)
