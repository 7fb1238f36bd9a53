"""Fixed-threshold SMO: description and parameters; the algorithm is in cpp/learners/fsmo.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.core.row import Row
from marginloom.learners.base import Objective
from marginloom.learners.dual import Dual, costs


@dataclasses.dataclass(frozen=True)
class FSMO(Dual):
    """Fixed-threshold sequential minimal optimisation, with constraints in batches.

    Examples
    --------
    >>> FSMO(variant="as-published", scope="all", batch=1).inner_stop
    False
    """

    epsilon: float = parameter(
        0.1, "positive", "violation beyond the example's slack from which a constraint is added; shrinks with the gap"
    )
    k_best: int = parameter(
        1, "count", "constraints that one inference may bring; 0: up to 32 if outputs can be listed, else 1"
    )
    batch: int = parameter(
        0, "count", "examples with new constraints, of all threads together, before the next solutions; 0 for n/100"
    )
    scope: str = parameter(
        "batch",
        "FSMO scope",
        "what is solved after a batch: its examples, or all (of the thread on shared); after a pass all are",
    )
    variant: str = parameter(
        "pairwise",
        "FSMO variant",
        "pairwise steps, which converge, or the steps of one variable at a time as they were published, which do not; "
        "both where the conditions fail by more than half of epsilon",
    )
    inner_stop: bool = parameter(False, "switch", "end an inner solution early, once it hardly gains any more")
    inner_iterations: int = parameter(2000, "count", "sweeps of an inner solution before it may end early")
    inner_change: float = parameter(0.1, "positive", "gain of a sweep that counts as hardly any")
    inner_times: int = parameter(5, "positive count", "sweeps in a row with hardly any gain that end it")
    inner_share: float = parameter(
        0.02,
        "not negative",
        "share of the gap that a sweep must gain, or it ends too; 0 for the rule above alone",
    )
    outer_stop: bool = parameter(False, "switch", "end training early, once the dual hardly changes any more")
    outer_change: float = parameter(0.001, "positive", "relative change of the dual that counts as hardly any")

    name = "fsmo"
    engines = ("serial", "shared")
    losses = ("hinge",)
    update = (
        "pairwise within an example: t = (g_up - g_down) / |d_up - d_down|^2, a_up += t, a_down -= t, g = loss - w.d"
    )
    paper = "Jiang et al. 2021, Algorithms 1 and 2, sections 3 and 4.2"

    def build(self, task: _core.Task, objective: Objective) -> _core.Fsmo:
        """Make the native learner for a task."""
        parameters = _core.FsmoParameters(
            epsilon=self.epsilon,
            k_best=self.k_best,
            batch=self.batch,
            all_after_batch=self.scope == "all",
            as_published=self.variant == "as-published",
            inner_stop=self.inner_stop,
            inner_iterations=self.inner_iterations,
            inner_change=self.inner_change,
            inner_times=self.inner_times,
            inner_share=self.inner_share,
            memory=objective.memory,
        )
        return _core.Fsmo(task, costs(objective), parameters)

    def converged(self, rows: Sequence[Row]) -> str | None:
        """End early if the dual hardly changes, or, as published, not at all."""
        if len(rows) < 2:
            return None
        before, after = rows[-2]["dual"], rows[-1]["dual"]
        change = abs(after - before)
        if self.outer_stop and change < self.outer_change * abs(before):
            return "early"
        return "early" if self.variant == "as-published" and change == 0 else None
