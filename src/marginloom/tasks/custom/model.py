"""A trained structure of the user's own: weights and parameters; the class with its methods stays in the program."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.io.model import Tensors
from marginloom.tasks.base.model import Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.custom.list_likelihood import ListLikelihood, shares
from marginloom.tasks.custom.task import CustomTask
from marginloom.training.spec import RunSpec

#: Called with X, Y (or None) and the parameters; most often a subclass of `CustomTask`.
MakeTask: TypeAlias = Callable[..., CustomTask]


class LabelledInputs(NamedTuple):
    """Inputs with their right outputs."""

    X: Iterable[Any]
    Y: Iterable[Any]


@dataclasses.dataclass(kw_only=True)
class CustomModel(Model):
    """A trained structure.

    Attributes
    ----------
    parameters : dict
        What the task is made with, besides inputs and outputs.
    n_weights : int
        The task's dimension.
    make_task : callable or None
        Makes the task. A file does not hold it: whoever loads a model gives it.
    """

    parameters: dict[str, Any]
    n_weights: int
    make_task: MakeTask | None = None

    def task_of(self, X: Iterable[Any], Y: Iterable[Any] | None = None) -> CustomTask:
        """Return the task on inputs, and their right outputs if there are any."""
        assert self.make_task is not None
        task = new_task(self.make_task, self.parameters, X, Y)
        if task.dimension != self.n_weights:
            raise InputError(
                f"the task {type(task).__name__} has the dimension {task.dimension}, and the model was trained with "
                f"{self.n_weights} weights; give the class, or make it with the parameters, that it was trained with"
            )
        return task

    def probabilities(self, X: Iterable[Any], k: int, n_threads: int | None = 1) -> list[list[tuple[Any, float]]]:
        """Return for every input its k best outputs with their probabilities, which sum to 1 over these outputs."""
        temperature = self.tempering.temperature
        found = self.task_of(X).predict_k_best(self.weights, k, n_threads)
        return [
            [
                (output, float(share))
                for (output, _), share in zip(own, shares(np.array([s for _, s in own]), temperature), strict=True)
            ]
            for own in found
        ]

    def evaluator(self, labelled: LabelledInputs, n_threads: int | None = 1) -> CustomEvaluator:
        """Return what scores weights on inputs with their right outputs."""
        return CustomEvaluator(self.task_of(*labelled), n_threads)

    @property
    def dimension(self) -> int:
        """Number of weights."""
        return self.n_weights

    def summary(self) -> dict[str, Any]:
        """Return the parameters and the number of weights."""
        return {"parameters": self.parameters, "dimension": self.n_weights}

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return the weights that are largest in size, by their index; what that means the task knows."""
        return [
            {"weight": float(self.weights[place]), "feature": str(place), "label": ""}
            for place in strongest_places(self.weights, count)
        ]

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return the parameters and the number of weights as a file has them."""
        return {"parameters": self.parameters, "n_weights": self.n_weights}, {}

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> CustomModel:
        """Put together what `own_parts` returned, without what makes the task."""
        if not isinstance(header["parameters"], dict):
            raise ValueError("the parameters have no names")
        return cls(parameters=header["parameters"], n_weights=checked("n_weights", header["n_weights"], "count"))

    def save(self, path: StrPath) -> None:
        """Write the model to one file; `InputError` if a parameter would not come back from it as it is."""
        for name, value in self.parameters.items():
            if not _comes_back(value):
                raise InputError(
                    f"the parameter {name!r} cannot be saved: {value!r}"[:200]
                    + "; a file holds plain values (numbers, "
                    "strings, true, false, None, and lists and dicts of these), so make the rest of them in the task"
                )
        super().save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts of a file and what makes the task."""
        return _unpickled, (type(self), self.make_task, *self._parts())


def _unpickled(cls: type[CustomModel], make_task: MakeTask, header: dict[str, Any], tensors: Tensors) -> CustomModel:
    model = cls._from_parts(header, tensors)
    model.make_task = make_task
    return model


def _comes_back(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def new_task(
    make_task: MakeTask, parameters: Mapping[str, Any], X: Iterable[Any], Y: Iterable[Any] | None
) -> CustomTask:
    """Make a task, and check that it is one."""
    if not callable(make_task):
        raise InputError(f"task must be a subclass of CustomTask, or a function that makes one, not {make_task!r}")
    task = make_task(X, Y, **parameters)
    if not isinstance(task, CustomTask):
        raise InputError(f"task must make a CustomTask, and {make_task!r} has made a {type(task).__name__}")
    return task


@dataclasses.dataclass(frozen=True, kw_only=True)
class CustomProblem(Problem[CustomModel]):
    """Inputs with their right outputs, and the task that learns from them.

    Attributes
    ----------
    training : LabelledInputs
        Inputs and outputs to learn from.
    make_task : callable
        Makes the task.
    parameters : mapping
        What else it is made with.
    """

    training: LabelledInputs
    make_task: MakeTask
    parameters: Mapping[str, Any]

    def prepare(self, spec: RunSpec) -> Prepared[CustomModel]:
        """Make the task."""
        task = new_task(self.make_task, self.parameters, *self.training)
        model = CustomModel(parameters=dict(self.parameters), n_weights=task.dimension, make_task=self.make_task)
        return Prepared(model, task, spec)


class CustomEvaluator(Evaluator):
    """Scores weights on inputs with their right outputs."""

    def __init__(self, task: CustomTask, n_threads: int | None = 1) -> None:
        assert task.Y is not None
        self._task = task
        self._gold = task.Y
        self.n_threads = 1 if n_threads is None else resolve_threads(n_threads)
        #: Outputs have no labels that training could not have seen.
        self.unseen: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Number of examples."""
        return {"examples": len(self._gold)}

    @property
    def fingerprint(self) -> str:
        """Identify the examples and their right outputs, for checkpoints."""
        return hashlib.sha256(repr(self._task.fingerprints).encode()).hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the share of outputs that are right, and the mean loss."""
        right, losses = self.outcomes(weights)
        return {
            "accuracy": float(np.mean(right)) if right else 0.0,
            "mean_loss": float(np.mean(losses)) if losses else 0.0,
        }

    def likelihood(self, weights: NDArray[np.float64], first: int = 0) -> ListLikelihood:
        """Return the likelihood of the gold outputs, each among the best ones and itself."""
        return ListLikelihood(self._task, weights, self.n_threads, first)

    def outcomes(self, weights: NDArray[np.float64]) -> tuple[list[bool], list[float]]:
        """Return for every example whether the prediction is right, and its loss."""
        task = self._task
        pairs = list(zip(self._gold, task.predict(weights, self.n_threads), strict=True))
        right = [task.encode(gold) == task.encode(found) for gold, found in pairs]
        return right, [float(task.loss(gold, found)) for gold, found in pairs]
