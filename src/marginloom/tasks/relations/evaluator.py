"""Scores of weights on sentences with gold types and relations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE
from marginloom.errors import InputError, ScoreWarning
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.model import Evaluator
from marginloom.tasks.relations.cut_searches import warn_of_cut_searches
from marginloom.tasks.relations.metrics import SHORT, Entity, Found, scores_of
from marginloom.tasks.relations.outputs import by_sentence, related_pairs
from marginloom.tasks.relations.sentences import NO_ENTITY, Corpus, Sentence, pair_row
from marginloom.tasks.relations.spans import Tagger, found_spans

if TYPE_CHECKING:
    from marginloom.tasks.relations.model import RelationsModel


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
        predicted = (self._predicted(*parts) for parts in by_sentence(self._found, outputs))
        return scores_of(map(_gold_of, self._gold.sentences), predicted)

    def _predicted(self, sentence: Sentence, types: list[int], labels: list[int]) -> Found:
        entities = [(self._model.types[number], *span) for number, span in zip(types, sentence.spans, strict=True)]
        relations = [(self._model.relations[number], head, tail) for head, tail, number in related_pairs(types, labels)]
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
