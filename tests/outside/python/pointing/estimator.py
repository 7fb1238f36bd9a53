"""The estimator."""

import dataclasses

from marginloom.tasks.base.estimator import Estimator, Posed
from pointing.features import Pointed, as_things
from pointing.model import PointingModel, PointingProblem


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Pointer(Estimator):
    """Points at one of several things.

    Parameters
    ----------
    {common parameters}
    scale : float
        Factor of all numbers.
    """

    scale: float = 1.0

    model_type = PointingModel

    fit_inputs = """
X : list of arrays
    The things, one a row.
y : list of int
    The number of the right thing of each.
"""

    def _pose(self, X, y):
        return Posed(PointingProblem(training=Pointed(self._things(X), list(y)), settings={"scale": self.scale}))

    def _to_score(self, problem, X, y):
        return Pointed(self._things(X), list(y))

    def predict(self, X):
        """Return the numbers of the best things."""
        self._check_fitted()
        return self.model_.predict(self._things(X), self.n_threads)

    def score(self, X, y):
        """Return how often the right thing is pointed at."""
        self._check_fitted()
        return self.model_.scores(Pointed(self._things(X), list(y)), self.n_threads)["accuracy"]

    def _things(self, X):
        return [self.scale * as_things(rows, f"X[{i}]") for i, rows in enumerate(X)]

    @classmethod
    def _own_parameters(cls, model):
        return {"scale": model.settings.get("scale", 1.0)}
