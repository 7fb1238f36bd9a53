"""Block-coordinate Frank-Wolfe: description and parameters; the algorithm is in cpp/learners/frank_wolfe.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import Dual


@dataclasses.dataclass(frozen=True)
class FrankWolfe(Dual):
    """Block-coordinate Frank-Wolfe with line search.

    Examples
    --------
    >>> FrankWolfe(averaged=True)
    FrankWolfe(inner_passes=0, averaged=True)
    """

    inner_passes: int = parameter(
        0, "count", "passes over cached candidates after every pass of inference; 0: no cache", neutral=0
    )
    averaged: bool = parameter(
        False, "switch", "predict with the average of the weights over all steps; later steps count more"
    )

    name = "frank-wolfe"
    losses = ("hinge",)
    update = (
        "towards the corner s = C_i d(y*) of the most violated output: w += gamma (s - w_i), "
        "gamma = clip(gap_i / |s - w_i|^2, 0, 1), w_i = sum_y a_iy d(y)"
    )
    paper = "Chang and Yih 2013, section 4.3 (after Lacoste-Julien et al. 2013)"
    default_max_iter = 500

    def weight_copies(self, task: _core.Task) -> int:
        """Return that in which differences are added up, and those of the average."""
        return 1 + (2 if self.averaged else 0)

    def vector_bytes(self, entries: int) -> int:
        """Return the w_i after the first pass: right and wrong features, each with its index."""
        return 2 * entries * (4 + 8)
