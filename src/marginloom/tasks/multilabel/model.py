"""A multilabel classifier as a whole: labels and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.common.parameters import check_costs, checked
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import Outputs
from marginloom.errors import InputError
from marginloom.io.model import Tensors
from marginloom.labels.label_set import LabelSet
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.dense import require_coefficients, require_scores, row_batches
from marginloom.tasks.base.model import LEAST_INFERENCES, Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.multilabel.features import LabelledRows, encode_labels, learn_labels, unit_rows
from marginloom.tasks.multilabel.label_sets import PackedSets
from marginloom.tasks.multilabel.metrics import multilabel_scores, scores_of_labels
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.spec import CheckedSpec, Cut

#: A label that is missing costs twice as much as one too many, so that it is predicted from a probability of a third
#: on, which is about right for F1. Most examples lack most labels: with equal costs a label must be more likely than
#: not, and far fewer are predicted than there are.
DEFAULT_COSTS = (2.0, 1.0)
#: C where it is not given and rows have length 1; chosen on the development parts of three data sets.
UNIT_COST = 1.0
LabelCosts: TypeAlias = "Mapping[Any, float | tuple[float, float]] | tuple[float, float] | None"
Interactions: TypeAlias = "str | Iterable[tuple[Any, Any]] | None"

#: Labels that share a slack where the objective does not depend on it: as many as a row of weights has in a cache line.
LABELS_PER_SLACK = 8


@dataclasses.dataclass(kw_only=True)
class MultilabelModel(Model):
    """A trained multilabel classifier.

    Attributes
    ----------
    labels : LabelSet
        What can be predicted; the numbers of columns if training had a 0/1 matrix.
    n_features : int
        Number of columns of the examples.
    bias : float
        Value of the feature that all examples have, for the intercepts; 0 for none.
    pairs : list of pairs
        Numbers of labels that interact.
    normalize : bool
        Whether rows are scaled to length 1, in training and prediction.
    """

    labels: LabelSet
    n_features: int
    bias: float
    pairs: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    normalize: bool = False

    def rows(self, X: Any) -> Any:
        """Return rows as the weights take them: scaled to length 1, or as they are."""
        return unit_rows(X) if self.normalize else X

    def task_of(self, X: Any) -> MultilabelTask:
        """Return the task of labelling examples."""
        task = MultilabelTask(self.rows(X), None, len(self.labels.names), pairs=self.pairs, bias=self.bias)
        if task.n_features != self.n_features:
            raise InputError(f"X has {task.n_features} columns, and training had {self.n_features}")
        return task

    def check_offsets(self, offsets: NDArray[np.float64] | None) -> None:
        """Raise `ValueError` unless a calibration has an offset for every label."""
        if offsets is None or offsets.size != len(self.labels.names):
            raise ValueError("the calibration must have an offset for every label")

    def predict(self, X: Any, n_threads: int | None = 1) -> PackedSets:
        """Return the best set of labels of every example."""
        return PackedSets(self.task_of(X).predict(self.weights, resolve_threads(n_threads)), len(self.labels.names))

    def predict_k_best(self, X: Any, k: int, n_threads: int | None = 1) -> list[list[tuple[NDArray[np.int64], float]]]:
        """Return for every example its k best sets, as numbers of labels with their score, best first."""
        packed, scores, bounds = self.task_of(X).predict_k_best(self.weights, k, resolve_threads(n_threads))
        sets = PackedSets(packed, len(self.labels.names))
        found = [(sets.members(place), score) for place, score in enumerate(scores.tolist())]
        return [found[start:end] for start, end in itertools.pairwise(bounds.tolist())]

    def probabilities(self, X: Any, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the probability of every label, one row per example."""
        labels = len(self.labels.names)
        require_scores(X.shape[0], labels)
        present = np.ones(X.shape[0] * labels, dtype=np.uint32)
        return self.confidences(self.task_of(X), present, n_threads).reshape(-1, labels)

    def check_confidence(self) -> None:
        """Raise `InputError` if this classifier has no probabilities."""
        self._empty_task().require_marginals()
        _ = self.tempering

    def k_best_probabilities(
        self, X: Any, found: list[list[tuple[NDArray[np.int64], float]]], n_threads: int | None = 1
    ) -> list[list[float]]:
        """Return the probabilities of the sets that `predict_k_best` has found."""
        bounds = np.cumsum([0, *map(len, found)]).astype(np.uint64)
        choices = np.zeros((int(bounds[-1]), len(self.labels.names)), dtype=np.uint32)
        for row, (members, _) in enumerate(itertools.chain.from_iterable(found)):
            choices[row, members] = 1
        logs = self.log_probabilities(self.task_of(X), Outputs(choices.reshape(-1), bounds), n_threads)
        values = np.exp(logs).tolist()
        return [values[start:end] for start, end in itertools.pairwise(bounds.tolist())]

    @property
    def has_k_best(self) -> bool:
        """Whether there is more than the best set to be had; not where pairs of labels have cycles."""
        return self._empty_task().has_k_best

    def coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients, labels by features, and intercepts."""
        require_coefficients(len(self.labels.names), self.n_features)
        rows = self._empty_task().label_weights(self.weights)
        return np.ascontiguousarray(rows[: self.n_features].T), self.intercepts()

    def intercepts(self) -> NDArray[np.float64]:
        """Return the intercepts of the labels."""
        if not self.bias:
            return np.zeros(len(self.labels.names))
        return np.asarray(self.bias * self._empty_task().label_weights(self.weights)[self.n_features])

    def label_scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every label for every example, without what labels add to each other."""
        require_scores(X.shape[0], len(self.labels.names))
        rows = self._empty_task().label_weights(self.weights)
        scores = np.asarray(self.rows(X) @ rows[: self.n_features])
        scores += self.intercepts()
        return scores

    def pair_weights(self) -> NDArray[np.float64]:
        """Return what the presence of both labels of a pair adds to the score, for every pair."""
        return self._empty_task().pair_weights(self.weights).copy()

    def evaluator(self, labelled: LabelledRows, n_threads: int | None = 1) -> MultilabelEvaluator:
        """Return what scores weights of this classifier on examples with their right labels."""
        return MultilabelEvaluator(self, labelled, n_threads)

    def summary(self) -> dict[str, Any]:
        """Return the labels, the number of features, the bias and the pairs."""
        names = self.labels.names
        return {
            "labels": names,
            "feature_count": self.n_features,
            "bias": self.bias,
            "normalize": self.normalize,
            "pairs": [[names[a], names[b]] for a, b in self.pairs],
        }

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every label the weights largest in size; features have numbers from 1, as in files."""
        names, intercepts, of_pairs = self.labels.names, self.intercepts(), self.pair_weights()
        rows = self._empty_task().label_weights(self.weights)[: self.n_features]
        found = []
        for column, name in enumerate(names):
            entries = [(float(rows[row, column]), str(row + 1)) for row in strongest_places(rows[:, column], count)]
            entries.append((float(intercepts[column]), "intercept"))
            for weight, (a, b) in zip(of_pairs.tolist(), self.pairs, strict=True):
                if column in (a, b):
                    entries.append((weight, f"with {names[b if column == a else a]}"))
            entries.sort(key=lambda entry: -abs(entry[0]))
            found += [{"weight": weight, "feature": text, "label": name} for weight, text in entries[:count] if weight]
        return found

    @property
    def dimension(self) -> int:
        """Number of weights that features, labels and pairs ask for."""
        return self._empty_task().core.dimension

    def _empty_task(self) -> MultilabelTask:
        return self.task_of(np.zeros((0, self.n_features)))

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return labels, pairs and sizes as a file has them."""
        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        header = {"n_features": self.n_features, "bias": self.bias, "normalize": self.normalize}
        return header, {**self.labels.tensors(), "pairs": pairs}

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> MultilabelModel:
        """Put together what `own_parts` returned."""
        pairs = tensors["pairs"]
        if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError("the pairs of labels are damaged")
        return cls(
            labels=LabelSet.load(tensors, is_sorted=False),
            n_features=checked("n_features", header["n_features"], "count"),
            bias=checked("bias", header["bias"], "not negative"),
            pairs=[(int(a), int(b)) for a, b in pairs],
            normalize=checked("normalize", header.get("normalize", False), "switch"),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultilabelProblem(Problem[MultilabelModel]):
    """Examples with their sets of labels, and what to make of them.

    Attributes
    ----------
    training : LabelledRows
        Examples and labels to learn from.
    bias : float
        Value of one more feature that all examples have, so that every label has an intercept; 0 for none.
    label_costs : mapping or pair, optional
        What a wrong decision costs: by label a number, or a pair for a label that is missing and for one that is there
        and should not be; or one such pair for all labels, `DEFAULT_COSTS` by default. In a mapping everything that is
        not named costs 1, as it does with None.
    interactions : {"tree", "full"} or pairs of labels, optional
        Labels that interact, see `MultilabelTask`.
    labels_per_slack : int, optional
        Labels that share a slack, see `MultilabelTask`; by default each has its own, or all share one where they
        interact. It matters to the squared hinge; with the hinge the objective is the same whatever it is, and the run
        says how rows are cut: not at all, or into `LABELS_PER_SLACK`.
    normalize : bool
        Whether rows are scaled to length 1; C is then `UNIT_COST` where it is not given.
    """

    training: LabelledRows
    bias: float = 1.0
    label_costs: LabelCosts = DEFAULT_COSTS
    interactions: Interactions = None
    labels_per_slack: int | None = None
    normalize: bool = True

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training examples and how many there are."""
        return self.training, int(np.shape(self.training.X)[0])

    def prepare(self, spec: CheckedSpec) -> Prepared[MultilabelModel]:
        """Give the labels numbers, and cut rows into examples as the run says if nothing else is asked for."""
        normalize = checked("normalize", self.normalize, "switch")
        if normalize and spec.C is None and (spec.named is None or "C" in spec.named.learner.common):
            spec = dataclasses.replace(spec, C=UNIT_COST)
        labels, gold = learn_labels(self.training.labels)
        costs = _costs(labels, self.label_costs)
        check_costs("label_costs", costs)
        pairs = _pairs(labels, self.interactions)
        task = MultilabelTask(
            unit_rows(self.training.X) if normalize else self.training.X,
            gold,
            len(labels.names),
            label_costs=costs,
            pairs=pairs,
            labels_per_slack=self._labels_per_slack(spec.cut),
            bias=checked("bias", self.bias, "not negative"),
        )
        model = MultilabelModel(
            labels=labels, n_features=task.n_features, bias=float(self.bias), pairs=task.pairs, normalize=normalize
        )
        model.settings = {
            "label_costs": _stored_costs(labels, costs),
            "interactions": _stored_interactions(labels, pairs),
            "labels_per_slack": self.labels_per_slack,
        }
        # Inferences of examples, each of which has as many slacks.
        least = -(-LEAST_INFERENCES // task.core.examples_per_row)
        return Prepared(model, task, dataclasses.replace(spec, least_inferences=least))

    def _labels_per_slack(self, cut: Cut) -> int | None:
        """Return the number that was asked for, or that of the cut."""
        if self.labels_per_slack is not None or self.interactions is not None:
            return self.labels_per_slack
        return {Cut.WHOLE: None, Cut.SINGLE: 1, Cut.FREE: LABELS_PER_SLACK}[cut]


def _costs(labels: LabelSet, given: LabelCosts) -> NDArray[np.float64] | None:
    if given is None:
        return None
    costs = np.ones((len(labels.names), 2))
    if isinstance(given, Mapping):
        for label, cost in given.items():
            costs[labels.find(label)] = _cost_pair(f"the cost of label {label!r}", cost)
    else:
        costs[:] = _cost_pair("label_costs", given)
    return costs


def _cost_pair(name: str, given: Any) -> tuple[float, float]:
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise InputError(f"{name} must be a number or a pair, missing and spurious, not {given!r}")
        return checked(name, given[0], "not negative"), checked(name, given[1], "not negative")
    cost = checked(name, given, "not negative")
    return cost, cost


def _stored_costs(labels: LabelSet, costs: NDArray[np.float64] | None) -> list[list[Any]]:
    if costs is None:
        return []
    return [[name, pair] for name, pair in zip(labels.names, costs.tolist(), strict=True) if pair != [1, 1]]


def _pairs(labels: LabelSet, interactions: Interactions) -> Any:
    if interactions is None:
        return None
    if isinstance(interactions, str):
        if interactions not in ("tree", "full"):
            raise InputError(f"interactions must be 'tree', 'full' or pairs of labels, not {interactions!r}")
        return interactions
    if not isinstance(interactions, Iterable):
        raise InputError(f"interactions must be 'tree', 'full' or pairs of labels, not {interactions!r}")
    pairs = []
    for pair in interactions:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(found := list(pair)) != 2:
            raise InputError(f"interactions must hold pairs of labels, not {pair!r}")
        pairs.append((labels.find(found[0]), labels.find(found[1])))
    return pairs


def _stored_interactions(labels: LabelSet, pairs: Any) -> Any:
    if pairs is None or isinstance(pairs, str):
        return pairs
    return [[labels.names[first], labels.names[second]] for first, second in pairs]


class MultilabelEvaluator(Evaluator):
    """Scores weights of a multilabel classifier on examples with their right labels."""

    def __init__(self, model: MultilabelModel, labelled: LabelledRows, n_threads: int | None = 1) -> None:
        self.n_threads = resolve_threads(n_threads)
        self._task = model.task_of(labelled.X)
        self._gold, unseen = encode_labels(model.labels, labelled.labels)
        if self._gold.shape[0] != self._task.core.size:
            raise InputError(f"there are {self._gold.shape[0]} sets of labels for {self._task.core.size} examples")
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = unseen
        self._names = [*model.labels.names, *unseen]

    def calibration_examples(self) -> CalibrationExamples:
        """Return the examples with a decision for each label that training has seen."""
        known = self._gold.dense()[:, : self._task.n_labels]
        return CalibrationExamples(self._task, np.ascontiguousarray(known, dtype=np.uint32).reshape(-1))

    @property
    def counts(self) -> dict[str, int]:
        """Number of examples, and of labels that are right."""
        labels = sum(int(self._gold.matrix(rows).sum(dtype=np.int64)) for rows in row_batches(*self._gold.shape))
        return {"examples": self._gold.shape[0], "labels": labels}

    @property
    def fingerprint(self) -> str:
        """Identify the examples and their labels, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        digest.update(self._gold.bits.data)
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return micro and macro F1, Hamming loss and subset accuracy."""
        return dict(multilabel_scores(self._gold, self._predicted(weights)))

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores, also those of every label."""
        return scores_of_labels(self._gold, self._predicted(weights), self._names)

    def _predicted(self, weights: NDArray[np.float64]) -> PackedSets:
        """Return the predicted sets, with a column for every label that there is."""
        return PackedSets(self._task.predict(weights, self.n_threads), len(self._names))
