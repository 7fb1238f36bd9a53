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
        0.01,
        "positive",
        "keep a candidate if its violation exceeds the slack by more than X; X is lowered as the gap shrinks",
    )
    k_best: int = parameter(
        0,
        "count",
        "maximum number of candidates per inference; 0 means 32 for multiclass classifiers and 1 otherwise",
    )
    inner_passes: int = parameter(
        5, "count", "number of passes over the working set after every pass of inference", neutral=0
    )
    sweeps: int = parameter(
        3,
        "positive count",
        "maximum number of sweeps over the candidates of an example each time its dual variables are updated; there "
        "are fewer if a sweep gains little",
    )
    shrinking: float = parameter(
        0.0,
        "not negative",
        "skip an example in the remaining inner passes once its gain falls below X times the mean gain",
        neutral=0.0,
    )
    rest: int = parameter(
        0,
        "count",
        "skip an example for up to N passes after inference has found no candidate for it",
        neutral=0,
    )
    averaged: bool = parameter(
        False,
        "switch",
        "predict with the average of the weights over the inner passes of the last pass, not with the final weights",
        neutral=False,
    )

    name = "dcd"
    offers = frozenset({"late steps", "steps on copies", "own blocks"})
    takes_states_of = frozenset({"binary-dcd"})
    losses = ("squared_hinge", "hinge")
    update = (
        "alpha(y) <- max(0, alpha(y) + (loss(y) - w.d(y) - S / (2C_i)) / (|d(y)|^2 + 1 / (2C_i))), where S is the "
        "sum of alpha over the candidates of example i; w += (change in alpha(y)) d(y). With hinge loss, alpha is "
        "updated for all candidates of an example together, subject to S <= C_i"
    )
    paper = "Chang and Yih 2013, Algorithms 1 to 3"

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the mean over inner passes: the sum, and itself."""
        return 2 if self.averaged else 0
