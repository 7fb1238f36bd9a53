"""Sentences with spans, as users give them and as arrays."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.columns import FORM, NamedRows
from marginloom.io.names import shown

#: The name of the column of tags, as templates and taggers know it.
POS = "pos"
#: How many spans a sentence may have: pairs of them grow with the square.
MOST_SPANS = 2_000


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
    """

    place: str
    record: Mapping[str, Any]
    tokens: list[str]
    pos: list[str] | None
    spans: list[tuple[int, int]]
    given: list[int]
    types: list[str] | None
    relations: list[Relation] | None

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
    >>> corpus = Corpus([checked_sentence({"tokens": ["Bo", "ran"], "entities": [{"start": 0, "end": 1}]}, "X")])
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

    def rows(self, with_pos: bool) -> NamedRows:
        """Return the sentences as rows of columns: words, and tags if asked for.

        Raises
        ------
        InputError
            If a sentence has no tags.
        """
        if not with_pos:
            return NamedRows([one.tokens for one in self.sentences], (FORM,))
        for one in self.sentences:
            if one.tokens and one.pos is None:
                raise InputError(
                    f"{one.place}: found no field 'pos', expected the tags of the {len(one.tokens)} tokens: the "
                    "features of the model read them, since its training data have them; add them, or train without"
                )
        return NamedRows([list(zip(one.tokens, one.pos or [], strict=True)) for one in self.sentences], (FORM, POS))


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


def checked_sentence(record: Any, place: str, *, labelled: bool = False, spans: bool = True) -> Sentence:
    """Return a sentence of a user's dict; `InputError`, with the place, if it is not what it has to be.

    Parameters
    ----------
    record : mapping
        ``tokens``, ``entities`` with ``start`` and ``end``, and optionally ``pos``. With `labelled` entities also have
        a ``type``, and ``relations`` have ``type``, ``head`` and ``tail``.
    place : str
        Where it comes from.
    labelled : bool
        Whether gold types and relations must be there.
    spans : bool
        Whether ``entities`` must be there.

    Examples
    --------
    >>> checked_sentence({"tokens": ["a"], "entities": [{"start": 0, "end": 2}]}, "X: sentence 0")
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: X: sentence 0, entity 0: found the tokens 0 to 2 of a sentence of 1 token; start is \
the first token, from 0, and end is one past the last token of the span
    """
    if not isinstance(record, Mapping):
        raise InputError(
            f"{place}: found {_kind(record)}, expected an object with the fields tokens, entities and relations"
        )
    tokens = _strings(record, "tokens", place, required=True)
    assert tokens is not None
    pos = _strings(record, POS, place, required=False)
    if pos is not None and len(pos) != len(tokens):
        raise InputError(
            f"{place}: found {_counted(len(pos), 'tag')} in 'pos' and {_counted(len(tokens), 'token')}, expected as "
            "many; give a tag for every token, or leave out 'pos'"
        )
    if not spans and not labelled:
        return Sentence(place, record, tokens, pos, [], [], None, None)
    entities = _objects(record, "entities", place)
    found = [_span(entity, f"{place}, entity {number}", len(tokens)) for number, entity in enumerate(entities)]
    if len(found) > MOST_SPANS:
        raise InputError(f"{place}: found {len(found):,} entities, expected at most {MOST_SPANS:,}; split the sentence")
    given = sorted(range(len(found)), key=found.__getitem__)
    for before, after in itertools.pairwise(given):
        if found[after][0] < found[before][1]:
            raise InputError(
                f"{place}, entity {max(before, after)}: found the tokens {_range(found[max(before, after)])}, which "
                f"{'repeat' if found[before] == found[after] else 'overlap'} those of entity {min(before, after)} "
                f"({_range(found[min(before, after)])}); remove one of them, since entities must not share tokens"
            )
    types = relations = None
    if labelled:
        types = [_name(entities[number], "type", f"{place}, entity {number}") for number in given]
        relations = _relations(record, place, given)
    return Sentence(place, record, tokens, pos, [found[number] for number in given], given, types, relations)


def checked_sentences(X: Any, y: Any = None, *, labelled: bool = False, spans: bool = True) -> Corpus:
    """Return the sentences that Python users give; `y` has gold entities and relations where `X` has none.

    Examples
    --------
    >>> len(checked_sentences([{"tokens": [], "entities": []}]).sentences)
    1
    """
    records = _listed(X, "X")
    if y is not None:
        gold = _listed(y, "y")
        if len(gold) != len(records):
            raise InputError(f"X has {len(records)} sentences and y has {len(gold)}; give both for the same sentences")
        records = [_joined(one, truth, number) for number, (one, truth) in enumerate(zip(records, gold, strict=True))]
    return Corpus(
        [
            checked_sentence(record, f"X: sentence {number}", labelled=labelled, spans=spans)
            for number, record in enumerate(records)
        ]
    )


