"""A multiclass classifier as a whole: classes and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.parameters import check_costs, checked
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE, Outputs
from marginloom.errors import InputError
from marginloom.io.model import Tensors
from marginloom.labels.label_set import UNSEEN, LabelSet
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.dense import require_costs, require_scores
from marginloom.tasks.base.metrics import confusions
from marginloom.tasks.base.model import LEAST_INFERENCES, Evaluator, Model, Prepared, Problem
from marginloom.tasks.multiclass.features import LabelledRows
from marginloom.tasks.multiclass.metrics import class_scores
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.spec import RunSpec

ClassWeight: TypeAlias = "str | Mapping[Any, float] | None"
CostMatrix: TypeAlias = "ArrayLike | Mapping[tuple[Any, Any], float] | None"


@dataclasses.dataclass(kw_only=True)
class MulticlassModel(Model):
    """A trained classifier.

    Attributes
    ----------
    labels : LabelSet
        The classes.
    n_features : int
        Number of columns of the examples.
    bias : float
        Value of the feature that all examples have, for the intercepts; 0 for none.
    costs : array or None
        What predicting a class (column) costs where another is right (row); None for 1 everywhere.
    """

    labels: LabelSet
    n_features: int
    bias: float
    costs: NDArray[np.float64] | None = None

    def task_of(self, X: Any) -> MulticlassTask:
        """Return the task of classifying examples."""
        return MulticlassTask(X, None, len(self.labels.names), bias=self.bias)

    def predict(self, X: Any, n_threads: int | None = 1) -> NDArray[np.uint32]:
        """Return the number of the best class of every example."""
        return self.task_of(X).predict(self.weights, resolve_threads(n_threads))

    def predict_k_best(
        self, X: Any, k: int, n_threads: int | None = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the numbers of the k best classes of every example, or of all if there are fewer, and their scores."""
        return self.task_of(X).predict_k_best(self.weights, k, resolve_threads(n_threads))

    def probabilities(self, X: Any, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the probabilities of all classes, one row per example."""
        require_scores(X.shape[0], len(self.labels.names))
        tables = self.tables(self.task_of(X), n_threads)
        return np.concatenate(tables) if tables else np.zeros((0, len(self.labels.names)))

    def k_best_probabilities(
        self, X: Any, numbers: NDArray[np.uint32], n_threads: int | None = 1
    ) -> NDArray[np.float64]:
        """Return the probabilities of the classes that `predict_k_best` has found."""
        count, k = numbers.shape
        outputs = Outputs(np.ascontiguousarray(numbers).reshape(-1), np.arange(0, count * k + 1, k, dtype=np.uint64))
        return np.exp(self.log_probabilities(self.task_of(X), outputs, n_threads)).reshape(count, k)

    def class_scores(self, X: Any, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the scores of all classes, one row per example."""
        return self.task_of(X).scores(self.weights, resolve_threads(n_threads))

    def coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients, classes by features, and intercepts."""
        return self._empty_task().coefficients(self.weights)

    def intercepts(self) -> NDArray[np.float64]:
        """Return the intercepts of the classes."""
        return self._empty_task().intercepts(self.weights)

    def evaluator(self, labelled: LabelledRows, n_threads: int | None = 1) -> MulticlassEvaluator:
        """Return what scores weights of this classifier on examples with their right classes."""
        return MulticlassEvaluator(self, labelled, n_threads)

    def summary(self) -> dict[str, Any]:
        """Return the classes, the number of features and the bias."""
        return {"labels": self.labels.names, "feature_count": self.n_features, "bias": self.bias}

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every class the weights that are largest in size; features have numbers from 1, as in files."""
        intercepts = self.intercepts()
        rows = self._empty_task().class_weights(self.weights)[: self.n_features]
        found = []
        for column, name in enumerate(self.labels.names):  # one at a time: all together can be as large as the model
            row = np.append(rows[:, column], intercepts[column])
            for place in np.argsort(-np.abs(row), kind="stable")[:count].tolist():
                if row[place] != 0:
                    feature = "intercept" if place == self.n_features else str(place + 1)
                    found.append({"weight": float(row[place]), "feature": feature, "label": name})
        return found

    @property
    def dimension(self) -> int:
        """Number of weights that features and classes ask for."""
        return self._empty_task().core.dimension

    def _empty_task(self) -> MulticlassTask:
        return self.task_of(np.zeros((0, self.n_features)))

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return classes, costs and sizes as a file has them."""
        tensors = self.labels.tensors()
        if self.costs is not None:
            tensors["costs"] = self.costs
        return {"n_features": self.n_features, "bias": self.bias}, tensors

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> MulticlassModel:
        """Put together what `own_parts` returned."""
        labels = LabelSet.load(tensors)
        costs = tensors.get("costs")
        if costs is not None and (costs.dtype != np.float64 or costs.shape != (len(labels.names),) * 2):
            raise ValueError("the costs do not fit the classes")
        return cls(
            labels=labels,
            n_features=checked("n_features", header["n_features"], "count"),
            bias=checked("bias", header["bias"], "not negative"),
            costs=costs,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MulticlassProblem(Problem[MulticlassModel]):
    """Examples with their classes, and what to make of them.

    Attributes
    ----------
    training : LabelledRows
        Examples and classes to learn from.
    bias : float
        Value of one more feature that all examples have, so that every class has an intercept; 0 for none.
    class_weight : mapping or "balanced", optional
        Factor of C for the examples of a class, 1 for classes that are not named; balanced: the same sum for all.
    cost_matrix : array or mapping, optional
        What predicting the second class costs where the first is right: an array in the order of the sorted classes,
        or a mapping from pairs, in which 1 is left out.
    """

    training: LabelledRows
    bias: float = 1.0
    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training examples and how many there are."""
        return self.training, int(np.shape(self.training.X)[0])

    def prepare(self, spec: RunSpec) -> Prepared[MulticlassModel]:
        """Give the classes numbers; their weights become weights of examples."""
        labels, gold = LabelSet.learn(self.training.labels)
        if len(labels.names) < 2:
            raise InputError(f"there is only one class, {labels.names[0]!r}; give examples of two classes or more")
        factors = _class_factors(labels, gold, self.class_weight)
        weights = _instance_weights(factors, gold, spec.sample_weight)
        costs = _costs(labels, self.cost_matrix)
        task = MulticlassTask(self.training.X, gold, len(labels.names), cost_matrix=costs, bias=self.bias)
        check_costs("cost_matrix", costs)
        n_features = int(np.shape(self.training.X)[1])
        model = MulticlassModel(labels=labels, n_features=n_features, bias=self.bias, costs=costs)
        model.settings = {"class_weight": _stored_class_weight(labels, factors, self.class_weight)}
        run = dataclasses.replace(spec, sample_weight=weights, least_inferences=LEAST_INFERENCES)
        return Prepared(model, task, run)


def _class_factors(labels: LabelSet, gold: NDArray[np.uint16], given: ClassWeight) -> NDArray[np.float64] | None:
    if given is None:
        return None
    counts = np.bincount(gold, minlength=len(labels.names))
    if isinstance(given, str) and given == "balanced":
        return np.asarray(gold.size / (len(counts) * counts))
    if not isinstance(given, Mapping):
        raise InputError(f"class_weight must be 'balanced' or a dict from class to weight, not {given!r}")
    weights = {
        label.item() if isinstance(label, np.generic) else label: checked(
            f"the weight of class {label!r}", factor, "not negative"
        )
        for label, factor in given.items()
    }
    if not all(name in weights for name in labels.names):  # one that is not there may be a misspelt one that is
        for label in weights:
            labels.find(label)
    return np.array([weights.get(name, 1.0) for name in labels.names])


def _stored_class_weight(labels: LabelSet, factors: NDArray[np.float64] | None, given: ClassWeight) -> Any:
    if factors is None or isinstance(given, str):
        return given
    return [[name, factor] for name, factor in zip(labels.names, factors.tolist(), strict=True) if factor != 1]


def _instance_weights(
    factors: NDArray[np.float64] | None, gold: NDArray[np.uint16], sample_weight: ArrayLike | None
) -> ArrayLike | None:
    if factors is None:
        return sample_weight
    if sample_weight is None:
        return factors[gold]
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != gold.shape:
        raise InputError(f"sample_weight must have one number per example, {gold.size}, not the shape {weights.shape}")
    return weights * factors[gold]


def _costs(labels: LabelSet, given: CostMatrix) -> NDArray[np.float64] | None:
    if given is None:
        return None
    require_costs(len(labels.names))
    if not isinstance(given, Mapping):
        try:
            return np.ascontiguousarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"cost_matrix must be a matrix of numbers: {error}") from error
    costs = 1 - np.eye(len(labels.names))
    for (right, predicted), cost in given.items():
        what = f"the cost of {predicted!r} where {right!r} is right"
        costs[labels.find(right), labels.find(predicted)] = checked(what, cost, "not negative")
    return costs


