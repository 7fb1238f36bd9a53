"""From scores to probabilities that can be relied on: one temperature, and for label sets an offset per label.

The temperature maximises the likelihood of what users see probabilities of: the gold label of every token, the gold arc
of every word, the gold class, whether each label is in the set. It is found by Newton's method in the logarithm of the
temperature, with the derivatives of the likelihood by central differences, within a bracket that every step narrows.
Where there are offsets, those that maximise the likelihood belong to each temperature, and the likelihood of the
temperature is the one with these.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from marginloom.core.marginals import NO_CHOICE, MarginalTask, Outputs, Tempering
from marginloom.errors import CalibrationWarning, InputError
from marginloom.io.model import Tensors
from marginloom.tasks.base.reliability import expected_calibration_error

#: Log likelihoods at several temperatures.
Likelihood = Callable[[list[float]], NDArray[np.float64]]

#: With fewer parts a warning is given.
FEW_PARTS = 100
#: Log probabilities that are smaller count as this one: doubles cannot always tell them apart.
LEAST_LOG = -700.0
#: Limits of the logarithm of the temperature, which even scores of a million stay within.
_WIDEST = 30.0


class CalibrationExamples(NamedTuple):
    """What a model is calibrated on.

    Attributes
    ----------
    task : MarginalTask
        The examples.
    gold : array of uint32
        The gold choices of all parts in a row; `NO_CHOICE` where the model cannot make them.
    """

    task: MarginalTask
    gold: NDArray[np.uint32]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How a model's scores become probabilities, and how well that works on the examples that it was fitted on.

    Attributes
    ----------
    temperature : float
        Probabilities are proportional to exp(score / temperature).
    offsets : array or None
        For label sets: added where a label is present.
    parts : int
        Tokens, words, examples or decisions on labels that it was fitted on.
    log_loss : tuple of float
        Mean negative log-likelihood of the gold parts, at temperature 1 and as fitted.
    calibration_error : tuple of float
        Expected calibration error of the predictions in 15 bins, at temperature 1 and as fitted.
    """

    temperature: float
    offsets: NDArray[np.float64] | None
    parts: int
    log_loss: tuple[float, float]
    calibration_error: tuple[float, float]

    @property
    def tempering(self) -> Tempering:
        """The temperature and the offsets, for a task."""
        return Tempering(self.temperature, self.offsets)

    def header(self) -> dict[str, Any]:
        """Return what is not an array, as a file's header has it."""
        stored = dataclasses.asdict(self)
        del stored["offsets"]
        return stored

    def tensors(self) -> Tensors:
        """Return the arrays under the names that they have in a file."""
        return {} if self.offsets is None else {"calibration.offsets": self.offsets}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Calibration:
        """Put together what `header` and `tensors` returned; `ValueError` if it is something else."""
        offsets = tensors.get("calibration.offsets")
        pairs = [tuple(map(_number, header[name])) for name in ("log_loss", "calibration_error")]
        temperature = _number(header["temperature"])
        if temperature <= 0 or any(len(pair) != 2 for pair in pairs) or type(header["parts"]) is not int:
            raise ValueError("the calibration is damaged")
        if offsets is not None and (offsets.dtype != np.float64 or offsets.ndim != 1 or not np.isfinite(offsets).all()):
            raise ValueError("the offsets of the calibration are damaged")
        return cls(temperature, offsets, header["parts"], (pairs[0][0], pairs[0][1]), (pairs[1][0], pairs[1][1]))

    def describe(self) -> str:
        """Return a line for users."""
        offsets = "" if self.offsets is None else f" and {self.offsets.size} offsets"
        return (
            f"temperature {self.temperature:.4g}{offsets}, fitted on {self.parts:,} decisions: log loss "
            f"{self.log_loss[0]:.4f} before and {self.log_loss[1]:.4f} after, calibration error "
            f"{self.calibration_error[0]:.4f} before and {self.calibration_error[1]:.4f} after"
        )


def _number(stored: Any) -> float:
    if isinstance(stored, bool) or not isinstance(stored, (int, float)) or not math.isfinite(stored):
        raise ValueError("the calibration does not hold numbers")
    return float(stored)


