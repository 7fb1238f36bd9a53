"""The estimator of multilabel classification."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from marginloom.common.parameters import checked
from marginloom.labels.arrays import plain_labels
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Posed
from marginloom.tasks.base.model import Model
from marginloom.tasks.base.row_estimator import RowEstimator, RowExplanations
from marginloom.tasks.base.validation import validated_rows
from marginloom.tasks.multilabel.explanations import explain, features_of
from marginloom.tasks.multilabel.features import LabelledRows, as_labels, is_matrix
from marginloom.tasks.multilabel.label_sets import PackedSets
from marginloom.tasks.multilabel.model import (
    DEFAULT_COSTS,
    Interactions,
    LabelCosts,
    MultilabelModel,
    MultilabelProblem,
)

#: What `fit` was given and `predict` returns.
_LISTS, _ARRAY, _SPARSE = "lists", "array", "sparse"


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class MultilabelClassifier(ClassifierMixin, RowEstimator):  # type: ignore[misc]
    """Assigns a set of labels, which may be empty, to every row of a matrix.

    Each label has a linear score; pairs of labels may have weights of their own. Without interactions the objective is
    that of one binary SVM per label.

    Parameters
    ----------
    {common parameters}
    fit_intercept : bool
        Give every label an intercept, regularised like the other weights.
    intercept_scaling : float
        Value of the feature that all examples have for it; the larger it is, the less intercepts are held down.
    label_costs : mapping or pair, optional
        What a wrong decision costs: by label a number, or a pair for a label that is missing and for one that is there
        and should not be; or one such pair for all labels. ``(2, 1)``, the default, predicts more labels than None,
        with which all mistakes cost 1: that is the Hamming loss, with which most labels that are rare are never
        predicted.
    interactions : {"tree", "full"} or list of pairs of labels, optional
        Pairs with a weight that counts where both labels are present. ``"tree"`` learns a tree from co-occurrence, and
        inference stays exact; so it does for given pairs without cycles. ``"full"`` takes all pairs; inference is exact
        for up to 16 labels. Beyond it is a relaxation with an upper bound, for which certificates hold, and is meant
        for at most a hundred labels.
    labels_per_slack : int, optional
        Labels of an example that share a slack; by default each has its own, so that there is one binary SVM per label,
        or all share one where labels interact. With the hinge the objective is the same whatever it is.
    normalize : bool
        Scale every row to length 1, in training and prediction. C is then 1 where it is not given, and `coef_` are
        coefficients of scaled rows.

    Attributes
    ----------
    classes_ : array
        The labels, in order; the names of the columns if `fit` got a data frame, their numbers if a 0/1 matrix.
    pairs_ : list of pairs
        Labels that interact.
    n_features_in_ : int
        Number of columns of X.
    {common attributes}

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> classifier = MultilabelClassifier(C=10.0).fit(X, [["red"], ["round"], ["red", "round"], []])
    >>> classifier.predict(np.array([[0.9, 1.2], [0.0, 0.0]]))
    [['red', 'round'], []]
    """

    label_costs: LabelCosts = DEFAULT_COSTS
    interactions: Interactions = None
    labels_per_slack: int | None = None
    normalize: bool = True

    model_type = MultilabelModel
    row_explanations = RowExplanations(explain, features_of)
    fit_inputs = """
X : sparse matrix or array of shape (examples, features)
    The examples.
y : 0/1 array, data frame or sparse matrix of shape (examples, labels), or list of lists of labels
    The gold labels; labels are strings or whole numbers, and an example may have none. `predict` returns the same
    kind, for a data frame, whose columns are named by the labels, an array.
