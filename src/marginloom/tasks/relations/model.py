"""A relation extractor as a whole: features, types, the table and weights; for the estimator and the command line."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.threads import resolve_threads
from marginloom.errors import InputWarning
from marginloom.io.model import Tensors
from marginloom.tasks.base.model import Model, strongest_places
from marginloom.tasks.relations.cut_searches import warn_of_cut_searches
from marginloom.tasks.relations.evaluator import Labelled, RelationsEvaluator
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.outputs import by_sentence
from marginloom.tasks.relations.sentences import NO_ENTITY, Corpus, Sentence, pair_row
from marginloom.tasks.relations.spans import Tagger, found_spans
from marginloom.tasks.relations.task import Losses, RelationsTask, Solver, Space
from marginloom.tasks.relations.type_table import Line

#: Where the table counts: in training and prediction, in prediction only, or never.
TYPE_CONSTRAINTS = ("both", "predict", "none")
#: How many types of entities, and of relations, there may be.
MOST_NAMES = 255
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
        return self.free_space if self.type_constraints == "none" else self.constrained_space

    @property
    def constrained_space(self) -> Space:
        """Which outputs there are under the table."""
        return Space(len(self.types), len(self.relations), _numbered(self.table, self.types, self.relations))

    @property
    def free_space(self) -> Space:
        """Which outputs there are without the table: only spans that are no entities take part in no relation."""
        ends = [type for type in self.types if type != NO_ENTITY]
        table = [(name, head, tail) for name in self.relations for head in ends for tail in ends]
        return Space(len(self.types), len(self.relations), _numbered(table, self.types, self.relations))

    @property
    def counts(self) -> tuple[int, int]:
        """Number of features of spans, and of pairs."""
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
        return [self._named(*parts) for parts in by_sentence(corpus, outputs)]

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
        for i, (sentence, types, labels) in enumerate(by_sentence(corpus, task.decoded(found))):
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
        return RelationsTask(self.features.transform(corpus), self.counts, self.space, self.losses, self.solver)

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
    if len(names) != len(stored) or names != sorted(set(names)) or len(names) > MOST_NAMES:
        raise ValueError("the names of types and relations are not in order")
    return names


def _checked_line(stored: Any, types: Sequence[str], relations: Sequence[str]) -> Line:
    relation, head, tail = stored
    if relation not in relations or head not in types or tail not in types:
        raise ValueError(f"{stored!r} names no relation and types")
    return relation, head, tail


def _numbered(table: Sequence[Line], types: Sequence[str], relations: Sequence[str]) -> list[tuple[int, int, int]]:
    return [(relations.index(name) + 1, types.index(head), types.index(tail)) for name, head, tail in table]


def warn_of_many_spans(corpus: Corpus, parts: NDArray[np.int64]) -> None:
    """Warn of sentences with more spans than can be enumerated, which have no probabilities."""
    if any(one.spans and not count for one, count in zip(corpus.sentences, parts.tolist(), strict=True)):
        text = (  # the same for every piece of a stream, so that it is said once
            f"sentences with more than {MOST_ENUMERATED} entities have no confidence (null): their types are too many "
            "to enumerate"
        )
        warnings.warn(InputWarning(text), stacklevel=4)
