"""Passive-aggressive learning: description and parameters; the algorithm is in cpp/learners/passive_aggressive.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.base import Objective
from marginloom.learners.online import Online


@dataclasses.dataclass(frozen=True)
class PassiveAggressive(Online):
    """Passive-aggressive learning: MIRA with one candidate, in closed form.

    Examples
    --------
    >>> PassiveAggressive(variant="pa-ii").variant
    'pa-ii'
    """

    variant: str = parameter(
        "pa-i", "PA variant", "without slack (pa), with the hinge of slack (pa-i) or with its square (pa-ii)"
    )
    loss_augmented: bool = parameter(
        False, "switch", "search with the loss added, for margins below the loss; otherwise for wrong predictions"
    )

    name = "passive-aggressive"
    losses = ()
    common = frozenset({"C"})
    needs = frozenset({"gold"})
    engines = ("serial", "mixing", "subsample")
    objective = "per example: 1/2 |w' - w|^2 + C_i xi (pa-i), C_i xi^2 (pa-ii)  with  w'.d >= loss - xi;  pa: xi = 0"
    update = "w += t d,  t = v / |d|^2 (pa), min(C_i, v / |d|^2) (pa-i), v / (|d|^2 + 1/2C_i) (pa-ii),  v = loss - w.d"
    paper = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006; Chang and Yih 2013, section 4.3"

    def all_needs(self) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has."""
        return super().all_needs() | ({"loss-augmented"} if self.loss_augmented else set())

    def build(self, task: _core.Task, objective: Objective) -> _core.PassiveAggressive:
        """Make the native learner for a task."""
        costs = objective.C * objective.instance_weights
        parameters = _core.PassiveAggressiveParameters(
            variant=_core.PassiveAggressiveVariant[self.variant.replace("-", "_")],
            loss_augmented=self.loss_augmented,
            averaged=self.averaged,
        )
        return _core.PassiveAggressive(task, costs, parameters)
