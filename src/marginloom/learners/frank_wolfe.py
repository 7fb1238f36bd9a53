"""Block-coordinate Frank-Wolfe: description and parameters; the algorithm is in cpp/learners/frank_wolfe.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import HINGE_OBJECTIVE, Dual


@dataclasses.dataclass(frozen=True)
class FrankWolfe(Dual):
    """Block-coordinate Frank-Wolfe with line search.

    Examples
    --------
    >>> FrankWolfe(averaged=True)
    FrankWolfe(inner_passes=0, averaged=True)
    """

    inner_passes: int = parameter(
        0, "count", "number of passes over the working set after every pass of inference", neutral=0
    )
    averaged: bool = parameter(
        False,
        "switch",
        "predict with the average of the weights over all updates, not with the final weights; later updates count "
        "more",
    )

    name = "frank-wolfe"
    losses = ("hinge",)
    objective = HINGE_OBJECTIVE
    update = (
        "w += gamma (C_i d(y) - w_i) for the most violated candidate y of example i, where w_i = sum_y alpha(y) d(y) "
        "is the "
        "example's part of w. The step gamma = clip(gap_i / |C_i d(y) - w_i|^2, 0, 1) maximizes the dual along this "
        "line; gap_i is the example's part of the gap"
    )
    paper = "Chang and Yih 2013, section 4.3 (after Lacoste-Julien et al. 2013)"
    default_max_iter = 500

    def weight_copies(self, task: _core.Task) -> int:
        """Return that in which differences are added up, and those of the average."""
        return 1 + (2 if self.averaged else 0)

    def vector_bytes(self, entries: int) -> int:
        """Return the w_i after the first pass: right and wrong features, each with its index."""
        return 2 * entries * (4 + 8)
