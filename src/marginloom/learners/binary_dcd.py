"""Dual coordinate descent on one binary SVM per label; the algorithm is in cpp/learners/binary_dcd.hpp."""

from __future__ import annotations

import dataclasses

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

    inner_passes: int = parameter(10, "count", "sweeps over the examples in a pass after the first one")
    averaged: bool = parameter(
        True, "switch", "predict with averaged instead of the last weights; averaged over the last pass"
    )

    name = "binary-dcd"
    kind = "whole-pass"
    offers = frozenset[str]()
    losses = ("squared_hinge", "hinge")
    needs = frozenset({"gold", "decisions"})
    whole_rows = True
    threaded = True
    objective = (
        "1/2 |w|^2 + sum_i C_i sum_c l(xi_ic),  xi_ic = max(0, cost_ic - y_ic w_c.x_i),  y_ic = 1 if label c is gold, "
        "else -1,  l(xi) = xi (hinge) or xi^2 (squared hinge)"
    )
    update = (
        "b <- b + 1.5 (cost - y w.x - y r b) y / (|x|^2 + r), cut to 0 <= y b <= C, w += change of b * x; "
        "r = 0 (hinge), or r = 1/2C and y b has no upper bound (squared hinge)"
    )
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
