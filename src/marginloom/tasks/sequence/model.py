"""A sequence tagger as a whole: features, labels and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom import _core
from marginloom.common.parameters import check_costs, checked
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE, Outputs
from marginloom.core.prefixes import UPDATES, checked_beam
from marginloom.errors import InputError
from marginloom.features import STORED, Encoded, ExtractedFeatures, FeatureSet
from marginloom.io.model import Tensors
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.metrics import confusions
from marginloom.tasks.base.model import Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.sequence.constraints import BOUNDARY, Pair, named_pairs
from marginloom.tasks.sequence.features import LabelledSentences
from marginloom.tasks.sequence.gold import Gold, check_label_count, check_learnable, fitting_gold
from marginloom.tasks.sequence.histories import Histories
from marginloom.tasks.sequence.metrics import SHORT, numbered_scores, warn_without_spans
from marginloom.tasks.sequence.named_weights import NamedWeights
from marginloom.tasks.sequence.searches import check_templates, checked_search, warn_of_slow_search
from marginloom.tasks.sequence.span_probabilities import span_probabilities
from marginloom.tasks.sequence.spans import Span, SpanLabels, check_scheme, span_style
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.checks import checked_weights
from marginloom.training.spec import RunSpec


@dataclasses.dataclass(kw_only=True)
class SequenceModel(Model):
    """A trained tagger.

    Attributes
    ----------
    features : FeatureSet
        Turns sentences into arrays.
    labels : LabelSet
        What can be predicted.
    start_end : bool
        Whether the first and the last label have weights of their own.
    forbidden : list of pairs
        Numbers of labels that must not follow each other.
    histories : Histories, optional
        Which labels before a token, joined with its observations, have a weight.
    order : {1, 2}
        Labels before a token that count; 2 with a beam.
    beam : int, optional
        States that beam search keeps; None for exact search.
    """

    features: FeatureSet
    labels: LabelSet
    start_end: bool
    forbidden: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    histories: Histories | None = None
    order: int = 1
    beam: int | None = None

    def predict(
        self, source: Any, n_threads: int | None = 1, beam: int | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return sentence offsets and the number of the best label of every token, by another beam if one is given."""
        encoded = self.features.transform(source)
        return encoded.sentences, self.task_of(encoded, beam).predict(self.weights, resolve_threads(n_threads))

    def predict_spans(self, source: Any, n_threads: int | None = 1) -> list[list[Span]]:
        """Return for every sentence the spans that its labels mark, in order: type, first token, one past the last.

        `InputError` if the labels of the tagger mark no spans.
        """
        style = self._span_style()
        offsets, numbers = self.predict(source, n_threads)
        read = SpanLabels.of(self.labels.names, style)
        bounds = offsets.astype(np.int64)
        kinds, starts, ends = read.spans(numbers, bounds)
        owners = np.searchsorted(bounds, starts, side="right") - 1
        found: list[list[Span]] = [[] for _ in range(bounds.size - 1)]
        for kind, start, end, owner in zip(*map(np.ndarray.tolist, (kinds, starts, ends, owners)), strict=True):
            found[owner].append((read.types[kind], start - int(bounds[owner]), end - int(bounds[owner])))
        return found

    def predict_k_best(
        self, source: Any, k: int, n_threads: int | None = 1
    ) -> list[list[tuple[NDArray[np.uint16], float]]]:
        """Return for every sentence its k best labellings, as numbers of labels with their score, best first."""
        if k > 1:
            self.check_k_best()
        encoded = self.features.transform(source)
        task = self.task_of(encoded)
        labels, scores, labellings = task.predict_k_best(self.weights, k, resolve_threads(n_threads))
        lengths = np.diff(encoded.sentences.astype(np.int64))
        counts = labellings[1:].astype(np.int64) - labellings[:-1].astype(np.int64)
        parts = np.split(labels, np.cumsum(np.repeat(lengths, counts))[:-1]) if scores.size else []
        found = list(zip(parts, scores.tolist(), strict=True))
        return [found[start:end] for start, end in itertools.pairwise(labellings.tolist())]

    def probabilities(self, source: Any, n_threads: int | None = 1) -> list[NDArray[np.float64]]:
        """Return for every sentence the probabilities of the labels, a row per token."""
        return self.tables(self.task_of(self.features.transform(source)), n_threads)

    def predict_with_confidence(
        self, source: Any, n_threads: int | None = 1
    ) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """Return the number of the best label of every token, and its probability."""
        task = self.task_of(self.features.transform(source))
        numbers = task.predict(self.weights, resolve_threads(n_threads))
        return numbers, self.confidences(task, numbers.astype(np.uint32), n_threads)

    def k_best_probabilities(
        self, source: Any, labellings: list[list[tuple[NDArray[np.uint16], float]]], n_threads: int | None = 1
    ) -> list[list[float]]:
        """Return the probabilities of the labellings that `predict_k_best` has found."""
        task = self.task_of(self.features.transform(source))
        bounds = np.cumsum([0, *map(len, labellings)]).astype(np.uint64)
        rows = [numbers for own in labellings for numbers, _ in own]
        choices = np.concatenate(rows).astype(np.uint32) if rows else np.zeros(0, np.uint32)
        found = np.exp(self.log_probabilities(task, Outputs(choices, bounds), n_threads)).tolist()
        return [found[start:end] for start, end in itertools.pairwise(bounds.tolist())]

    def span_probabilities(self, source: Any, spans: list[list[Span]]) -> list[list[float]]:
        """Return for every sentence the probabilities that its labels mark exactly these spans."""
        style = self._span_style()
        encoded = self.features.transform(source)
        task = self.task_of(encoded)
        task.require_marginals()
        return span_probabilities(
            task, self.weights, self.tempering.temperature, SpanLabels.of(self.labels.names, style), spans
        )

    def _span_style(self) -> re.Pattern[str]:
        style = span_style(self.labels.names)
        if style is None:
            raise InputError(
                f"the labels of the tagger mark no spans: {self.labels.summary()}; give a tagger with labels such as "
                "B-PER, I-PER and O"
            )
        return style

    def check_confidence(self, beam: int | None = None) -> None:
        """Raise `InputError` if this tagger has no probabilities."""
        self._empty_task(beam).require_marginals()
        _ = self.tempering

    def check_k_best(self) -> None:
        """Raise `InputError` if this tagger finds the best labelling only."""
        if self.beam is not None:
            raise InputError(
                "this tagger searches with a beam, which finds one labelling: k-best needs a first-order tagger"
            )
        if self.order == 2:
            raise InputError("search of order 2 finds the best labelling only: k-best needs a first-order tagger")

    def evaluator(
        self,
        labelled: LabelledSentences,
        n_threads: int | None = 1,
        strict: str | None = None,
        beam: int | None = None,
    ) -> SequenceEvaluator:
        """Return what scores weights of this tagger on labelled sentences.

        `strict` is that of `sequence_scores`, `beam` another one than training's.
        """
        return SequenceEvaluator(self, labelled, n_threads, strict, beam)

    @property
    def feature_count(self) -> int:
        """Number of emission features."""
        return self.features.feature_count

    @property
    def columns(self) -> list[str]:
        """The columns that the features read; none where they are ready."""
        return self.features.columns.read if isinstance(self.features, ExtractedFeatures) else []

    def summary(self) -> dict[str, Any]:
        """Return name, number and columns of the features, the labels, and whether ends have weights of their own."""
        return {
            "features": self.features.name,
            "feature_count": self.feature_count,
            "columns": self.columns,
            "labels": self.labels.names,
            "start_end": self.start_end,
            **({} if self.histories is None else {"histories": len(self.histories)}),
            **({} if self.order == 1 else {"order": self.order, "beam": self.beam}),
        }

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every label the weights that are largest in size, with what they connect."""
        layout = self._empty_task().core
        rows = self._rows(layout)
        if self.histories is None:
            return [
                {"weight": float(rows[row, column]), "feature": self._row_name(layout, row), "label": name}
                for column, name in enumerate(self.labels.names)
                for row in strongest_places(rows[:, column], count)
            ]
        beyond = self.weights[layout.first_combination :]
        found = []
        for column, name in enumerate(self.labels.names):
            combinations = np.flatnonzero(self.histories.labels == column)
            weights = np.concatenate([rows[:, column], beyond[combinations]])
            for place in strongest_places(weights, count):
                feature = (
                    self._row_name(layout, place)
                    if place < len(rows)
                    else self.history_name(self.histories, int(combinations[place - len(rows)]))
                )
                found.append({"weight": float(weights[place]), "feature": feature, "label": name})
        return found

    def _row_name(self, layout: _core.SequenceTask, row: int) -> str:
        if row < layout.start_row:
            return f"after {self.labels.names[row]}"
        if row < layout.first_feature_row:
            return "at the start" if row == layout.start_row else "at the end"
        return self.features.describe(row - layout.first_feature_row)

    def feature_rows(self) -> NDArray[np.float64]:
        """Return the weights of features, a row for each with a column per label."""
        layout = self._empty_task().core
        return self._rows(layout)[layout.first_feature_row :]

    def history_name(self, histories: Histories, combination: int) -> str:
        """Name a combination of an observation and labels before a token."""
        observation, before = histories.describe(combination, self.labels.names)
        labels = " ".join("_" if label is None else str(label) for label in before)
        if observation is None:
            return f"after {labels}"
        assert isinstance(self.features, ExtractedFeatures)
        return f"after {labels}, {self.features.describe_observation(observation)}"

    def transition_weights(self) -> NamedWeights:
        """Return the weights of pairs of labels that follow each other, without those that are 0."""
        names, layout = self.labels.names, self._empty_task().core
        return NamedWeights(self._rows(layout)[: layout.start_row], names.__getitem__, names)

    def state_weights(self) -> NamedWeights:
        """Return the weights of pairs of a feature and a label, without those that are 0."""
        layout = self._empty_task().core
        return NamedWeights(self._rows(layout)[layout.first_feature_row :], self.features.describe, self.labels.names)

    def _rows(self, layout: _core.SequenceTask) -> NDArray[np.float64]:
        """Return the weights as rows with a column per label."""
        rows = self.weights[: layout.first_combination]
        return rows.reshape(-1, layout.stride)[:, : len(self.labels.names)]

    def task_of(self, encoded: Encoded, beam: int | None = None) -> SequenceTask:
        """Return the task of labelling encoded sentences, with this beam or that of training."""
        if beam is not None and self.beam is None:
            raise InputError(
                "this tagger was trained with exact search; a beam is for taggers that were trained with one: "
                f"leave out beam (--beam) {beam}"
            )
        return SequenceTask(
            encoded,
            None,
            len(self.labels.names),
            start_end=self.start_end,
            forbidden=self.forbidden,
            histories=self.histories,
            order=self.order,
            beam=self.beam if beam is None else checked_beam(beam),
        )

    @property
    def dimension(self) -> int:
        """Number of weights that features and labels ask for."""
        return self._empty_task().core.dimension

    def _empty_task(self, beam: int | None = None) -> SequenceTask:
        offsets = np.zeros(1, np.uint64)
        return self.task_of(Encoded(offsets, offsets, np.zeros(0, np.uint32), None, self.feature_count), beam)

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return features and labels as a file has them."""
        header = {"features": self.features.kind, "start_end": self.start_end, "forbidden": self.forbidden}
        if self.order != 1:
            header |= {"order": self.order, "beam": self.beam}
        histories = {} if self.histories is None else self.histories.tensors()
        return header, {**self.features.tensors(), **self.labels.tensors(), **histories}

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> SequenceModel:
        """Put together what `own_parts` returned."""
        if not isinstance(header["start_end"], bool):
            raise ValueError("start_end is neither true nor false")
        kind = STORED[header["features"]]
        extracted = (header["settings"],) if kind is ExtractedFeatures else ()
        features, labels = kind.load(tensors, *extracted), LabelSet.load(tensors)
        order, beam = header.get("order", 1), header.get("beam")
        if (
            type(order) is not int
            or order not in (1, 2)
            or (beam is not None and (type(beam) is not int or order != 2))
        ):
            raise ValueError("the order and the beam do not fit together")
        if beam is not None:
            checked_beam(beam)
        observed = isinstance(features, ExtractedFeatures) and bool(features.of_histories)
        histories = None
        if observed or order == 2:
            observations = features.observation_count if isinstance(features, ExtractedFeatures) else 0
            histories = Histories.load(tensors, len(labels.names), observations, order == 2)
        return cls(
            features=features,
            labels=labels,
            start_end=header["start_end"],
            forbidden=[(_label_number(before), _label_number(after)) for before, after in header["forbidden"]],
            histories=histories,
            order=order,
            beam=beam,
        )


