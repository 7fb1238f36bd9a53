"""Probabilities of outputs of the user's own, from lists of the best ones: nothing else is known of such a task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.calibration import LEAST_LOG, summed
from marginloom.tasks.base.reliability import expected_calibration_error
from marginloom.tasks.custom.task import CustomTask

#: Outputs that are listed for every input.
LISTED = 10


def shares(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return the probabilities of outputs by their scores, among these outputs.

    Examples
    --------
    >>> shares(np.array([1.0, 1.0]), 0.5).tolist()
    [0.5, 0.5]
    """
    powers = np.exp((scores - scores.max()) / temperature)
    return np.asarray(powers / powers.sum())


class ListLikelihood:
    """The likelihood of gold outputs, each among the best ones of its input and itself.

    Parameters
    ----------
    task : CustomTask
        Inputs with their gold outputs.
    weights : array
        The weights of the model.
    n_threads : int
        Threads to predict with.
    first : int
        Use the examples from this one on.
    """

    def __init__(self, task: CustomTask, weights: NDArray[np.float64], n_threads: int = 1, first: int = 0) -> None:
        assert task.Y is not None
        if "k-best" not in task.core.capabilities:
            raise InputError(
                f"{type(task).__name__} has no method argmax_k_best, so there is no list of outputs to take "
                "probabilities from: add that method"
            )
        self._scores: list[NDArray[np.float64]] = []
        self._right: list[bool] = []
        for i, found in enumerate(task.predict_k_best(weights, LISTED, n_threads)):
            if i < first:
                continue
            gold = task.encode(task.Y[i])
            rest = [score for output, score in found if task.encode(output) != gold]
            indices, values = task.core.gold_features(i)
            self._scores.append(np.array([float(weights[indices] @ values), *rest]))
            self._right.append(task.encode(found[0][0]) == gold)

    @property
    def count(self) -> int:
        """Number of examples."""
        return len(self._scores)

    @property
    def all_right(self) -> bool:
        """Whether every prediction is correct."""
        return all(self._right)

    def log_probabilities(self, temperature: float) -> NDArray[np.float64]:
        """Return the log probability of every gold output."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log([shares(scores, temperature)[0] for scores in self._scores]))

    def __call__(self, temperatures: list[float]) -> NDArray[np.float64]:
        """Return the log likelihood at each temperature."""
        return summed(np.stack([self.log_probabilities(temperature) for temperature in temperatures]), self.all_right)

    def best_offsets(self, temperature: float) -> None:
        """Return None: there are no labels."""
        return

    def quality(self, temperature: float, offsets: NDArray[np.float64] | None) -> tuple[float, float]:
        """Return the mean negative log-likelihood, and the calibration error of the predictions."""
        logs = np.maximum(self.log_probabilities(temperature), LEAST_LOG)
        confidence = [shares(scores, temperature).max() for scores in self._scores]
        return -float(logs.mean()), expected_calibration_error(confidence, self._right)
