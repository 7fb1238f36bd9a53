"""What a relation extractor is trained on, and how."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from marginloom.errors import InputError, InputWarning
from marginloom.tasks.base.model import Prepared, Problem
from marginloom.tasks.relations.cut_searches import CutSearches
from marginloom.tasks.relations.evaluator import Labelled
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.gold import fitting_gold
from marginloom.tasks.relations.model import MOST_NAMES, TYPE_CONSTRAINTS, RelationsModel
from marginloom.tasks.relations.outputs import Outputs
from marginloom.tasks.relations.sentences import Corpus, pair_row
from marginloom.tasks.relations.task import Losses, RelationsTask, Solver
from marginloom.tasks.relations.type_table import Line, TableLine, checked_table, described, learnt_table
from marginloom.training.callbacks import Callback
from marginloom.training.checks import checked_weights
from marginloom.training.run import Run
from marginloom.training.spec import RunSpec


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelationsProblem(Problem[RelationsModel]):
    """Sentences with their entities and relations, and what to make of them.

    Attributes
    ----------
    training : Corpus
        Sentences to learn from.
    features : SpanFeatureSet
        A new one; it learns its vocabularies here.
    relation_types : list of TableLine or None
        The table of types; learnt from training if None.
    type_constraints : {"both", "predict", "none"}
        Where the table counts.
    losses : Losses
        What wrong decisions cost.
    solver : Solver
        How the best output is found.
    invalid_gold : {"error", "repair", "skip"}
        What to do with gold that cannot be predicted, see `fitting_gold`.
    tell : callable or None
        Is given a table that was learnt, in a line.
    """

    training: Corpus
    features: SpanFeatureSet
    relation_types: Sequence[TableLine] | None = None
    type_constraints: str = "both"
    losses: Losses = dataclasses.field(default_factory=Losses)
    solver: Solver = dataclasses.field(default_factory=Solver)
    invalid_gold: str = "error"
    tell: Callable[[str], None] | None = None

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training sentences and how many there are."""
        return Labelled(self.training), len(self.training.sentences)

    def prepare(self, spec: RunSpec) -> Prepared[RelationsModel]:
        """Settle the table, check gold against it, number types and relations, and learn features."""
        check_type_constraints(self.type_constraints, self.relation_types is not None)
        types, relations = _names_of(self.training)
        table = self._table(types, relations)
        checks_types = table if self.relation_types is not None else None
        gold = fitting_gold(self.training, None if checks_types is None else set(checks_types), self.invalid_gold)
        corpus = gold.corpus
        if not any(one.spans for one in corpus.sentences):
            raise InputError("the training sentences have no entity, so there is nothing to learn; give entities")
        if not any(one.relations for one in corpus.sentences):
            text = "the training sentences have no relation, so that none will be predicted"
            warnings.warn(InputWarning(text), stacklevel=4)
        encoded = self.features.fit(corpus)
        model = RelationsModel(
            features=self.features,
            types=types,
            relations=relations,
            table=table,
            type_constraints=self.type_constraints,
            losses=self.losses,
            solver=self.solver,
        )
        model.settings = {
            "invalid_gold": self.invalid_gold,
            "min_count": self.features.min_count,
            "relation_types_given": self.relation_types is not None,
        }
        space = model.constrained_space if self.type_constraints == "both" else model.free_space
        outputs = _numbered_gold(corpus, types, relations)
        task = RelationsTask(encoded, model.counts, space, self.losses, self.solver, outputs)
        weights = spec.sample_weight
        if weights is not None and gold.kept is not None:
            weights = checked_weights(weights, gold.kept.size)[gold.kept]
        callbacks = [*spec.callbacks, CutSearches(task)]
        if self.relation_types is None and self.tell is not None and table and self.type_constraints != "none":
            callbacks.insert(0, TableLearnt(self.tell, f"relation types, learnt from training: {described(table)}"))
        return Prepared(model, task, dataclasses.replace(spec, sample_weight=weights, callbacks=callbacks))

    def _table(self, types: Sequence[str], relations: Sequence[str]) -> list[Line]:
        if self.relation_types is not None:
            return checked_table(self.relation_types, types, relations)
        return learnt_table(self.training)


def check_type_constraints(type_constraints: str, has_table: bool) -> None:
    """Raise `InputError` unless this says where a table counts, and a table that was given counts somewhere."""
    if type_constraints not in TYPE_CONSTRAINTS:
        raise InputError(f"type_constraints must be one of {', '.join(TYPE_CONSTRAINTS)}, not {type_constraints!r}")
    if has_table and type_constraints == "none":
        raise InputError(
            "type_constraints is none, so that the table in relation_types (--relation-types) has no effect; leave out "
            "one of them"
        )


def _names_of(corpus: Corpus) -> tuple[list[str], list[str]]:
    """Return the types and relations of gold, in order."""
    types: set[str] = set()
    relations: set[str] = set()
    for sentence in corpus.sentences:
        own, between = sentence.gold
        types.update(own)
        relations.update(relation.type for relation in between)
    for names, what in ((types, "types of entities"), (relations, "types of relations")):
        if len(names) > MOST_NAMES:
            raise InputError(f"found {len(names)} {what}, expected at most {MOST_NAMES}; merge some of them")
    return sorted(types), sorted(relations)


def _numbered_gold(corpus: Corpus, types: Sequence[str], relations: Sequence[str]) -> Outputs:
    type_of = {name: number for number, name in enumerate(types)}
    label_of = {name: number for number, name in enumerate(relations, 1)}
    labels = np.zeros(corpus.pair_offsets[-1], dtype=np.uint8)
    numbers: list[int] = []
    for sentence, first in zip(corpus.sentences, corpus.pair_offsets.tolist(), strict=False):
        own, between = sentence.gold
        numbers += [type_of[name] for name in own]
        for relation in between:
            labels[first + pair_row(len(own), relation.head, relation.tail)] = label_of[relation.type]
    return Outputs(np.array(numbers, dtype=np.uint8), labels)


class TableLearnt(Callback):
    """Tells before training which table of types was learnt."""

    def __init__(self, tell: Callable[[str], None], text: str) -> None:
        self._tell, self._text = tell, text

    def before_training(self, run: Run) -> None:
        """Tell it."""
        self._tell(self._text)
