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
        "no slack (pa), slack (pa-i) or squared slack (pa-ii)",
    )
    loss_augmented: bool = parameter(
        False, "switch", "learn from margins that are smaller than the loss, not only from wrong predictions"
    )

    name = "passive-aggressive"
    losses = ()
    common = frozenset({"C"})
    needs = frozenset({"gold"})
    offers = frozenset({"mixing"})
    objective = "per example: 1/2 |w' - w|^2 + C_i xi (pa-i), C_i xi^2 (pa-ii)  with  w'.d >= loss - xi;  pa: xi = 0"
    update = "w += t d,  t = v / |d|^2 (pa), min(C_i, v / |d|^2) (pa-i), v / (|d|^2 + 1/2C_i) (pa-ii),  v = loss - w.d"
    paper = "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006; Chang and Yih 2013, section 4.3"

    def all_needs(self) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has."""
        return super().all_needs() | ({"loss-augmented"} if self.loss_augmented else set())
