"""The estimator."""

import dataclasses

from marginloom.tasks.base.estimator import Estimator
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

    def fit(self, X, y, *, sample_weight=None, eval_set=None, callbacks=(), checkpoint=None, resume=False):
        """Train on arrays of things and the numbers of the right ones."""
        return self._fit(
            PointingProblem(training=Pointed(self._things(X), list(y)), settings={"scale": self.scale}),
            sample_weight=sample_weight,
            evaluation_sets={} if eval_set is None else {"dev": Pointed(self._things(eval_set[0]), list(eval_set[1]))},
            callbacks=callbacks,
            checkpoint=checkpoint,
            resume=resume,
        )

    def predict(self, X):
        """Return the numbers of the best things."""
        self._check_fitted()
        return self.model_.predict(self._things(X), self.n_threads)

    def score(self, X, y):
        """Return how often the right thing is pointed at."""
        self._check_fitted()
        return self.model_.scores({"given": Pointed(self._things(X), list(y))}, self.n_threads)["given"]["accuracy"]

    def _things(self, X):
        return [self.scale * as_things(rows, f"X[{i}]") for i, rows in enumerate(X)]

    @classmethod
    def _own_parameters(cls, model):
        return {"scale": model.settings.get("scale", 1.0)}
