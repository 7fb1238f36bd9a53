"""Dual coordinate descent: description and parameters; the algorithm is in cpp/learners/dcd.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.base import Objective
from marginloom.learners.dual import Dual, costs


@dataclasses.dataclass(frozen=True)
class DCD(Dual):
    """Dual coordinate descent for the structured SVM, squared hinge and hinge.

    Examples
    --------
    >>> DCD(inner_passes=0)
    DCD(delta=0.01, k_best=0, inner_passes=0, sweeps=3, shrinking=0.0, rest=0, averaged=False)
    """

    delta: float = parameter(
        0.01, "positive", "violation from which a candidate is kept; shrinks with the gap, never above this"
    )
    k_best: int = parameter(
        0,
        "count",
        "candidates that one inference may bring; 0 for up to 32 if the task can list its outputs, else 1",
    )
    inner_passes: int = parameter(
        5, "count", "passes over the kept candidates between two passes of inference (the paper's r)", neutral=0
    )
    sweeps: int = parameter(
        3,
        "positive count",
        "sweeps over an example's candidates in one visit, at most; fewer if one gains little; where they are improved "
        "one by one",
    )
    shrinking: float = parameter(
        0.0,
        "not negative",
        "share of the mean gain below which an example is left out of the remaining inner passes of an iteration",
        neutral=0.0,
    )
    rest: int = parameter(
        0,
        "count",
        "inferences that an example without candidates is spared at most while they find nothing",
        neutral=0,
    )
    averaged: bool = parameter(
        False,
        "switch",
        "predict with the mean of the weights over the inner passes of the last iteration",
        neutral=False,
    )

    name = "dcd"
    engines = ("serial", "master-worker", "decoupled", "shared", "pipelined", "columns")
    losses = ("squared_hinge", "hinge")
    update = (
        "a <- max(0, a + (loss - w.d - sum(a) / 2C) / (|d|^2 + 1/2C)), w += change of a * d; "
        "for the hinge all a of an example at once, with sum(a) <= C"
    )
    paper = "Chang and Yih 2013, Algorithms 1 to 3"

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the mean over inner passes: the sum, and itself."""
        return 2 if self.averaged else 0

    def build(self, task: _core.Task, objective: Objective) -> _core.Dcd:
        """Make the native learner for a task."""
        parameters = _core.DcdParameters(
            loss=_core.Loss[objective.loss],
            delta=self.delta,
            k_best=self.k_best,
            inner_passes=self.inner_passes,
            sweeps=self.sweeps,
            shrinking=self.shrinking,
            rest=self.rest,
            averaged=self.averaged,
            memory=objective.memory,
        )
        return _core.Dcd(task, costs(objective), parameters)
