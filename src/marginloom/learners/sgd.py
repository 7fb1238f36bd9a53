"""Stochastic gradient descent: description and parameters; the algorithm is in cpp/learners/sgd.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import HINGE_OBJECTIVE
from marginloom.learners.online import Online


@dataclasses.dataclass(frozen=True)
class SGD(Online):
    """Stochastic gradient descent on the structured SVM with the hinge.

    Examples
    --------
    >>> SGD(eta0=0.25).eta0
    0.25
    """

    averaged: bool = parameter(
        False, "switch", "predict with the average of the weights after every example, not with the final weights"
    )
    eta0: float = parameter(
        0.0,
        "not negative",
        "step size eta0 of the first update; 0 means the best of 1/2, 1/4, 1/8, 1/16 and 1/32 on up to 1,000 examples",
    )

    name = "sgd"
    losses = ("hinge",)
    common = frozenset({"C", "loss"})
    needs = frozenset({"gold", "loss-augmented"})
    objective = HINGE_OBJECTIVE
    update = (
        "w <- (w + eta d(y)) / (1 + eta / (C n)) for the most violated candidate y, with eta = eta0 / (1 + eta0 t / "
        "C)^0.75, where n is the number of training examples, and t the number of examples seen so far divided by n"
    )
    paper = "Chang and Yih 2013, section 4.3 (after Bottou 2004)"

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the average, or that without the factor which they share, and those of trials of steps."""
        trials = 0 if self.eta0 else 1 + self.averaged
        return max(2 if self.averaged else 1, self.averaged + trials)
