"""Sentences as users give them, checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from marginloom.errors import InputError
from marginloom.io.columns import FEATS
from marginloom.io.names import shown
from marginloom.tasks.relations.sentences import NO_ENTITY, POS, Corpus, Relation, Sentence

#: How many spans a sentence may have: pairs of them grow with the square.
MOST_SPANS = 2_000


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
    feats = _strings(record, FEATS, place, required=False)
    if feats is not None and len(feats) != len(tokens):
        raise InputError(
            f"{place}: found {_counted(len(feats), 'cell')} in 'feats' and {_counted(len(tokens), 'token')}, expected "
            "as many; give one such as Case=Nom for every token, or _ where there is nothing, or leave out 'feats'"
        )
    if not spans and not labelled:
        return Sentence(place, record, tokens, pos, [], [], None, None, feats)
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
    return Sentence(place, record, tokens, pos, [found[number] for number in given], given, types, relations, feats)


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
        if name == NO_ENTITY:
            raise InputError(
                f"{here}: found the type {name!r}, which says that there is no relation; leave it out, or rename it"
            )
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