class PartLikelihood(Protocol):
    """The likelihood of what users see probabilities of, on examples that training did not see.

    Attributes
    ----------
    count : int
        How many decisions there are.
    all_right : bool
        Whether every prediction is correct.
    """

    @property
    def count(self) -> int:
        """Number of decisions."""

    @property
    def all_right(self) -> bool:
        """Whether every prediction is correct."""

    def __call__(self, temperatures: list[float]) -> NDArray[np.float64]:
        """Return the log likelihood at each temperature."""

    def best_offsets(self, temperature: float) -> NDArray[np.float64] | None:
        """Return the offsets that maximise the likelihood at a temperature; None for tasks without."""

    def quality(self, temperature: float, offsets: NDArray[np.float64] | None) -> tuple[float, float]:
        """Return the mean negative log-likelihood, and the calibration error of the predictions."""


def calibrated(likelihood: PartLikelihood) -> Calibration:
    """Fit a calibration on examples that training did not see."""
    if likelihood.count == 0:
        raise InputError("there is nothing to calibrate on: no example has a gold label that the model knows")
    temperature = fitted_temperature(likelihood)
    offsets = likelihood.best_offsets(temperature)
    (loss, error), (fitted_loss, fitted_error) = likelihood.quality(1.0, None), likelihood.quality(temperature, offsets)
    result = Calibration(temperature, offsets, likelihood.count, (loss, fitted_loss), (error, fitted_error))
    _warn(result, likelihood.all_right)
    return result


def _warn(result: Calibration, all_right: bool) -> None:
    if all_right:
        text = (
            f"calibration: all {result.parts:,} decisions are correct, so they do not say how often the model errs; "
            "the probabilities assume one error among as many; give more examples, which training did not see"
        )
    elif result.parts < FEW_PARTS:
        text = (
            f"calibration: {result.parts} decisions are few, and the probabilities may be far off; give at least "
            f"{FEW_PARTS}"
        )
    else:
        return
    warnings.warn(CalibrationWarning(text), stacklevel=4)


