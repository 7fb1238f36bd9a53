"""A relation extractor as a whole: features, types, the table and weights; for the estimator and the command line."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE
from marginloom.errors import InputError, InputWarning, ScoreWarning
from marginloom.io.model import Tensors
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.model import Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.gold import fitting_gold
from marginloom.tasks.relations.metrics import NO_ENTITY, SHORT, Entity, Found, scores_of
from marginloom.tasks.relations.sentences import Corpus, Sentence, pair_row
from marginloom.tasks.relations.spans import Tagger, found_spans
from marginloom.tasks.relations.task import Losses, Outputs, RelationsTask, Solver, Space
from marginloom.tasks.relations.type_table import Line, TableLine, checked_table, described, learnt_table
from marginloom.training.callbacks import Callback
from marginloom.training.checks import checked_weights
from marginloom.training.run import Run
from marginloom.training.spec import RunSpec

#: Where the table counts: in training and prediction, in prediction only, or never.
TYPE_CONSTRAINTS = ("both", "predict", "none")
_MOST_NAMES = 255
#: Entities of a sentence whose types are enumerated, for probabilities.
MOST_ENUMERATED = 8


@dataclasses.dataclass(kw_only=True)
class RelationsModel(Model):
    """A trained relation extractor.

    Attributes
    ----------
    features : SpanFeatureSet
        What spans and pairs are scored by.
    types, relations : list of str
        What can be predicted.
    table : list of tuple
        Relations with the types that they may connect: (relation, head type, tail type).
    type_constraints : {"both", "predict", "none"}
        Where the table counts.
    losses : Losses
        What wrong decisions cost in training.
    solver : Solver
        How the best output is found.
    """

    features: SpanFeatureSet
    types: list[str]
    relations: list[str]
    table: list[Line]
    type_constraints: str = "both"
    losses: Losses = dataclasses.field(default_factory=Losses)
    solver: Solver = dataclasses.field(default_factory=Solver)

    @property
    def space(self) -> Space:
        """Which outputs prediction has."""
        space = Space(len(self.types), len(self.relations), _numbered(self.table, self.types, self.relations))
        return space.without_constraints() if self.type_constraints == "none" else space

    @property
    def _counts(self) -> tuple[int, int]:
        counts = self.features.counts
        return counts["spans"], counts["pairs"]

    def predict(self, corpus: Corpus, n_threads: int | None = 1, spans: Tagger | None = None) -> list[dict[str, Any]]:
        """Return for every sentence its entities with their types, and its relations.

        Entities stand in the order in which they were given; those of a tagger in the order of the text.
        """
        corpus = corpus if spans is None else found_spans(spans, corpus, n_threads)
        found = self.task_of(corpus)
        outputs = found.predict(self.weights, resolve_threads(n_threads))
        warn_of_cut_searches(found)
        return [self._named(*parts) for parts in _by_sentence(corpus, outputs)]

    def predict_with_confidence(
        self, corpus: Corpus, n_threads: int | None = 1, spans: Tagger | None = None
    ) -> list[dict[str, Any]]:
        """Return the same as `predict` with a ``confidence`` for every entity and relation: its probability.

        It is None in sentences with more entities than can be enumerated, of which there is a warning.
        """
        corpus = corpus if spans is None else found_spans(spans, corpus, n_threads)
        task = self.task_of(corpus)
        found = task.core.predict(self.weights, resolve_threads(n_threads), 1)
        warn_of_cut_searches(task)
        parts = task.core.part_counts.astype(np.int64)
        values = self.confidences(task, task.choices(found), n_threads).tolist()
        warn_of_many_spans(corpus, parts)
        ends = np.cumsum(parts).tolist()
        result = []
        for i, (sentence, types, labels) in enumerate(_by_sentence(corpus, task.decoded(found))):
            own = values[ends[i] - int(parts[i]) : ends[i]]
            named = self._named(sentence, types, labels, own)
            if not own:
                for item in (*named["entities"], *named["relations"]):
                    item["confidence"] = None
            result.append(named)
        return result

    def probabilities(
        self, corpus: Corpus, n_threads: int | None = 1, spans: Tagger | None = None
    ) -> list[dict[str, Any] | None]:
        """Return for every sentence the probabilities of types and relations; None where there are too many spans."""
        corpus = corpus if spans is None else found_spans(spans, corpus, n_threads)
        task = self.task_of(corpus)
        tables = self.tables(task, n_threads)
        warn_of_many_spans(corpus, task.core.part_counts.astype(np.int64))
        return [
            self._probabilities(sentence, table) if table.size or not sentence.spans else None
            for sentence, table in zip(corpus.sentences, tables, strict=True)
        ]

    def _probabilities(self, sentence: Sentence, table: NDArray[np.float64]) -> dict[str, Any]:
        count = len(sentence.spans)
        rows, place_of = table.tolist(), {number: place for place, number in enumerate(sentence.given)}
        entities = [dict(zip(self.types, rows[place_of[number]], strict=False)) for number in range(count)]
        relations = [
            {
                "head": head,
                "tail": tail,
                "types": dict(
                    zip(
                        [None, *self.relations],
                        rows[count + pair_row(count, place_of[head], place_of[tail])],
                        strict=False,
                    )
                ),
            }
            for head in range(count)
            for tail in range(count)
            if head != tail
        ]
        return {"entities": entities, "relations": relations}

    def _named(
        self, sentence: Sentence, types: list[int], labels: list[int], confidences: list[float] | None = None
    ) -> dict[str, Any]:
        """Return the output of a sentence as users have it, with confidences of types and labels if there are any."""
        count = len(types)
        place_of = {number: place for place, number in enumerate(sentence.given)}
        entities: list[dict[str, Any]] = []
        for number in range(count):
            (start, end), name = sentence.spans[place_of[number]], self.types[types[place_of[number]]]
            entities.append({"type": name, "start": start, "end": end})
            if confidences:
                entities[-1]["confidence"] = confidences[place_of[number]]
        relations: list[dict[str, Any]] = []
        for head in range(count):
            for tail in range(count):
                row = 0 if head == tail else pair_row(count, place_of[head], place_of[tail])
                if head == tail or not labels[row]:
                    continue
                relations.append({"type": self.relations[labels[row] - 1], "head": head, "tail": tail})
                if confidences:
                    relations[-1]["confidence"] = confidences[count + row]
        return {"entities": entities, "relations": relations}

    def task_of(self, corpus: Corpus) -> RelationsTask:
        """Return the task of finding types and relations of the spans of sentences."""
        return RelationsTask(self.features.transform(corpus), self._counts, self.space, self.losses, self.solver)

    def evaluator(self, labelled: Labelled, n_threads: int | None = 1) -> RelationsEvaluator:
        """Return what scores weights of this model on sentences with gold types and relations."""
        return RelationsEvaluator(self, labelled, n_threads)

    @property
    def dimension(self) -> int:
        """Number of weights that features, types and relations ask for."""
        return self._empty_task().core.dimension

    def _empty_task(self) -> RelationsTask:
        return self.task_of(Corpus([]))

    def summary(self) -> dict[str, Any]:
        """Return name and number of the features, the types, the relations and their table, losses and the solver."""
        return {
            "features": self.features.name,
            "feature_count": self.features.counts,
            "reads_pos": self.features.reads_pos,
            "types": self.types,
            "relations": self.relations,
            "relation_types": [list(line) for line in self.table],
            "type_constraints": self.type_constraints,
            "losses": dataclasses.asdict(self.losses),
            "solver": self.solver.name,
        }

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every type, for none and for every relation the weights that are largest in size."""
        layout = self._empty_task().core
        end = layout.span_rows.count * layout.span_rows.stride
        groups = [
            (0, self.types, self.weights[:end].reshape(-1, layout.span_rows.stride)),
            (1, ["none", *self.relations], self.weights[end:].reshape(-1, layout.pair_rows.stride)),
        ]
        return [
            {
                "weight": float(rows[feature, column]),
                "feature": self.features.describe(kind, feature),
                "label": f"relation {name}" if kind else name,
            }
            for kind, names, rows in groups
            for column, name in enumerate(names)
            for feature in strongest_places(np.ascontiguousarray(rows[:, column]), count)
        ]

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return features, types, the table and options as a file has them."""
        header = {
            "types": self.types,
            "relations": self.relations,
            "relation_types": [list(line) for line in self.table],
            "type_constraints": self.type_constraints,
            "losses": dataclasses.asdict(self.losses),
            "solver": dataclasses.asdict(self.solver),
        }
        return {"relations": header}, self.features.tensors()

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> RelationsModel:
        """Put together what `own_parts` returned."""
        stored = header["relations"]
        types, relations = _checked_names(stored["types"]), _checked_names(stored["relations"])
        table = [_checked_line(line, types, relations) for line in stored["relation_types"]]
        if stored["type_constraints"] not in TYPE_CONSTRAINTS:
            raise ValueError("it is not said where the types of relations count")
        return cls(
            features=SpanFeatureSet.load(tensors),
            types=types,
            relations=relations,
            table=table,
            type_constraints=stored["type_constraints"],
            losses=Losses(**stored["losses"]),
            solver=Solver(**stored["solver"]),
        )


def _checked_names(stored: Any) -> list[str]:
    names = [name for name in stored if isinstance(name, str)]
    if len(names) != len(stored) or names != sorted(set(names)) or len(names) > _MOST_NAMES:
        raise ValueError("the names of types and relations are not in order")
    return names


def _checked_line(stored: Any, types: Sequence[str], relations: Sequence[str]) -> Line:
    relation, head, tail = stored
    if relation not in relations or head not in types or tail not in types:
        raise ValueError(f"{stored!r} names no relation and types")
    return relation, head, tail


def _numbered(table: Sequence[Line], types: Sequence[str], relations: Sequence[str]) -> list[tuple[int, int, int]]:
    return [(relations.index(name) + 1, types.index(head), types.index(tail)) for name, head, tail in table]


def _by_sentence(corpus: Corpus, outputs: Outputs) -> list[tuple[Sentence, list[int], list[int]]]:
    """Cut outputs at the ends of sentences."""
    spans, pairs = corpus.spans.offsets.tolist(), corpus.pair_offsets.tolist()
    types, labels = outputs.types.tolist(), outputs.labels.tolist()
    return [
        (sentence, types[spans[i] : spans[i + 1]], labels[pairs[i] : pairs[i + 1]])
        for i, sentence in enumerate(corpus.sentences)
    ]


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Sentences with gold types and relations to score on.

    Attributes
    ----------
    corpus : Corpus
        The sentences.
    spans : object or None
        A tagger that finds the spans; None for the gold ones.
    """

    corpus: Corpus
    spans: Tagger | None = None


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
        space = model.space if self.type_constraints == "both" else model.space.without_constraints()
        outputs = _numbered_gold(corpus, types, relations)
        task = RelationsTask(encoded, model._counts, space, self.losses, self.solver, outputs)
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
        if len(names) > _MOST_NAMES:
            raise InputError(f"found {len(names)} {what}, expected at most {_MOST_NAMES}; merge some of them")
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