def _label_number(stored: Any) -> int:
    if type(stored) is not int or not 0 <= stored <= BOUNDARY:
        raise ValueError(f"{stored!r} is not the number of a label")
    return stored


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceProblem(Problem[SequenceModel]):
    """Labelled sentences, and what to make of them.

    Attributes
    ----------
    training : Labelled
        Sentences and labels to learn from.
    features : FeatureSet
        A new one; it learns its vocabulary here.
    start_end : bool
        Learn which labels begin and end a sentence.
    label_costs : mapping, optional
        From a label to what a wrong prediction costs where it is right; 1 for labels that are not named.
    constraints : {"none", "bio", "bioes", "bilou"} or iterable of pairs, optional
        Labels that must not follow each other, see `marginloom.tasks.sequence.constraints.forbidden_pairs`.
    invalid_gold : {"error", "repair", "skip"}
        What to do with right labels that break the constraints, see `marginloom.tasks.sequence.gold.fitting_gold`.
    order : {1, 2}
        Labels before a token that count in exact search.
    beam : int, optional
        Search with a beam of so many states instead, in which two labels before a token count.
    update : str
        Which prefix of a beam search is learnt from, see `marginloom.core.prefixes.UPDATES`.
    """

    training: LabelledSentences
    features: FeatureSet
    start_end: bool = False
    label_costs: Mapping[Any, float] | None = None
    constraints: str | Iterable[Pair] | None = None
    invalid_gold: str = "error"
    order: int = 1
    beam: int | None = None
    update: str = UPDATES[0]

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training sentences and how many there are."""
        return self.training, int(self.training.source.sentences.size - 1)

    def prepare(self, spec: RunSpec) -> Prepared[SequenceModel]:
        """Extract features, number labels, and check that these keep to the constraints."""
        training, features, constraints = self.training, self.features, self.constraints
        order = checked_search(self.order, self.beam, self.update)
        check_templates(features, order)
        encoded = features.fit(training.source)  # first: the labels of a stream are known when it has been read
        check_learnable(features, encoded)
        given = NumberedLabels.of(training.labels)
        if encoded.sentences[-1] != len(given):
            raise InputError(f"there are {len(given)} labels for {encoded.sentences[-1]} tokens")
        check_label_count(given)
        gold = fitting_gold(given, encoded, constraints, self.invalid_gold, training.source)
        labels, forbidden = gold.labels, gold.forbidden
        costs = _label_costs(labels, self.label_costs)
        check_costs("label_costs", costs)
        observed = isinstance(features, ExtractedFeatures) and bool(features.of_histories)
        histories = None
        if observed or order == 2:
            reaches = features.reaches if isinstance(features, ExtractedFeatures) else np.zeros(0, np.uint8)
            histories = Histories.learn(gold.encoded, gold.numbers, len(labels.names), reaches, order == 2)
        model = SequenceModel(
            features=features,
            labels=labels,
            start_end=self.start_end,
            forbidden=forbidden,
            histories=histories,
            order=order,
            beam=self.beam,
        )
        model.settings = {
            "label_costs": [[label, cost] for label, cost in zip(labels.names, costs, strict=False) if cost != 1],
            "min_count": getattr(features, "min_count", 1),
            "constraints": constraints
            if constraints is None or isinstance(constraints, str)
            else named_pairs(forbidden, labels.names),
            "invalid_gold": self.invalid_gold,
            **({} if self.beam is None else {"update": self.update}),
        }
        if order == 2 and self.beam is None:
            warn_of_slow_search(int(gold.encoded.sentences[-1]), len(labels.names))
        task = SequenceTask(
            gold.encoded,
            gold.numbers,
            len(labels.names),
            start_end=self.start_end,
            label_costs=costs,
            forbidden=forbidden,
            histories=histories,
            order=order,
            beam=self.beam,
            update=self.update,
        )
        weights = _sample_weight(spec.sample_weight, training.weights, gold)
        return Prepared(model, task, dataclasses.replace(spec, sample_weight=weights))


def _sample_weight(given: ArrayLike | None, declared: NDArray[np.float64] | None, gold: Gold) -> ArrayLike | None:
    """Return the weights of the sentences that are learnt from: those given times those that their files declare."""
    if given is None and declared is None:
        return None
    size = gold.kept.size
    weights = checked_weights(np.ones(size) if given is None else given, size)
    return (weights if declared is None else weights * declared)[gold.kept]


def _label_costs(labels: LabelSet, given: Mapping[Any, float] | None) -> list[float]:
    if not given:
        return []
    if not isinstance(given, Mapping):
        raise InputError(f"label_costs must be a dict from label to cost, not {given!r}")
    costs = [1.0] * len(labels.names)
    for label, cost in given.items():
        costs[labels.find(label)] = checked(f"the cost of label {label!r}", cost, "not negative")
    return costs


class SequenceEvaluator(Evaluator):
    """Scores weights of a tagger on labelled sentences, which are encoded once."""

    def __init__(
        self,
        model: SequenceModel,
        labelled: LabelledSentences,
        n_threads: int | None = 1,
        strict: str | None = None,
        beam: int | None = None,
    ) -> None:
        check_scheme(strict)
        self._strict = strict
        self.n_threads = resolve_threads(n_threads)
        encoded = model.features.transform(labelled.source)
        labels = NumberedLabels.of(labelled.labels)
        if encoded.sentences[-1] != len(labels):
            raise InputError(f"there are {len(labels)} labels for {encoded.sentences[-1]} tokens")
        self._task = model.task_of(encoded, beam)
        self._bounds = encoded.sentences.astype(np.int64)
        self._gold, beyond = model.labels.encode_all(labels)
        self._names = [*model.labels.names, *beyond]
        self._label_count = len(model.labels.names)
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = model.labels.count_unseen(labels)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the sentences with the numbers of their labels."""
        known = self._gold < self._label_count
        return CalibrationExamples(self._task, np.where(known, self._gold, NO_CHOICE).astype(np.uint32))

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences and of tokens."""
        return {"sentences": self._bounds.size - 1, "tokens": int(self._bounds[-1])}

    @property
    def fingerprint(self) -> str:
        """Identify the sentences and their labels, for checkpoints."""
        labels = [self._names[number] for number in self._gold.tolist()]
        gold = [labels[start:end] for start, end in itertools.pairwise(self._bounds.tolist())]
        return hashlib.sha256(repr((self._task.fingerprints, gold)).encode()).hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return accuracy, and for labels that mark spans their precision, recall and F1."""
        scores = self._scores(self._predicted(weights))
        return {name: scores[name] for name in SHORT if name in scores}

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores and the confusions, and warn where scores of spans mean nothing."""
        predicted = self._predicted(weights)
        scores = self._scores(predicted)
        warn_without_spans(scores, self._strict)
        return {**scores, "confusions": confusions(self._gold, predicted, self._names)}

    def _predicted(self, weights: NDArray[np.float64]) -> NDArray[Any]:
        return self._task.predict(weights, self.n_threads)

    def _scores(self, predicted: NDArray[Any]) -> dict[str, Any]:
        return numbered_scores(self._gold, predicted, self._bounds, self._names, self._strict)