class TaskLikelihood:
    """The likelihood of gold parts at a temperature, with the offsets that are best there if labels have some.

    Parameters
    ----------
    examples : CalibrationExamples
        Examples that training did not see.
    weights : array
        The weights of the model.
    n_threads : int
        Threads to compute likelihoods with.
    first : int
        Use the examples from this one on.
    """

    def __init__(
        self, examples: CalibrationExamples, weights: NDArray[np.float64], n_threads: int = 1, first: int = 0
    ) -> None:
        task = examples.task
        task.require_marginals()
        before = int(task.core.part_counts[:first].sum())
        self._task, self._weights, self._n_threads, self._first = task, weights, n_threads, first
        self._gold = np.ascontiguousarray(examples.gold[before:])
        self._found = np.ascontiguousarray(task.choices(task.core.predict(weights, n_threads, 1))[before:])
        known = self._gold != NO_CHOICE
        # What constraints forbid has probability 0 at every temperature.
        known[known] = np.isfinite(self._logs([1e6], None, self._gold)[0][known])
        self._known = known
        self.count = int(np.count_nonzero(known))
        self._labels: int = task.core.offset_count
        self._offsets = np.zeros(self._labels)

    @property
    def all_right(self) -> bool:
        """Whether every prediction is correct."""
        return bool((self._found == self._gold)[self._known].all())

    def __call__(self, temperatures: list[float]) -> NDArray[np.float64]:
        """Return the log likelihood at each temperature, and one error more where there is none."""
        if self._labels == 0:
            logs = self._logs(temperatures, None, self._gold)[:, self._known]
        else:
            logs = np.stack([self._with_best_offsets(temperature) for temperature in temperatures])
        return summed(logs, self.all_right)

    def best_offsets(self, temperature: float) -> NDArray[np.float64] | None:
        """Return the offsets that maximise the likelihood at a temperature; None for tasks without."""
        if self._labels:
            self._with_best_offsets(temperature)
        return self._offsets.copy() if self._labels else None

    def quality(self, temperature: float, offsets: NDArray[np.float64] | None) -> tuple[float, float]:
        """Return the mean negative log-likelihood, and the calibration error of the predictions."""
        logs = np.maximum(self._logs([temperature], offsets, self._gold)[0][self._known], LEAST_LOG)
        confidence = np.exp(self._logs([temperature], offsets, self._found)[0][self._known])
        right = (self._found == self._gold)[self._known]
        return -float(logs.mean()), expected_calibration_error(confidence, right)

    def _logs(
        self, temperatures: list[float], offsets: NDArray[np.float64] | None, choices: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        outputs = Outputs(choices)
        return self._task.log_likelihoods(
            self._weights, temperatures, offsets, outputs, self._n_threads, first=self._first
        )

    def _with_best_offsets(self, temperature: float) -> NDArray[np.float64]:
        """Move the offsets to where the number of labels that is expected is that of the gold labels.

        The log odds of a label are linear in its own offset. Where labels interact, those of the others change with it,
        so that it is done several times, from the last offsets on.
        """
        present = np.ones_like(self._gold)
        gold = np.where(self._known, self._gold, 0).reshape(-1, self._labels)
        known = self._known.reshape(-1, self._labels)
        for _ in range(_MOST_ROUNDS):
            on = self._logs([temperature], self._offsets, present)[0]
            off = self._logs([temperature], self._offsets, present * 0)[0]
            change = best_shifts((on - off).reshape(-1, self._labels), gold, known, self._offsets)
            self._offsets += change
            if np.abs(change).max(initial=0) < 1e-6:
                break
        return np.asarray(self._logs([temperature], self._offsets, self._gold)[0][self._known])


def summed(logs: NDArray[np.float64], all_right: bool) -> NDArray[np.float64]:
    """Return the log likelihood of decisions (columns) at each temperature (row); of one error more if all are right.

    Examples
    --------
    >>> summed(np.log([[0.5, 0.5]]), False).round(3).tolist()
    [-1.386]
    """
    sums = np.maximum(logs, LEAST_LOG).sum(axis=1)
    if all_right:
        with np.errstate(divide="ignore"):
            sums += np.log(-np.expm1(logs).mean(axis=1))
    return np.asarray(sums)


#: Of searches for offsets, where labels interact; two are enough where they do not.
_MOST_ROUNDS = 30


def best_shifts(
    log_odds: NDArray[np.float64],
    gold: NDArray[Any],
    known: NDArray[np.bool_],
    offsets: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return for every label (column) what to add to its log odds, which contain `offsets`.

    It maximises the likelihood of the gold labels with a normal prior of variance 1 on the offset, which a label that
    is always or never there needs, by Newton's method with limited steps.

    Examples
    --------
    >>> odds, gold = np.zeros((1000, 1)), (np.arange(1000) < 250).reshape(-1, 1)
    >>> best_shifts(odds, gold, np.ones_like(gold), np.zeros(1)).round(2).tolist()
    [-1.09]
    """
    shift = np.zeros(log_odds.shape[1])
    for _ in range(60):
        probabilities = _logistic(log_odds + shift)
        slope = np.where(known, gold - probabilities, 0).sum(axis=0) - (offsets + shift)
        bend = np.where(known, probabilities * (1 - probabilities), 0).sum(axis=0) + 1
        step = np.clip(slope / bend, -1, 1)
        shift += step
        if np.abs(step).max(initial=0) < 1e-9:
            break
    return shift


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def fitted_temperature(likelihood: Likelihood) -> float:
    """Return the temperature of the greatest likelihood.

    Newton's method in the logarithm of the temperature. A step that would leave the bracket, or that goes where the
    likelihood is not concave, is replaced by one that halves the bracket, or goes on uphill while there is none.

    Examples
    --------
    >>> round(fitted_temperature(lambda temperatures: -np.log(np.array(temperatures) / 3.0) ** 2), 3)
    3.0
    """
    near = 1e-3
    low, high = -_WIDEST, _WIDEST
    at = 0.0
    for _ in range(100):
        left, here, right = likelihood([math.exp(at - near), math.exp(at), math.exp(at + near)]).tolist()
        slope = (right - left) / (2 * near)
        bend = (right - 2 * here + left) / near**2
        if math.isfinite(slope):
            low, high = (at, high) if slope > 0 else (low, at)
        else:  # only at temperatures that are too low for a double
            low, slope, bend = at, 1.0, 0.0
        limit = 2.0
        step = -slope / bend if bend < 0 and math.isfinite(bend) else math.copysign(limit, slope)
        step = min(max(step, -limit), limit)
        if not low < at + step < high:
            step = (low + high) / 2 - at
        at += step
        if abs(step) < 1e-5 or high - low < 1e-5:
            break
    return math.exp(at)
