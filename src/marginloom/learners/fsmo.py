"""Fixed-threshold SMO: description and parameters; the algorithm is in cpp/learners/fsmo.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from marginloom.common.parameters import one_of, parameter
from marginloom.core.row import Row
from marginloom.learners.dual import HINGE_OBJECTIVE, Dual


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
        "add the constraint of a candidate if its violation exceeds the slack by more than X; X is lowered as the gap "
        "shrinks",
    )
    k_best: int = parameter(
        1, "count", "maximum number of candidates per inference; 0 means 32 for multiclass classifiers and 1 otherwise"
    )
    batch: int = parameter(
        0,
        "count",
        "number of examples with new constraints after which the problem is solved again; 0 means 1 % of all examples",
    )
    scope: str = parameter(
        "batch",
        one_of("batch", "all"),
        "which examples to update after a batch: those of the batch, or all",
    )
    variant: str = parameter(
        "pairwise",
        one_of("pairwise", "as-published"),
        "update rule: pairwise updates two dual variables at a time and converges; as-published updates one, as in the "
        "paper, and may stop far from the optimum. Both update only where the optimality conditions fail by more than "
        "half of epsilon",
    )
    inner_stop: bool = parameter(
        False, "switch", "end the updates after a batch early, by the rules of --inner-change and --inner-share"
    )
    inner_iterations: int = parameter(2000, "count", "number of sweeps before --inner-change applies")
    inner_change: float = parameter(
        0.1,
        "positive",
        "with --inner-stop, end the updates after --inner-times sweeps in a row that each raise the dual by less than "
        "X",
    )
    inner_times: int = parameter(5, "positive count", "number of sweeps in a row for --inner-change")
    inner_share: float = parameter(
        0.02,
        "not negative",
        "with --inner-stop, end the updates after a sweep that raises the dual by less than X times the gap",
    )
    outer_stop: bool = parameter(
        False,
        "switch",
        "end training after a pass in which the relative change of the dual is below --outer-change",
        native=False,
    )
    outer_change: float = parameter(
        0.001,
        "positive",
        "relative change of the dual below which --outer-stop ends training",
        native=False,
    )

    name = "fsmo"
    offers = frozenset({"own blocks", "solutions in parts"})
    losses = ("hinge",)
    objective = HINGE_OBJECTIVE
    update = (
        "for two candidates u and v of an example: alpha(u) += t, alpha(v) -= t, with t = (g(u) - g(v)) / |d(u) - "
        "d(v)|^2, "
        "where g(y) = loss(y) - w.d(y) is the violation of y; t is limited so that alpha(v) does not become negative"
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