class MulticlassEvaluator(Evaluator):
    """Scores weights of a classifier on examples with their right classes."""

    def __init__(self, classifier: MulticlassModel, labelled: LabelledRows, n_threads: int | None = 1) -> None:
        self._labels = classifier.labels
        self._given = labelled.labels
        self._costs = classifier.costs
        self.n_threads = resolve_threads(n_threads)
        self._task = classifier.task_of(labelled.X)
        self._gold = classifier.labels.encode(labelled.labels)
        if self._gold.size != self._task.core.size:
            raise InputError(f"there are {self._gold.size} labels for {self._task.core.size} examples")
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = classifier.labels.count_unseen(labelled.labels)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the examples with the numbers of their classes."""
        gold = np.where(self._gold == UNSEEN, NO_CHOICE, self._gold)
        return CalibrationExamples(self._task, gold.astype(np.uint32))

    @property
    def counts(self) -> dict[str, int]:
        """Number of examples."""
        return {"examples": self._gold.size}

    @property
    def fingerprint(self) -> str:
        """Identify the examples and their classes, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        digest.update(self._gold.tobytes())
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return accuracy and macro F1, and the mean cost where there is a cost matrix."""
        scores = self._scores(self._predicted(weights))
        return {name: scores[name] for name in ("accuracy", "macro_f1", "mean_cost") if name in scores}

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores, also those of every class, and the confusions."""
        predicted = self._predicted(weights)
        gold, unseen = self._labels.encode_all(self._given)
        confused = confusions(gold, predicted, [*self._labels.names, *unseen])
        return {**self._scores(predicted), "confusions": confused}

    def _predicted(self, weights: NDArray[np.float64]) -> NDArray[np.uint32]:
        return self._task.predict(weights, self.n_threads)

    def _scores(self, predicted: NDArray[np.uint32]) -> dict[str, Any]:
        scores = class_scores(self._gold, predicted, self._labels.names)
        known = self._gold != UNSEEN
        if self._costs is not None and known.any():
            per_label = scores.pop("per_label")
            cost = float(self._costs[self._gold[known], predicted[known]].mean())
            scores |= {"mean_cost": cost, "per_label": per_label}
        return scores
