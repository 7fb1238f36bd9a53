"""Dual coordinate descent on one binary SVM per label; the algorithm is in cpp/learners/binary_dcd.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import Dual


@dataclasses.dataclass(frozen=True)
class BinaryDCD(Dual):
    """Dual coordinate descent on one binary SVM per label, for labels that do not interact.

    A thread learns eight labels at a time, alone, so that the same seed gives the same bits for any number of threads.
    Decisions that are settled are left out of the inner passes as a matter of course.

    Examples
    --------
    >>> BinaryDCD(averaged=False)
    BinaryDCD(inner_passes=10, averaged=False)
    >>> sorted(BinaryDCD().all_needs("hinge"))
    ['decisions', 'gold']
    """

    inner_passes: int = parameter(10, "count", "number of further sweeps over the examples in every pass")
    averaged: bool = parameter(
        True,
        "switch",
        "predict with the average of the weights over the sweeps of the last pass, not with the final weights",
    )

    name = "binary-dcd"
    kind = "whole-pass"
    offers = frozenset[str]()
    losses = ("squared_hinge", "hinge")
    needs = frozenset({"gold", "decisions"})
    whole_rows = True
    threaded = True
    objective = (
        "1/2 |w|^2 + sum_i C_i sum_c l(xi_ic), where xi_ic = max(0, cost_ic - y_ic w_c.x_i) for example i and label "
        "c, and l(xi) = xi (hinge) or xi^2 (squared hinge)"
    )
    update = (
        "alpha <- alpha + 1.5 (cost_ic - y_ic w_c.x_i - r alpha) / (|x_i|^2 + r), limited to 0..C_i; w_c += (change in "
        "alpha) y_ic x_i. With hinge loss, r = 0; with squared hinge, r = 1 / (2C_i) and alpha has no upper limit"
    )
    symbols: ClassVar[Mapping[str, str]] = {
        "w": "the weights; w_c: those of label c",
        "x_i": "the features of example i",
        "y_ic": "1 if label c is gold for example i, otherwise -1",
        "cost_ic": "the cost of an error",
        "xi_ic": "the slack",
        "alpha": "the dual variable of example i and label c",
    }
    paper = "after Hsieh et al. 2008"
    #: Rows are what it keeps something of, and that is part of the dual variables.
    example_bytes = 0
    takes_states_of = frozenset({"dcd"})
    way_to_need_less = "train some of the labels at a time, which changes nothing for those that do not interact"

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the mean over the sweeps: the mean, and a copy of it for whoever asks for the weights."""
        return 2 if self.averaged else 0

    def all_needs(self, loss: str | None = None) -> frozenset[str]:
        """Return what it needs: where slacks are squared, decisions that share one are not independent."""
        return self.needs | {"own-slacks"} if loss == "squared_hinge" else self.needs