"""

    def _pose(self, X: Any, y: Any) -> Posed:
        y = as_labels(y)
        kind = (_SPARSE if hasattr(y, "tocsr") else _ARRAY) if is_matrix(y) else _LISTS
        rows = validated_rows(self, X, reset=True)
        problem = MultilabelProblem(
            training=LabelledRows(rows, y),
            bias=self._bias,
            label_costs=self.label_costs,
            interactions=self.interactions,
            labels_per_slack=self.labels_per_slack,
            normalize=self.normalize,
            settings={"output": kind},
        )
        return Posed(problem)

    def _to_score(self, problem: MultilabelProblem, X: Any, y: Any) -> LabelledRows:
        return LabelledRows(validated_rows(self, X), as_labels(y))

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        assert isinstance(model, MultilabelModel)
        names = model.labels.names
        self.classes_ = plain_labels(names)
        self.pairs_ = [(names[a], names[b]) for a, b in model.pairs]
        self.n_features_in_: int = model.n_features

    @property
    def pair_weights_(self) -> NDArray[np.float64]:
        """What the two labels of each of `pairs_` add to the score together."""
        weights: NDArray[np.float64] = self.model_.pair_weights()
        return weights

    def predict(self, X: Any) -> Any:
        """Return the best set of every example, as the kind that `fit` got: a 0/1 array, a CSR matrix or lists."""
        self._check_fitted()
        return self._output(self.model_.predict(validated_rows(self, X), self.n_threads))

    def predict_k_best(self, X: Any, k: int = 3) -> list[list[tuple[list[Any], float]]]:
        """Return for every example its k best sets, as lists of labels with their scores.

        Not where more than 16 labels interact in cycles, as all pairs do: inference is approximate there.
        """
        self._check_fitted()
        k = checked("k", k, "positive count")
        return [
            [(self._names(members), score) for members, score in found]
            for found in self.model_.predict_k_best(validated_rows(self, X), k, self.n_threads)
        ]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every label for every example, without what labels add to each other."""
        self._check_fitted()
        scores: NDArray[np.float64] = self.model_.label_scores(validated_rows(self, X))
        return scores

    def _gold_examples(self, X: Any, y: Any) -> LabelledRows:
        return LabelledRows(validated_rows(self, X), as_labels(y))

    @calibrated_method
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every label, a row per example in the order of `classes_`; only after `calibrate`.

        Each is the probability that the label is there, so that rows do not sum to 1.
        """
        probabilities: NDArray[np.float64] = self.model_.probabilities(validated_rows(self, X), self.n_threads)
        return probabilities

    def score(self, X: Any, y: Any) -> float:
        """Return the share of examples whose whole set is right, as scikit-learn's classifiers do."""
        return float(self.evaluate(X, y)["subset_accuracy"])

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Return all scores: micro and macro F1, Hamming loss, subset accuracy, and those of every label."""
        self._check_fitted()
        model: MultilabelModel = self.model_
        return model.scores(LabelledRows(validated_rows(self, X), as_labels(y)), self.n_threads)

    def __sklearn_tags__(self) -> Any:
        """Say that targets are 0/1 matrices, and that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # the same before scikit-learn 1.6
        return {"X_types": ["2darray", "sparse"], "binary_only": True, "multilabel": True, "multioutput_only": True}

    @classmethod
    def _own_parameters(cls, model: MultilabelModel) -> dict[str, Any]:
        costs: Any = {label: tuple(pair) for label, pair in model.settings.get("label_costs", [])}
        if len(costs) == len(model.labels.names) and len(set(costs.values())) == 1:
            costs = next(iter(costs.values()))
        interactions = model.settings.get("interactions")
        return {
            **cls._intercept_parameters(model.bias),
            "label_costs": costs or None,
            "labels_per_slack": model.settings.get("labels_per_slack"),
            "normalize": model.normalize,
            "interactions": [tuple(pair) for pair in interactions] if isinstance(interactions, list) else interactions,
        }

    def _names(self, members: NDArray[np.int64]) -> list[Any]:
        names = self.model_.labels.names
        return [names[label] for label in members.tolist()]

    def _output(self, sets: PackedSets) -> Any:
        kind = self.model_.settings.get("output", _LISTS)
        if kind == _ARRAY:
            return sets.dense()
        if kind == _SPARSE:
            return sets.sparse()
        return [self._names(sets.members(row)) for row in range(sets.shape[0])]


__all__ = ["MultilabelClassifier"]
