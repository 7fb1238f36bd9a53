"""The model: weights for the numbers of a thing."""

import dataclasses
import hashlib
from typing import Any

from marginloom import InputError
from marginloom.common.parameters import checked
from marginloom.tasks.base.model import Model, Prepared, Problem, strongest_places
from pointing.features import Pointed
from pointing.metrics import pointing_scores
from pointing.task import PointingTask


@dataclasses.dataclass(kw_only=True)
class PointingModel(Model):
    """A trained pointer; things have `width` numbers."""

    width: int

    @property
    def dimension(self):
        """One weight for each number of a thing."""
        return self.width

    def task_of(self, X):
        """Return the task of pointing at one of each."""
        for i, things in enumerate(X):
            if things.shape[1] != self.width:
                raise InputError(f"the things of X[{i}] have {things.shape[1]} numbers, and training had {self.width}")
        return PointingTask(X, dimension=self.width)

    def predict(self, X, n_threads=1):
        """Return the number of the best thing of each."""
        return self.task_of(X).predict(self.weights, n_threads)

    def evaluator(self, labelled, n_threads=1):
        """Return what scores weights."""
        return PointingEvaluator(self, labelled, n_threads)

    def summary(self):
        """Return the width."""
        return {"width": self.width}

    def strongest(self, count):
        """Return the largest weights."""
        return [
            {"weight": float(self.weights[place]), "feature": f"number {place}", "label": "pointed at"}
            for place in strongest_places(self.weights, count)
        ]

    def own_parts(self):
        """Return the width for a file's header."""
        return {"width": self.width}, {}

    @classmethod
    def from_own_parts(cls, header, tensors):
        """Return a model without weights."""
        return cls(width=checked("width", header["width"], "positive count"))


class PointingEvaluator:
    """Scores weights on things of which the right one is known."""

    def __init__(self, model, labelled, n_threads):
        self._task = model.task_of(labelled.X)
        self._gold = labelled.y
        self._n_threads = n_threads
        self.unseen = {}

    @property
    def counts(self):
        """Return how many there are."""
        return {"examples": len(self._gold)}

    @property
    def fingerprint(self):
        """Identify the examples, for checkpoints."""
        digest = hashlib.sha256(repr(self._gold).encode())
        for things in self._task.X:
            digest.update(things.tobytes())
        return digest.hexdigest()

    def __call__(self, weights):
        """Return the scores."""
        return pointing_scores(self._gold, self._task.predict(weights, self._n_threads))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointingProblem(Problem[PointingModel]):
    """What to learn pointing from."""

    training: Pointed

    def prepare(self, spec) -> Prepared[Any]:
        """Check the examples."""
        X, y = self.training.X, self.training.y
        for i, (things, right) in enumerate(zip(X, y, strict=True)):
            if type(right) is not int or not 0 <= right < len(things):
                raise InputError(f"example {i} has {len(things)} things, and the right one is {right!r}")
        width = X[0].shape[1]
        return Prepared(PointingModel(width=width), PointingTask(X, y, dimension=width), spec)
