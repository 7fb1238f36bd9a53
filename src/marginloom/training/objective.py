"""The objective that all learners of structured SVMs share, for weights from anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.core.task import Task
from marginloom.errors import InputError
from marginloom.training.checks import checked_sample_weight
from marginloom.training.world import World


def primal(
    task: Task,
    weights: ArrayLike,
    *,
    C: float = 0.1,
    loss: str = "squared_hinge",
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
    stop: _core.StopFlag | None = None,
    progress: Callable[[int, int], None] | None = None,
    world: World | None = None,
) -> float:
    """Return 1/2 |w|^2 + sum_i C_i loss(slack_i) of any weights, by loss-augmented inference on every example.

    Parameters
    ----------
    task : Task
        The examples.
    weights : array
        As many as the task has dimensions.
    C : float
        Cost of slack per example.
    loss : {"squared_hinge", "hinge"}
        Loss of the slack.
    sample_weight : array, optional
        Factor of C for every example; 0 drops it.
    n_threads : int
        Threads for inference; -1 for all cores. The result does not depend on it.
    stop : StopFlag, optional
        Once it is set, `KeyboardInterrupt` is raised.
    progress : callable, optional
        Called several times a second, with how many examples are done and how many there are.
    world : World, optional
        Who searches; by default this process.

    Returns
    -------
    float
        The objective; an upper bound of it if inference is inexact but bounded; an estimate, which may be too low, if
        it is neither.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> primal(task, np.zeros(task.core.dimension), C=0.5, loss="hinge")
    1.0
    """
    if loss not in ("hinge", "squared_hinge"):
        raise InputError(f"loss must be 'hinge' or 'squared_hinge', not {loss!r}")
    missing = {"gold", "loss-augmented"} - set(task.core.capabilities)
    if missing:
        raise InputError(f"the task {task.name} has no primal, for it lacks: {', '.join(sorted(missing))}")
    C = checked("C", C, "positive")
    costs = C * checked_sample_weight(sample_weight, task.example_count, C)
    numbers = np.ascontiguousarray(weights, dtype=np.float64)
    if numbers.shape != (task.core.dimension,):
        raise InputError(f"weights must have the shape ({task.core.dimension},), not {numbers.shape}")
    threads = resolve_threads(n_threads)
    native = None if world is None else world.native
    found = _core.primal_value(task.core, numbers, costs, _core.Loss[loss], threads, stop, progress, native)
    if not found.complete:
        raise KeyboardInterrupt
    return found.value


def relative_gap(primal: float | None, dual: float | None) -> float | None:
    """Return (primal - dual) / primal, or None where there is no dual.

    Examples
    --------
    >>> relative_gap(2.0, 1.5)
    0.25
    """
    if primal is None or dual is None:
        return None
    if not (math.isfinite(primal) and math.isfinite(dual)):
        raise InputError("the objective is beyond the range of numbers; scale the features or C down")
    return (primal - dual) / primal if primal > 0 else 0.0
