"""What estimators share whose examples are rows of numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.base.estimator import Estimator
from marginloom.tasks.base.inputs import bias_of


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class RowEstimator(Estimator):
    """Base of the estimators that have weights for every feature and label, and intercepts."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0

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
