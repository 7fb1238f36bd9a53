"""Generated sentences with entities and relations, for examples and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginloom.common.parameters import checked

_PEOPLE = (("Ann",), ("Bo", "Lind"), ("Mr.", "Cole"), ("Dora", "Reyes"), ("Emil",), ("Faye", "Stone"))
_PLACES = (("Ulm",), ("New", "Haven"), ("Oslo",), ("Cape", "Town"), ("Riga",), ("Stone",))
_FIRMS = (("Acme", "Corp."), ("Lind", "Brothers"), ("Reyes", "Inc."), ("Oslo", "Bank"), ("Cole", "Ltd."))
_OTHERS = (("1998",), ("May", "3"), ("$", "40"), ("Fridays",))
_NAMES = {"Peop": _PEOPLE, "Loc": _PLACES, "Org": _FIRMS, "Other": _OTHERS}
_TAGS = {"Peop": "NNP", "Loc": "NNP", "Org": "NNP", "Other": "CD"}

#: Clauses: words, and arguments as (type, place); relations connect arguments by their places.
_CLAUSES: tuple[tuple[str, dict[str, str], tuple[tuple[str, int, int], ...]], ...] = (
    ("{a} lives in {b}", {"a": "Peop", "b": "Loc"}, (("Live_In", 0, 1),)),
    ("{a} of {b} spoke", {"a": "Peop", "b": "Loc"}, (("Live_In", 0, 1),)),
    ("{a} met {b}", {"a": "Peop", "b": "Peop"}, ()),
    ("{a} works for {b}", {"a": "Peop", "b": "Org"}, (("Work_For", 0, 1),)),
    (
        "{a} , head of {b} in {c} , left",
        {"a": "Peop", "b": "Org", "c": "Loc"},
        (("Work_For", 0, 1), ("OrgBased_In", 1, 2)),
    ),
    ("the {a} office of {b} closed", {"a": "Loc", "b": "Org"}, (("OrgBased_In", 1, 0),)),
    ("{a} sued {b}", {"a": "Org", "b": "Peop"}, ()),
    ("{a} is near {b}", {"a": "Loc", "b": "Loc"}, ()),
    ("{a} , {b} , was quiet", {"a": "Loc", "b": "Loc"}, (("Located_In", 0, 1),)),
    ("{a} shot {b}", {"a": "Peop", "b": "Peop"}, (("Kill", 0, 1),)),
    ("{a} was shot by {b}", {"a": "Peop", "b": "Peop"}, (("Kill", 1, 0),)),
    ("since {a} {b} has closed", {"a": "Other", "b": "Org"}, ()),
    ("it rained on {a}", {"a": "Other"}, ()),
    ("nobody came", {}, ()),
)
_WORD_TAGS = {"in": "IN", "of": "IN", "for": "IN", "by": "IN", "on": "IN", "since": "IN", "near": "IN", "the": "DT"}


def make_relations(sentences: int = 100, *, noise: float = 0.05, seed: int = 0) -> list[dict[str, Any]]:
    """Generate sentences with entities and relations, as `RelationExtractor.fit` takes them.

    A sentence has one or two clauses, or now and then no entity at all. Some names are those of several types, so that
    the words around them tell, and what they are related to.

    Parameters
    ----------
    sentences : int
        How many.
    noise : float
        Share of relations that are left out of the gold ones, so that not everything can be learnt.
    seed : int
        Seed of the generator; the same one gives the same sentences.

    Returns
    -------
    list of dict
        ``tokens``, ``pos``, ``entities`` and ``relations``.

    Examples
    --------
    >>> first = make_relations(1, seed=3)[0]
    >>> sorted(first), len(first["tokens"]) == len(first["pos"])
    (['entities', 'pos', 'relations', 'tokens'], True)
    """
    count = checked("sentences", sentences, "count")
    share = checked("noise", noise, "share")
    rng = np.random.default_rng(checked("seed", seed, "seed"))
    return [_sentence(rng, share) for _ in range(count)]


def _sentence(rng: np.random.Generator, noise: float) -> dict[str, Any]:
    tokens: list[str] = []
    pos: list[str] = []
    entities: list[dict[str, Any]] = []
    relations: list[dict[str, Any]] = []
    clauses = int(rng.integers(1, 3))
    for number in range(clauses):
        if number:
            tokens.append("and")
            pos.append("CC")
        _add_clause(rng, noise, tokens, pos, entities, relations)
    tokens.append(".")
    pos.append(".")
    return {"tokens": tokens, "pos": pos, "entities": entities, "relations": relations}


def _add_clause(
    rng: np.random.Generator,
    noise: float,
    tokens: list[str],
    pos: list[str],
    entities: list[dict[str, Any]],
    relations: list[dict[str, Any]],
) -> None:
    text, arguments, between = _CLAUSES[int(rng.integers(len(_CLAUSES)))]
    place_of: dict[str, int] = {}
    for word in text.split():
        name = word.strip("{}")
        if not word.startswith("{"):
            tokens.append(word)
            pos.append(word if word == "," else _WORD_TAGS.get(word, "VB"))
            continue
        kind = arguments[name]
        words = _NAMES[kind][int(rng.integers(len(_NAMES[kind])))]
        place_of[name] = len(entities)
        entities.append({"type": kind, "start": len(tokens), "end": len(tokens) + len(words)})
        tokens += words
        pos += [_TAGS[kind]] * len(words)
    names = sorted(place_of)
    for kind, head, tail in between:
        if rng.random() >= noise:
            relations.append({"type": kind, "head": place_of[names[head]], "tail": place_of[names[tail]]})