def _joined(record: Any, gold: Any, number: int) -> Any:
    if not isinstance(record, Mapping):
        return record
    if not isinstance(gold, Mapping):
        raise InputError(
            f"y: sentence {number}: found {_kind(gold)}, expected a dict with entities and relations, as predict "
            "returns them"
        )
    return {**record, **{name: gold[name] for name in ("entities", "relations") if name in gold}}


def _listed(sentences: Any, name: str) -> list[Any]:
    if isinstance(sentences, (str, bytes, Mapping)) or not isinstance(sentences, Iterable):
        raise InputError(f"{name} is {_kind(sentences)}; give a list of sentences, each a dict")
    return list(sentences)


def _strings(record: Mapping[str, Any], name: str, place: str, required: bool) -> list[str] | None:
    value: Any = record.get(name)
    if value is None and not required:
        return None
    if name not in record:
        raise InputError(f"{place}: found no field {name!r}, expected a list of strings; add it")
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    strings = list(value) if is_list else []
    if not is_list or not all(isinstance(text, str) for text in strings):
        wrong = next((_kind(text) for text in strings if not isinstance(text, str)), None)
        found = _kind(value) if wrong is None else f"a list with {wrong}"
        raise InputError(f"{place}: found {found} in {name!r}, expected a list of strings; give one for every token")
    for text in strings:
        if shown(text) != text and not text.isprintable():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InputError(
                    f"{place}: found {shown(text)!r} in {name!r}, which UTF-8 cannot hold; mend the text"
                ) from None
    return [str(text) for text in strings]


def _objects(record: Mapping[str, Any], name: str, place: str) -> list[Mapping[str, Any]]:
    if name not in record:
        advice = "add it; [] says that there are none"
        if name == "entities":
            advice += ", and --spans MODEL (spans=) has a tagger find them in prediction"
        raise InputError(f"{place}: found no field {name!r}, expected a list of objects; {advice}")
    value: Any = record[name]
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    objects = list(value) if is_list else []
    if not is_list or not all(isinstance(item, Mapping) for item in objects):
        wrong = next((_kind(item) for item in objects if not isinstance(item, Mapping)), None)
        found = _kind(value) if wrong is None else f"a list with {wrong}"
        raise InputError(f"{place}: found {found} in {name!r}, expected a list of objects; mend it")
    return objects


def _span(entity: Mapping[str, Any], place: str, tokens: int) -> tuple[int, int]:
    start, end = _number(entity, "start", place), _number(entity, "end", place)
    if start == end:
        raise InputError(
            f"{place}: found an empty span, from token {start} to before token {end}; end is one past the "
            "last token of the span, so it must be larger than start"
        )
    if not 0 <= start < end <= tokens:
        raise InputError(
            f"{place}: found the tokens {start} to {end} of a sentence of {_counted(tokens, 'token')}; start is the "
            "first token, from 0, and end is one past the last token of the span"
        )
    return start, end


def _relations(record: Mapping[str, Any], place: str, given: list[int]) -> list[Relation]:
    place_of = {number: place for place, number in enumerate(given)}
    found = []
    for number, relation in enumerate(_objects(record, "relations", place)):
        here = f"{place}, relation {number}"
        name = _name(relation, "type", here)
        ends = [_number(relation, end, here) for end in ("head", "tail")]
        for end in ends:
            if end not in place_of:
                raise InputError(
                    f"{here}: found entity {end} as an argument, and the sentence has "
                    f"{_counted(len(given), 'entity', 'entities')}, which count from 0; mend the relation"
                )
        if ends[0] == ends[1]:
            raise InputError(
                f"{here}: found entity {ends[0]} as both head and tail, expected two different ones; mend the relation"
            )
        found.append(Relation(name, place_of[ends[0]], place_of[ends[1]]))
    return found


def _number(item: Mapping[str, Any], name: str, place: str) -> int:
    if name not in item:
        raise InputError(f"{place}: found no field {name!r}, expected a whole number; add it")
    value = item[name]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{place}: found {_kind(value)} in {name!r}, expected a whole number; mend it")
    return int(value)


def _name(item: Mapping[str, Any], name: str, place: str) -> str:
    if name not in item:
        raise InputError(f"{place}: found no field {name!r}, expected a string; add it")
    value = item[name]
    if not isinstance(value, str) or not value.strip() or shown(value) != value:
        found = repr(value)[:40] if isinstance(value, str) else _kind(value)
        raise InputError(f"{place}: found {found} in {name!r}, expected a name; mend it")
    return str(value)


def _range(span: tuple[int, int]) -> str:
    return f"{span[0]} to {span[1]}"


def _counted(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def _kind(value: Any) -> str:
    """Say what a value is, in words that users of JSON and of Python know."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float, np.number)):
        return f"the number {value!r:.40}"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, (list, tuple)) else f"a value of type {type(value).__name__}"
