"""Scores of entities and relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from marginloom.errors import InputError
from marginloom.tasks.base.metrics import precision_recall_f1, scores_per_label
from marginloom.tasks.relations.sentences import NO_ENTITY

#: The scores that are worth a place in every row of a trace; the first one is what early stopping looks at.
SHORT = ("relation_f1", "relation_f1_strict", "entity_f1", "entity_macro_f1", "relation_macro_f1")

#: An entity is (type, start, end); a relation (type, head, tail), whose ends are entities.
Entity: TypeAlias = tuple[str, int, int]
Found: TypeAlias = tuple[set[Entity], set[tuple[str, Entity, Entity]]]


def relation_scores(gold: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Score predicted entities and relations against gold ones, sentence by sentence.

    Parameters
    ----------
    gold, predicted : sequence of dict
        ``entities``, each with ``type``, ``start`` and ``end``, and ``relations``, each with ``type`` and the numbers
        of its ``head`` and ``tail`` among the entities. The spans need not be the same.

    Returns
    -------
    dict
        ``entity_f1``: an entity is right with its span and type. ``relation_f1``: a relation is right with its type and
        the spans of both arguments; ``relation_f1_strict`` asks for their types too. These three are over all types
        together. ``entity_macro_f1`` and ``relation_macro_f1``: means over the types that occur in gold.
        ``entity_precision`` and so on belong to the three; ``per_label`` has precision, recall, F1 and support of every
        type of entity and of relation. Entities of the type ``none`` count as no entities.

    Raises
    ------
    InputError
        If the two do not have the same number of sentences.

    Examples
    --------
    >>> entities = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 2, "end": 3}]
    >>> gold = [{"entities": entities, "relations": [{"type": "Live_In", "head": 0, "tail": 1}]}]
    >>> scores = relation_scores(gold, [{"entities": entities, "relations": []}])
    >>> scores["entity_f1"], scores["relation_f1"]
    (1.0, 0.0)
    """
    if len(gold) != len(predicted):
        raise InputError(
            f"gold has {len(gold)} sentences and predicted has {len(predicted)}; give both for the same sentences"
        )
    return scores_of(map(found_in, gold), map(found_in, predicted))


def found_in(sentence: Mapping[str, Any]) -> Found:
    """Return the entities and relations of a sentence as sets.

    Examples
    --------
    >>> found_in({"entities": [{"type": "Loc", "start": 0, "end": 1}], "relations": []})
    ({('Loc', 0, 1)}, set())
    """
    entities = [(str(one["type"]), int(one["start"]), int(one["end"])) for one in sentence["entities"]]
    relations = {
        (str(one["type"]), entities[int(one["head"])], entities[int(one["tail"])]) for one in sentence["relations"]
    }
    return {entity for entity in entities if entity[0] != NO_ENTITY}, relations


def scores_of(gold: Iterable[Found], predicted: Iterable[Found]) -> dict[str, Any]:
    """Return the scores of entities and relations of as many sentences, see `relation_scores`.

    Examples
    --------
    >>> scores_of([({("Loc", 0, 1)}, set())], [({("Loc", 0, 1)}, set())])["entity_f1"]
    1.0
    """
    entities, relations, strict = _Counts(), _Counts(), _Counts()
    for (truth, right), (guess, guessed) in zip(gold, predicted, strict=True):
        entities.add(truth, guess)
        relations.add({_spans_of(one) for one in right}, {_spans_of(one) for one in guessed})
        strict.add(right, guessed)
    scores: dict[str, Any] = {
        "relation_f1": relations.micro["f1"],
        "relation_f1_strict": strict.micro["f1"],
        "entity_f1": entities.micro["f1"],
        "entity_macro_f1": entities.macro_f1,
        "relation_macro_f1": relations.macro_f1,
    }
    for name, counts in (("entity", entities), ("relation", relations)):
        scores |= {f"{name}_{measure}": counts.micro[measure] for measure in ("precision", "recall")}
    return {**scores, "per_label": {**entities.per_label, **relations.per_label}}


def _spans_of(relation: tuple[str, Entity, Entity]) -> tuple[str, tuple[int, int], tuple[int, int]]:
    name, head, tail = relation
    return name, head[1:], tail[1:]


class _Counts:
    """How often labels are in gold, in predictions, and in both."""

    def __init__(self) -> None:
        self._both: Counter[str] = Counter()
        self._predicted: Counter[str] = Counter()
        self._gold: Counter[str] = Counter()

    def add(self, gold: set[Any], predicted: set[Any]) -> None:
        """Count the items of a sentence, whose first part is their label."""
        self._both.update(item[0] for item in gold & predicted)
        self._predicted.update(item[0] for item in predicted)
        self._gold.update(item[0] for item in gold)

    @property
    def micro(self) -> dict[str, float]:
        """The scores over all labels together."""
        return precision_recall_f1(self._both.total(), self._predicted.total(), self._gold.total())

    @property
    def per_label(self) -> dict[str, dict[str, Any]]:
        """The scores of every label."""
        names = sorted({*self._gold, *self._predicted})
        return scores_per_label(
            names, *([counts[name] for name in names] for counts in (self._both, self._predicted, self._gold))
        )

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels that occur in gold."""
        rows = [row["f1"] for row in self.per_label.values() if row["support"]]
        return float(sum(rows) / len(rows)) if rows else 0.0
