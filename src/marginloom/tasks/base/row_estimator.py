"""What estimators share whose examples are rows of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.base.estimator import Estimator
from marginloom.tasks.base.explanation import Explanation, FeatureWeights, Wanted
from marginloom.tasks.base.inputs import bias_of
from marginloom.tasks.base.validation import validated_rows


class RowExplanations(NamedTuple):
    """How a task explains rows.

    Attributes
    ----------
    explain : callable
        Given a model, X, a row of it, what is wanted, and training examples or None.
    features_of : callable
        Given a model, X and a row of it.
    """

    explain: Callable[..., Explanation]
    features_of: Callable[..., list[FeatureWeights]]


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class RowEstimator(Estimator):
    """Base of the estimators that have weights for every feature and label, and intercepts."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0

    row_explanations: ClassVar[RowExplanations]

    def explain(self, x: Any, y: Any = None, *, instead: Any = None, training: Any = None) -> Explanation:
        """Return why the model predicts this and nothing else: the difference of two scores, split by feature.

        Parameters
        ----------
        x : array or sparse row
            The features of one example.
        y, instead : optional
            Gold, or anything else, to compare the prediction with; by default the second best.
        {training examples}
        """
        self._check_fitted()
        examples = None if training is None else self._gold_examples(*training)
        return self.row_explanations.explain(self.model_, self._single(x), 0, Wanted(None, instead, y), examples)

    def features_of(self, x: Any) -> list[FeatureWeights]:
        """Return the features of one example that are not 0, with their values and weights by label."""
        self._check_fitted()
        return self.row_explanations.features_of(self.model_, self._single(x), 0)

    def _single(self, x: Any) -> Any:
        return validated_rows(self, x if hasattr(x, "tocsr") else np.asarray(x).reshape(1, -1))

    @property
    def _bias(self) -> float:
        """The value of the feature for intercepts, 0 for none."""
        return bias_of(self.fit_intercept, self.intercept_scaling)

    @staticmethod
    def _intercept_parameters(bias: float) -> dict[str, Any]:
        """Return the parameters with which a model was made whose feature for intercepts has this value."""
        return {"fit_intercept": bias != 0, "intercept_scaling": bias or 1.0}

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, labels by features."""
        coef: NDArray[np.float64] = self.model_.coefficients()[0]
        return coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercepts of the labels."""
        intercept: NDArray[np.float64] = self.model_.intercepts()
        return intercept
