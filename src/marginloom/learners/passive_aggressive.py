"""Passive-aggressive learning: description and parameters; the algorithm is in cpp/learners/passive_aggressive.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import one_of, parameter
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
        "pa-i",
        one_of("pa", "pa-i", "pa-ii"),
        "treatment of the slack: pa allows none, pa-i penalizes it, and pa-ii penalizes its square",
    )
    loss_augmented: bool = parameter(
        False, "switch", "also update if the prediction is correct but a candidate violates its margin"
    )

    name = "passive-aggressive"
    losses = ()
    common = frozenset({"C"})
    needs = frozenset({"gold"})
    offers = frozenset({"mixing"})
    objective = (
        "for each example, the new weights w' minimize 1/2 |w' - w|^2 + C_i xi_i (pa-i) or 1/2 |w' - w|^2 + C_i xi_i^2 "
        "(pa-ii), subject to w'.d(y) >= loss(y) - xi_i; in pa, xi_i = 0"
    )
    update = (
        "w += t d(y), with t = v / |d(y)|^2 (pa), min(C_i, v / |d(y)|^2) (pa-i) or v / (|d(y)|^2 + 1 / (2C_i)) "
        "(pa-ii), where v = loss(y) - w.d(y) is the violation of the candidate y"
    )
    paper = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006; Chang and Yih 2013, section 4.3"

    def all_needs(self, loss: str | None = None) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has, where the objective has this loss."""
        return super().all_needs(loss) | ({"loss-augmented"} if self.loss_augmented else set())
