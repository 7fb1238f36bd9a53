"""The estimator for structures of the user's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Estimator, Posed
from marginloom.tasks.base.outputs import OutputList
from marginloom.tasks.custom.list_likelihood import LISTED
from marginloom.tasks.custom.model import CustomModel, CustomProblem, LabelledInputs, MakeTask


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class CustomEstimator(Estimator):
    """Trains and predicts a structure of your own, with the manners of scikit-learn.

    Parameters
    ----------
    task : subclass of CustomTask, or callable
        Makes the task: it is called as ``task(X, Y, **parameters)``, to predict with None as Y.
    {common parameters}
    parameters : mapping, optional
        What else the task is made with, such as ``{"dimension": 5}``. They are saved with the model: plain values.

    Attributes
    ----------
    weights_ : array
        The weights.
    {common attributes}

    Examples
    --------
    Which of some numbers is the greatest, as a choice with one weight:

    >>> from marginloom import CustomTask
    >>> class Choice(CustomTask):
    ...     def features(self, x, y):
    ...         return {0: x[y]}
    ...     def loss(self, gold, y):
    ...         return float(gold != y)
    ...     def argmax(self, x, w):
    ...         return max(range(len(x)), key=lambda y: w[0] * x[y])
    ...     def argmax_augmented(self, x, gold, w):
    ...         return max(range(len(x)), key=lambda y: w[0] * x[y] + self.loss(gold, y))
    >>> estimator = CustomEstimator(task=Choice, parameters={"dimension": 1}, C=1.0)
    >>> estimator.fit([(1, 3, 2), (5, 0, 1)], [1, 0]).predict([(4, 6, 9)])
    [2]
    >>> estimator.weights_.shape
    (1,)
    """

    task: MakeTask
    parameters: Mapping[str, Any] | None = None

    model_type = CustomModel
    fit_inputs = """
X : iterable
    The inputs, of any kind.
y : iterable
    The gold outputs.
"""

    def _pose(self, X: Any, y: Any) -> Posed:
        return Posed(
            CustomProblem(training=LabelledInputs(X, y), make_task=self.task, parameters=_as_mapping(self.parameters))
        )

    def _to_score(self, problem: CustomProblem, X: Any, y: Any) -> LabelledInputs:
        return LabelledInputs(X, y)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weights, in the order of the task's features; a view that cannot be written to."""
        self._check_fitted()
        weights: NDArray[np.float64] = self.model_.weights.view()
        weights.flags.writeable = False
        return weights

    def predict(self, X: Iterable[Any]) -> OutputList:
        """Return the best output of every input: a list, which numpy takes for an array of one dimension."""
        self._check_fitted()
        return OutputList(self.model_.task_of(X).predict(self.model_.weights, self.n_threads))

    def predict_k_best(self, X: Iterable[Any], k: int = 3) -> list[list[tuple[Any, float]]]:
        """Return for every input its k best outputs with their scores, best first; the task needs `argmax_k_best`."""
        self._check_fitted()
        best: list[list[tuple[Any, float]]] = self.model_.task_of(X).predict_k_best(
            self.model_.weights, checked("k", k, "positive count"), self.n_threads
        )
        return best

    def _gold_examples(self, X: Iterable[Any], y: Iterable[Any]) -> LabelledInputs:
        return LabelledInputs(X, y)

    @calibrated_method
    def predict_proba(self, X: Iterable[Any], k: int = LISTED) -> list[list[tuple[Any, float]]]:
        """Return for every input its k best outputs with their probabilities, best first; only after `calibrate`.

        Probabilities are those among the k outputs, which is less than exact: outputs that are not in the list count as
        impossible. The task needs `argmax_k_best`.
        """
        model: CustomModel = self.model_
        return model.probabilities(X, checked("k", k, "positive count"), self.n_threads)

    @calibrated_method
    def log_probability(self, X: Iterable[Any], y: Iterable[Any]) -> NDArray[np.float64]:
        """Return the log probability of every output of y, among the 10 best outputs and itself; after `calibrate`."""
        model: CustomModel = self.model_
        likelihood = model.evaluator(LabelledInputs(X, y), self.n_threads).likelihood(model.weights)
        return likelihood.log_probabilities(model.tempering.temperature)

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: ArrayLike | None = None) -> float:
        """Return the mean loss of the predictions with a minus, so that greater is better and 0 is perfect."""
        self._check_fitted()
        evaluator = self.model_.evaluator(LabelledInputs(X, y), self.n_threads)
        losses = evaluator.outcomes(self.model_.weights)[1]
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return -float(np.average(losses, weights=weights)) if losses else 0.0

    def evaluate(self, X: Iterable[Any], y: Iterable[Any]) -> dict[str, Any]:
        """Return all scores: ``accuracy``, the share of outputs that are right, and ``mean_loss``."""
        self._check_fitted()
        model: CustomModel = self.model_
        return model.scores(LabelledInputs(X, y), self.n_threads)

    @classmethod
    def load(cls, path: StrPath, *, task: MakeTask) -> Self:  # type: ignore[override]  # a file holds no code
        """Read a model that `save` has written.

        Parameters
        ----------
        path : path
            The file, which holds weights, settings and the task's parameters, and no code.
        task : subclass of CustomTask, or callable
            What the estimator was made with; nothing in the file is imported by its name. One with another number of
            weights is refused when it is first used.

        Returns
        -------
        CustomEstimator
            Fitted as the saved one was.
        """
        model = CustomModel.load(path)
        model.make_task = task
        return cls.of_model(path, model)

    @classmethod
    def _own_parameters(cls, model: CustomModel) -> dict[str, Any]:
        return {"task": model.make_task, "parameters": model.parameters or None}


def _as_mapping(parameters: Any) -> Mapping[str, Any]:
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise InputError(f"parameters must be a dict from the names of the task's parameters, not {parameters!r}")
    return parameters