def warn_of_many_spans(corpus: Corpus, parts: NDArray[np.int64]) -> None:
    """Warn of sentences with more spans than can be enumerated, which have no probabilities."""
    if any(one.spans and not count for one, count in zip(corpus.sentences, parts.tolist(), strict=True)):
        text = (  # the same for every piece of a stream, so that it is said once
            f"sentences with more than {MOST_ENUMERATED} entities have no confidence (null): their types are too many "
            "to enumerate"
        )
        warnings.warn(InputWarning(text), stacklevel=4)


def warn_of_cut_searches(task: RelationsTask, told: int = 0) -> int:
    """Warn of searches that were cut off at the solver's limit, beyond those already told of; return how many."""
    report = task.search_report()
    cut = int(report["cut_off"])
    if cut > told:
        text = (
            f"{cut - told:,} of {report['searches']:,} searches reached the limit of the solver; their best output may "
            "not be the best of all, and certificates use their bounds. Raise node_limit (--node-limit) or time_limit "
            "(--time-limit)"
        )
        warnings.warn(InputWarning(text), stacklevel=4)
    return cut


class TableLearnt(Callback):
    """Tells before training which table of types was learnt."""

    def __init__(self, tell: Callable[[str], None], text: str) -> None:
        self._tell, self._text = tell, text

    def before_training(self, run: Run) -> None:
        """Tell it."""
        self._tell(self._text)


