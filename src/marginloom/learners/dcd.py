"""Dual coordinate descent: description and parameters; the algorithm is in cpp/learners/dcd.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import Dual


@dataclasses.dataclass(frozen=True)
class DCD(Dual):
    """Dual coordinate descent for the structured SVM, squared hinge and hinge.

    Examples
    --------
    >>> DCD(inner_passes=0)
    DCD(delta=0.01, k_best=0, inner_passes=0, sweeps=3, shrinking=0.0, rest=0, averaged=False)
    """

    delta: float = parameter(
        0.01, "positive", "keep a candidate if it violates its margin by more than this; lowered as the gap shrinks"
    )
    k_best: int = parameter(
        0,
        "count",
        "maximum number of candidates to take from one inference; 0: 32 for classes, else 1",
    )
    inner_passes: int = parameter(5, "count", "passes over the working set after every pass of inference", neutral=0)
    sweeps: int = parameter(
        3,
        "positive count",
        "maximum number of sweeps over the candidates of an example in one visit; fewer if a sweep gains little",
    )
    shrinking: float = parameter(
        0.0,
        "not negative",
        "skip an example in the remaining inner passes once its gain falls below this fraction of the mean gain",
        neutral=0.0,
    )
    rest: int = parameter(
        0,
        "count",
        "maximum number of passes to skip an example for, while its searches find no candidate",
        neutral=0,
    )
    averaged: bool = parameter(
        False,
        "switch",
        "predict with averaged instead of the last weights; averaged over the inner passes of the last pass",
        neutral=False,
    )

    name = "dcd"
    offers = frozenset({"late steps", "steps on copies", "own blocks"})
    takes_states_of = frozenset({"binary-dcd"})
    losses = ("squared_hinge", "hinge")
    update = (
        "a <- max(0, a + (loss - w.d - sum(a) / 2C) / (|d|^2 + 1/2C)), w += change of a * d; "
        "for the hinge all a of an example at once, with sum(a) <= C"
    )
    paper = "Chang and Yih 2013, Algorithms 1 to 3"

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the mean over inner passes: the sum, and itself."""
        return 2 if self.averaged else 0
