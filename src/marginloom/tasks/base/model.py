"""A trained model as a whole, of any task: what estimators and the command line share."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import MarginalTask, Outputs, Tempering
from marginloom.core.task import Task
from marginloom.errors import InputError, InputWarning, ModelFileError
from marginloom.io.files import StrPath
from marginloom.io.model import MISFITS, OpenedFile, Tensors, load_model, misfit, save_model
from marginloom.tasks.base.calibration import (
    Calibration,
    CalibrationExamples,
    PartLikelihood,
    TaskLikelihood,
    calibrated,
)
from marginloom.tasks.registry import command_of
from marginloom.training.certificate import Certificate
from marginloom.training.earlier import GIVEN, present_settings
from marginloom.training.options import checked_spec
from marginloom.training.result import Result
from marginloom.training.spec import CheckedSpec, RunParameters, RunSpec, stored_parameters, training_threads
from marginloom.training.state import State
from marginloom.training.train import train_as

#: Of rows of numbers an inference takes a microsecond or so; training on a handful of them makes as many in no time.
LEAST_INFERENCES = 2_000

#: What to do where probabilities are asked for too early.
NOT_CALIBRATED = (
    "the model is not calibrated, so its scores are not probabilities: run 'marginloom calibrate MODEL DEV -o OUT' or "
    "call calibrate(X, y), with examples that training did not see"
)

#: Weights that are looked at together, so that neither memory nor Ctrl-C suffers from how many there are.
_PART = 1 << 22


class Evaluator(ABC):
    """Scores weights on examples with their gold outputs, which are encoded once.

    Attributes
    ----------
    unseen : dict
        Labels that training did not see, which count as errors, with how often they occur.
    """

    unseen: dict[str, int]
    #: Threads to predict with.
    n_threads: int = 1

    def warn_of_unseen(self, examples: str = "y") -> None:
        """Warn of gold labels that training did not see, which no prediction can match."""
        if self.unseen:
            shown = ", ".join(f"{label} ({count})" for label, count in list(self.unseen.items())[:10])
            more = f" and {len(self.unseen) - 10} more" if len(self.unseen) > 10 else ""
            text = f"{examples}: labels that training did not see count as errors: {shown}{more}"
            warnings.warn(text, InputWarning, stacklevel=4)

    @property
    @abstractmethod
    def counts(self) -> dict[str, int]:
        """How much there is to score, by what it is called: sentences and tokens, or examples."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Identify the examples and their gold outputs, for checkpoints."""

    @abstractmethod
    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the scores that every row of a trace has."""

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores, also those that would be too long for every row of a trace."""
        return self(weights)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the examples with their gold choices; `InputError` if the task has no probabilities."""
        raise InputError("this task has no probabilities, so there is nothing to calibrate")

    def likelihood(self, weights: NDArray[np.float64], first: int = 0) -> PartLikelihood:
        """Return the likelihood of the gold outputs of the examples from the one of number `first` on."""
        return TaskLikelihood(self.calibration_examples(), weights, self.n_threads, first)


@dataclasses.dataclass(kw_only=True)
class Model(ABC):
    """Weights with everything that is needed to predict with them; a task's own model adds its parts.

    Attributes
    ----------
    weights : array
        The weights.
    settings : dict
        How it was trained, and what its task wants to remember.
    certificate : Certificate or None
        How far from the optimum the weights can be, and whether that is exact or a bound.
    state : State or None
        Where training can go on, if it was kept.
    calibration : Calibration or None
        How scores become probabilities, if that was fitted.
    """

    weights: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(0))
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    certificate: Certificate | None = None
    state: State | None = None
    calibration: Calibration | None = None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of weights that the other parts ask for."""

    @abstractmethod
    def evaluator(self, labelled: Any, n_threads: int | None = 1) -> Evaluator:
        """Return what scores weights of this model on examples with their right outputs."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return what there is to say of the task's own parts, for JSON."""

    @abstractmethod
    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return for every label the `count` weights largest in size, label by label.

        Each is a dict of ``weight`` and what it connects, ``feature`` and ``label``. Tasks without labels have one
        empty label. Weights that are 0 are left out.
        """

    @abstractmethod
    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return the task's own part of a file: entries of the header, and arrays."""

    @classmethod
    @abstractmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> Self:
        """Return a model without weights from what `own_parts` returned, which may be damaged: check it."""

    def steps(self) -> dict[str, dict[str, Any]]:
        """Return what was trained besides the weights, by name: algorithm, C, seconds and certificate of each."""
        return {}

    def check_offsets(self, offsets: NDArray[np.float64] | None) -> None:
        """Raise `ValueError` if the offsets of a calibration, which may be damaged, are not those of this model."""
        if offsets is not None:
            raise ValueError("the calibration has offsets, and this task has none")

    def scores(self, labelled: Any, n_threads: int | None = 1) -> dict[str, Any]:
        """Return all scores on examples with their gold outputs."""
        evaluator = self.evaluator(labelled, n_threads)
        evaluator.warn_of_unseen()
        return evaluator.report(self.weights)

    def calibrate(self, evaluator: Evaluator, first: int = 0) -> Calibration:
        """Fit the calibration on the examples of an evaluator from the one of number `first` on, and keep it."""
        self.calibration = calibrated(evaluator.likelihood(self.weights, first))
        return self.calibration

    def confidences(
        self, task: MarginalTask, choices: NDArray[np.uint32], n_threads: int | None = 1
    ) -> NDArray[np.float64]:
        """Return the probabilities of the parts of one output for each example; `InputError` before `calibrate`."""
        task.require_marginals()
        outputs = Outputs(np.ascontiguousarray(choices))
        return np.exp(task.marginals(self.weights, self.tempering, outputs, resolve_threads(n_threads))[0])

    def log_probabilities(self, task: MarginalTask, outputs: Outputs, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the log probabilities of whole outputs; `InputError` before `calibrate`."""
        task.require_marginals()
        return task.marginals(self.weights, self.tempering, outputs, resolve_threads(n_threads))[1]

    def tables(self, task: MarginalTask, n_threads: int | None = 1) -> list[NDArray[np.float64]]:
        """Return for every example the probabilities of all choices; `InputError` before `calibrate`."""
        task.require_marginals()
        return task.tables(self.weights, self.tempering, resolve_threads(n_threads))

    @property
    def file_format(self) -> str | None:
        """The format of the training files; None if there were none, or if it is not known."""
        found = self.settings.get("format")
        return None if found is None else str(found)

    @property
    def tempering(self) -> Tempering:
        """How scores become probabilities; `InputError` before `calibrate`."""
        if self.calibration is None:
            raise InputError(NOT_CALIBRATED)
        return self.calibration.tempering

    def save(self, path: StrPath) -> None:
        """Write the model to one file."""
        save_model(path, command_of(type(self)), *self._parts())

    @classmethod
    def load(cls, source: StrPath | OpenedFile) -> Self:
        """Read a model that `save` wrote, from a file, or from one that is open already."""
        parts = load_model(source, command_of(cls))
        try:
            return cls._from_parts(*parts)
        except ModelFileError:
            raise
        except MISFITS as error:
            raise misfit(source.name if isinstance(source, OpenedFile) else source, "model", error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the same parts that a file has."""
        return type(self)._from_parts, self._parts()

    def _parts(self) -> tuple[dict[str, Any], Tensors]:
        own, arrays = self.own_parts()
        header = {
            **own,
            "settings": self.settings,
            "certificate": dataclasses.asdict(self.certificate) if self.certificate else None,
        }
        tensors = {"weights": self.weights, **arrays}
        if self.calibration is not None:
            header["calibration"] = self.calibration.header()
            tensors |= self.calibration.tensors()
        if self.state is not None:
            header["state"] = self.state.header()
            tensors |= self.state.tensors("state.")
        return header, tensors

    @classmethod
    def _from_parts(cls, header: dict[str, Any], tensors: Tensors) -> Self:
        model = cls.from_own_parts(header, tensors)
        model.weights = tensors["weights"]
        model.settings = present_settings(header["settings"])
        model.certificate = _load_certificate(header["certificate"])
        model.state = State.from_parts(header["state"], tensors, "state.") if "state" in header else None
        if "calibration" in header:
            model.calibration = Calibration.from_parts(header["calibration"], tensors)
            model.check_offsets(model.calibration.offsets)
        dimension = model.dimension
        if model.weights.dtype != np.float64 or model.weights.shape != (dimension,):
            raise ValueError(f"{dimension} weights were expected")
        if not _all_finite(model.weights):
            raise ValueError("a weight is NaN or infinite")
        return model


def strongest_places(weights: NDArray[np.float64], count: int) -> list[int]:
    """Return where the weights are that are largest in size and not 0, the largest first.

    Weights are looked at in parts: their order as a whole would take three times as much memory as they do.

    Examples
    --------
    >>> strongest_places(np.array([0.5, 0.0, -2.0]), 3)
    [2, 0]
    """
    found = np.zeros(0, dtype=np.int64)
    for start in range(0, weights.size, _PART):
        found = np.concatenate([found, np.arange(start, min(start + _PART, weights.size))])
        found = found[np.argsort(-np.abs(weights[found]), kind="stable")[:count]]
    return [place for place in found.tolist() if weights[place] != 0]


def _all_finite(weights: NDArray[np.float64]) -> bool:
    return all(np.isfinite(weights[start : start + _PART]).all() for start in range(0, weights.size, _PART))


AnyModel = TypeVar("AnyModel", bound=Model)


class Step(Protocol):
    """What is trained before a model's weights and is a part of it, as the labels of arcs of a parser."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def train(self) -> Result:
        """Train it, and put what comes out into the model."""


class Prepared(NamedTuple, Generic[AnyModel]):
    """A model without weights, the task to train it on, and the run: as it was asked for, with what the task adds.

    `steps` are trained first.
    """

    model: AnyModel
    task: Task
    spec: RunSpec
    steps: Sequence[Step] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem(ABC, Generic[AnyModel]):
    """Training examples, and what a task is to make of them; a task's own problem adds both as fields.

    Attributes
    ----------
    settings : mapping
        More to store in the model.
    """

    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @abstractmethod
    def prepare(self, spec: CheckedSpec) -> Prepared[AnyModel]:
        """Encode the examples. What this puts into the model's settings stays there."""

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training examples as the evaluator of the model takes them, and how many there are.

        `InputError` where none can be held out to calibrate on.
        """
        raise InputError("this task cannot hold out training examples to calibrate on: give --dev")


@dataclasses.dataclass(frozen=True)
class Training(Generic[AnyModel]):
    """A model that is ready to be trained: everything is encoded, and what was read is needed no more.

    Attributes
    ----------
    model : Model
        Without weights so far.
    evaluators : dict
        Score the model after every pass.
    steps : sequence of Step
        Are trained first.
    """

    model: AnyModel
    evaluators: dict[str, Evaluator]
    task: Task
    spec: RunSpec
    settings: Mapping[str, Any]
    feature_seconds: float
    steps: Sequence[Step] = ()

    @classmethod
    def of(
        cls, problem: Problem[AnyModel], spec: RunSpec, evaluation_sets: Mapping[str, Any] | None = None
    ) -> Training[AnyModel]:
        """Encode a problem.

        Parameters
        ----------
        problem : Problem
            What to learn.
        spec : RunSpec
            How.
        evaluation_sets : mapping, optional
            Examples with their gold outputs on which every pass is scored, by `Model.evaluator`.
        """
        spec = checked_spec(spec)
        start = time.perf_counter()
        model, task, run, steps = problem.prepare(spec)
        threads = training_threads(run.algorithm, run.n_threads)
        if threads is None:
            threads = 1 if "needs-GIL" in task.core.capabilities else resolve_threads(None)
        evaluators = {name: model.evaluator(labelled, threads) for name, labelled in (evaluation_sets or {}).items()}
        for name, evaluator in evaluators.items():
            evaluator.warn_of_unseen(name)
        run = dataclasses.replace(run, evaluations=evaluators)
        return cls(model, evaluators, task, run, problem.settings, time.perf_counter() - start, steps)

    def train(self) -> Result:
        """Give the model its weights; the ``seconds`` of the result also have ``features``, the time to encode."""
        shortfalls = [f"{step.name}: {found}" for step in self.steps if (found := step.train().shortfall)]
        _core.give_back_memory()
        result = train_as(self.task, self.spec)
        if shortfalls:
            result = dataclasses.replace(result, shortfall="; ".join(filter(None, [*shortfalls, result.shortfall])))
        result.seconds["features"] = self.feature_seconds
        model = self.model
        model.weights = result.weights
        model.certificate = result.certificate
        model.state = result.state
        model.settings = {
            **result.trace.settings,
            **model.settings,
            "iterations": result.iterations,
            "stopped": result.stopped,
            **self.settings,
            GIVEN: stored_parameters(RunParameters.of(self.spec), result.trace.settings["seed"]),
        }
        return result


def _load_certificate(stored: dict[str, Any] | None) -> Certificate | None:
    if stored is None:
        return None
    certificate = Certificate(**stored)
    numbers = (certificate.primal, certificate.dual, certificate.gap)
    if not all(isinstance(number, float) and math.isfinite(number) for number in numbers):
        raise ValueError("the certificate does not hold numbers")
    if not all(isinstance(flag, bool) for flag in (certificate.exact, certificate.bounded)):
        raise ValueError("the certificate does not say whether it is exact")
    return certificate
