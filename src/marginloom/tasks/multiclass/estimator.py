"""The estimator for one class per example."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.labels.arrays import label_array
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Posed
from marginloom.tasks.base.model import Model
from marginloom.tasks.base.row_estimator import RowEstimator, RowExplanations
from marginloom.tasks.base.validation import validated_rows
from marginloom.tasks.multiclass.explanations import explain, features_of
from marginloom.tasks.multiclass.features import LabelledRows, as_label_array, one_type, stored_labels
from marginloom.tasks.multiclass.model import ClassWeight, CostMatrix, MulticlassModel, MulticlassProblem


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class MulticlassClassifier(ClassifierMixin, RowEstimator):  # type: ignore[misc]
    """Assigns one of several classes to every example: the multiclass SVM of Crammer and Singer.

    Parameters
    ----------
    {common parameters}
    fit_intercept : bool
        Give every class an intercept: a weight of one more feature, which all examples have, and which is regularised
        like the others.
    intercept_scaling : float
        The value of that feature; the larger it is, the less the intercepts are held down.
    class_weight : dict or "balanced", optional
        Factor of C for the examples of a class, 1 for classes that are not named; balanced: such that the examples of
        every class weigh the same together. Where all classes of y are named, more names do no harm, as in
        scikit-learn; otherwise a name that is not a class of y is an error.
    cost_matrix : array or dict, optional
        What predicting a class costs where another is right, in training: an array, ``cost_matrix[right, predicted]``
        in the order of `classes_`, or a dict from pairs (right, predicted), 1 for those that are not named.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    coef_ : array of shape (classes, features)
        The weights; also with two classes there is a row for each.
    intercept_ : array of shape (classes,)
        The intercepts; 0 without `fit_intercept`.
    n_features_in_ : int
        Number of features.
    {common attributes}

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> classifier = MulticlassClassifier(C=10.0).fit(X, ["a", "b", "c"])
    >>> classifier.predict([[0.0, 2.0], [2.0, 0.1]]).tolist()
    ['a', 'b']
    """

    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None

    model_type = MulticlassModel
    row_explanations = RowExplanations(explain, features_of)
    fit_inputs = """
X : sparse matrix or array of shape (examples, features)
    The examples. CSR matrices and C-contiguous arrays, of float32 or float64, are not copied.
y : sequence
    The gold classes, strings or whole numbers.
"""

    def _pose(self, X: Any, y: Any) -> Posed:
        X, y = validated_rows(self, X, as_label_array(y), reset=True)
        y = one_type(y)
        classes, numbers = np.unique(y, return_inverse=True)
        check_classification_targets(numbers if y.dtype == object else y)  # of objects it knows strings alone
        problem = MulticlassProblem(
            training=LabelledRows(X, NumberedLabels(stored_labels(classes), numbers.astype(np.uint32))),
            bias=self._bias,
            class_weight=self.class_weight,
            cost_matrix=self.cost_matrix,
        )
        return Posed(problem, {"classes_": classes})

    def _to_score(self, problem: MulticlassProblem, X: Any, y: Any) -> LabelledRows:
        labels = problem.training.labels
        assert isinstance(labels, NumberedLabels)
        return self._known(self._labelled(X, y), LabelSet(labels.names.tolist()))

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = label_array(self.model_.labels.names)
        self.n_features_in_: int = self.model_.n_features

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of all classes, a row per example; with two classes, by how much the second is ahead."""
        self._check_fitted()
        scores: NDArray[np.float64] = self.model_.class_scores(validated_rows(self, X), self.n_threads)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the best class of every example."""
        self._check_fitted()
        labels: NDArray[Any] = self.classes_[self.model_.predict(validated_rows(self, X), self.n_threads)]
        return labels

    def predict_k_best(self, X: Any, k: int = 3) -> list[list[tuple[Any, float]]]:
        """Return for every example its k best classes with their scores, best first (fewer if there are fewer)."""
        self._check_fitted()
        k = checked("k", k, "positive count")
        numbers, scores = self.model_.predict_k_best(validated_rows(self, X), k, self.n_threads)
        labels = self.classes_[numbers].tolist()
        return [list(zip(*best, strict=True)) for best in zip(labels, scores.tolist(), strict=True)]

    def _gold_examples(self, X: Any, y: Any) -> LabelledRows:
        return self._labelled(X, y)

    @calibrated_method
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, a row per example in the order of `classes_`; after `calibrate`."""
        probabilities: NDArray[np.float64] = self.model_.probabilities(validated_rows(self, X), self.n_threads)
        return probabilities

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of examples, or of their weight, whose class is right; one that is unknown is an error."""
        self._check_fitted()
        labelled = self._labelled(X, y)
        right = self.model_.labels.encode(labelled.labels)
        found = self.model_.predict(labelled.X, self.n_threads)
        return float(accuracy_score(right, found, sample_weight=sample_weight))

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Return all scores: accuracy, macro F1, precision, recall and F1 of every class, and the commonest errors.

        A class that training did not see raises `InputError`; `score`, as scikit-learn has it, counts it as an error.
        """
        self._check_fitted()
        model: MulticlassModel = self.model_
        return model.scores(self._known(self._labelled(X, y), model.labels), self.n_threads)

    def _labelled(self, X: Any, y: Any) -> LabelledRows:
        """Return checked examples to score on."""
        X = validated_rows(self, X)
        y = stored_labels(one_type(column_or_1d(as_label_array(y))))
        if X.shape[0] != y.size:
            raise InputError(f"X has {X.shape[0]} examples, and y has {y.size}")
        return LabelledRows(X, y)

    @staticmethod
    def _known(labelled: LabelledRows, labels: LabelSet) -> LabelledRows:
        """Return the same examples; `InputError` if one has a class that is not among these."""
        unseen = labels.unseen(labelled.labels)
        if unseen:
            shown = ", ".join(map(repr, unseen[:5]))
            raise InputError(f"y has classes that training did not see: {shown}; leave their examples out")
        return labelled

    @classmethod
    def _own_parameters(cls, model: MulticlassModel) -> dict[str, Any]:
        class_weight = model.settings.get("class_weight")
        return {
            **cls._intercept_parameters(model.bias),
            "class_weight": dict(class_weight) if isinstance(class_weight, list) else class_weight,
            "cost_matrix": model.costs,
        }

    def __sklearn_tags__(self) -> Any:
        """Say that sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # the same before scikit-learn 1.6, where X_types lists what is welcome
        return {"X_types": ["2darray", "sparse"]}
