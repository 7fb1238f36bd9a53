"""Fixed-threshold SMO: description and parameters; the algorithm is in cpp/learners/fsmo.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from marginloom.common.parameters import one_of, parameter
from marginloom.core.row import Row
from marginloom.learners.dual import Dual


@dataclasses.dataclass(frozen=True)
class FSMO(Dual):
    """Fixed-threshold sequential minimal optimisation, with constraints in batches.

    Examples
    --------
    >>> FSMO(variant="as-published", scope="all", batch=1).inner_stop
    False
    """

    epsilon: float = parameter(
        0.1,
        "positive",
        "add a constraint if its violation exceeds the slack of its example by this; lowered as the gap shrinks",
    )
    k_best: int = parameter(1, "count", "constraints to take from one inference, at most; 0: 32 for classes, else 1")
    batch: int = parameter(
        0, "count", "examples with new constraints before the problem is solved again; 0: a hundredth of all examples"
    )
    scope: str = parameter(
        "batch",
        one_of("batch", "all"),
        "examples to solve over after a batch: those of the batch, or all",
    )
    variant: str = parameter(
        "pairwise",
        one_of("pairwise", "as-published"),
        "pairwise updates two variables in a step and converges; as-published updates one and may not; both only "
        "where the conditions fail by more than half of epsilon",
    )
    inner_stop: bool = parameter(False, "switch", "stop solving early once sweeps hardly gain any more")
    inner_iterations: int = parameter(2000, "count", "sweeps before --inner-stop has an effect")
    inner_change: float = parameter(0.1, "positive", "a sweep that gains less than this counts towards --inner-stop")
    inner_times: int = parameter(
        5, "positive count", "sweeps in a row with so little gain before --inner-stop ends solving"
    )
    inner_share: float = parameter(
        0.02,
        "not negative",
        "--inner-stop also ends solving if a sweep gains less than this fraction of the gap",
    )
    outer_stop: bool = parameter(
        False, "switch", "stop training early once the dual hardly changes any more", native=False
    )
    outer_change: float = parameter(
        0.001, "positive", "relative change of the dual below which --outer-stop ends training", native=False
    )

    name = "fsmo"
    offers = frozenset({"own blocks"})
    losses = ("hinge",)
    update = (
        "pairwise within an example: t = (g_up - g_down) / |d_up - d_down|^2, a_up += t, a_down -= t, g = loss - w.d"
    )
    paper = "Jiang et al. 2021, Algorithms 1 and 2, sections 3 and 4.2"

    def converged(self, rows: Sequence[Row]) -> str | None:
        """End early if the dual hardly changes, or, as published, not at all."""
        if len(rows) < 2:
            return None
        before, after = rows[-2]["dual"], rows[-1]["dual"]
        change = abs(after - before)
        if self.outer_stop and change < self.outer_change * abs(before):
            return "early"
        return "early" if self.variant == "as-published" and change == 0 else None
