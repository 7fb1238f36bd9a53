"""Gold relations that cannot be predicted, and what to do with them."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError, InputWarning
from marginloom.tasks.relations.sentences import NO_ENTITY, Corpus, Relation, Sentence
from marginloom.tasks.relations.type_table import Line

INVALID_GOLD = ("error", "repair", "skip")


@dataclasses.dataclass(frozen=True)
class FittingGold:
    """Sentences whose gold can be predicted.

    Attributes
    ----------
    corpus : Corpus
        The sentences that are kept.
    kept : array of bool or None
        For each sentence that was given whether it is there; None if all are.
    """

    corpus: Corpus
    kept: NDArray[np.bool_] | None = None


def fitting_gold(corpus: Corpus, table: Collection[Line] | None, invalid_gold: str) -> FittingGold:
    """Return sentences whose gold can be predicted, having dealt with those whose gold cannot.

    Two relations of one ordered pair cannot both be predicted, and neither can one that the table forbids (None is no
    table), or one of a span that is no entity. ``"repair"`` drops such relations, of several of a pair all but the
    first; ``"skip"`` leaves out sentences that have one. Both say in an `InputWarning` how many there were.

    Raises
    ------
    InputError
        With ``"error"``, naming the first ones.
    """
    if invalid_gold not in INVALID_GOLD:
        raise InputError(f"invalid_gold must be one of {', '.join(INVALID_GOLD)}, not {invalid_gold!r}")
    faults = [_faults(sentence, table) for sentence in corpus.sentences]
    count = sum(map(len, faults))
    wrong = [place for place, found in enumerate(faults) if found]
    if not wrong:
        return FittingGold(corpus)
    many = f"{count:,} gold {'relation' if count == 1 else 'relations'}"
    if invalid_gold == "error":
        shown = [f"{corpus.sentences[place].place}: {next(iter(faults[place].values()))}" for place in wrong[:3]]
        more = f" and {len(wrong) - 3:,} more sentences" if len(wrong) > 3 else ""
        raise InputError(
            f"{many} cannot be predicted: {'; '.join(shown)}{more}; mend them, or have them repaired or skipped "
            "(invalid_gold=, --invalid-gold repair|skip)"
        )
    sentences = f"{len(wrong):,} of {len(corpus.sentences):,} sentences"
    if invalid_gold == "skip":
        kept = np.ones(len(corpus.sentences), dtype=bool)
        kept[wrong] = False
        if not kept.any():
            raise InputError(f"{many} of {sentences} cannot be predicted, and skipping these leaves no sentence")
        _warn(f"{many} of {sentences} cannot be predicted: the sentences are left out")
        return FittingGold(Corpus([one for one, stays in zip(corpus.sentences, kept, strict=True) if stays]), kept)
    _warn(f"{many} of {sentences} cannot be predicted: dropped")
    return FittingGold(Corpus([_repaired(*pair) for pair in zip(corpus.sentences, faults, strict=True)]))


def _faults(sentence: Sentence, table: Collection[Line] | None) -> dict[int, str]:
    """Return what is wrong with the relations of a sentence, by their numbers."""
    types, relations = sentence.gold
    first: dict[tuple[int, int], Relation] = {}
    found = {}
    for number, relation in enumerate(relations):
        pair = (relation.head, relation.tail)
        ends = f"entity {sentence.given[relation.head]} to entity {sentence.given[relation.tail]}"
        if pair in first:
            found[number] = f"found the relations {first[pair].type} and {relation.type}, both from {ends}"
            continue
        kinds = types[relation.head], types[relation.tail]
        if NO_ENTITY in kinds:
            found[number] = f"found the relation {relation.type} from {ends}, one of which has the type {NO_ENTITY!r}"
            continue
        if table is not None and (relation.type, *kinds) not in table:
            found[number] = (
                f"found the relation {relation.type} from {ends}, whose types {kinds[0]} and {kinds[1]} the table "
                "does not allow for it"
            )
            continue
        first[pair] = relation
    return found


def _repaired(sentence: Sentence, faults: dict[int, str]) -> Sentence:
    if not faults:
        return sentence
    _, relations = sentence.gold
    kept = [relation for number, relation in enumerate(relations) if number not in faults]
    return dataclasses.replace(sentence, relations=kept)


def _warn(text: str) -> None:
    warnings.warn(InputWarning(text), stacklevel=3)