class CutSearches(Callback):
    """Reports how many searches of a run were cut off at the solver's limit."""

    def __init__(self, task: RelationsTask) -> None:
        self._task = task
        self._told = 0

    def after_training(self, run: Run) -> None:
        """Warn of searches in training."""
        self._told = warn_of_cut_searches(self._task, self._told)

    def after_certificate(self, run: Run) -> None:
        """Warn of searches for a certificate."""
        self._told = warn_of_cut_searches(self._task, self._told)


class RelationsEvaluator(Evaluator):
    """Scores weights on sentences with gold types and relations, which are encoded once."""

    def __init__(self, model: RelationsModel, labelled: Labelled, n_threads: int | None = 1) -> None:
        self.n_threads, self._model, self._gold = resolve_threads(n_threads), model, labelled.corpus
        self._found = self._gold if labelled.spans is None else found_spans(labelled.spans, self._gold, n_threads)
        self._task = model.task_of(self._found)
        self._told = 0
        #: Types and relations that training did not see, with how often they occur.
        self.unseen = _unseen(self._gold, model)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the sentences with the gold types of their spans and the gold labels of their pairs."""
        if self._found is not self._gold:
            raise InputError("calibration needs the gold entities: leave out spans (--spans)")
        types = {name: number for number, name in enumerate(self._model.types)}
        labels = {name: number for number, name in enumerate(self._model.relations, 1)}
        gold = [np.zeros(0, np.uint32)]
        for sentence, parts in zip(self._gold.sentences, self._task.core.part_counts.tolist(), strict=True):
            own, between = sentence.gold
            if not parts:
                continue
            choices = np.zeros(int(parts), np.uint32)
            choices[: len(own)] = [types.get(name, NO_CHOICE) for name in own]
            for relation in between:
                row = len(own) + pair_row(len(own), relation.head, relation.tail)
                choices[row] = labels.get(relation.type, NO_CHOICE)
            gold.append(choices)
        return CalibrationExamples(self._task, np.concatenate(gold))

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences, of entities and of relations."""
        gold = [sentence.gold for sentence in self._gold.sentences]
        return {
            "sentences": len(gold),
            "entities": sum(len(types) for types, _ in gold),
            "relations": sum(len(relations) for _, relations in gold),
        }

    @property
    def fingerprint(self) -> str:
        """Identify the sentences and their gold, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        gold = [(one.spans, *one.gold) for one in self._gold.sentences]
        digest.update(json.dumps(gold).encode())
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the F1 of entities and of relations."""
        scores = self._scores(weights)
        return {name: scores[name] for name in SHORT}

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores, and warn where they mean nothing."""
        counts = self.counts
        for name in ("entities", "relations"):
            if not counts[name]:
                text = f"the gold sentences have no {name}, so recall and F1 of {name} are 0 whatever is predicted"
                warnings.warn(text, ScoreWarning, stacklevel=3)
        return self._scores(weights)

    def _scores(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        outputs = self._task.predict(weights, self.n_threads)
        self._told = warn_of_cut_searches(self._task, self._told)
        predicted = (self._predicted(*parts) for parts in _by_sentence(self._found, outputs))
        return scores_of(map(_gold_of, self._gold.sentences), predicted)

    def _predicted(self, sentence: Sentence, types: list[int], labels: list[int]) -> Found:
        entities = [(self._model.types[number], *span) for number, span in zip(types, sentence.spans, strict=True)]
        relations = [
            (self._model.relations[label - 1], head, tail)
            for head in range(len(types))
            for tail in range(len(types))
            if head != tail and (label := labels[pair_row(len(types), head, tail)])
        ]
        return _as_sets(entities, relations)


def _gold_of(sentence: Sentence) -> Found:
    types, relations = sentence.gold
    return _as_sets([(name, *span) for name, span in zip(types, sentence.spans, strict=True)], relations)


def _as_sets(entities: Sequence[Entity], relations: Sequence[Any]) -> Found:
    found = {(str(name), entities[head], entities[tail]) for name, head, tail in relations}
    return {entity for entity in entities if entity[0] != NO_ENTITY}, found


def _unseen(corpus: Corpus, model: RelationsModel) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for sentence in corpus.sentences:
        types, relations = sentence.gold
        counts.update(name for name in types if name not in model.types)
        counts.update(relation.type for relation in relations if relation.type not in model.relations)
    return dict(sorted(counts.items()))
