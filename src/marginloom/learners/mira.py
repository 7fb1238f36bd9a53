"""MIRA: description and parameters; the algorithm is in cpp/learners/mira.hpp and hildreth.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.online import Online


@dataclasses.dataclass(frozen=True)
class MIRA(Online):
    """Margin infused relaxed algorithm, 1-best and k-best.

    Examples
    --------
    >>> MIRA(k_best=5).k_best
    5
    >>> sorted(MIRA(k_best=5).all_needs())
    ['gold', 'k-best']
    """

    k_best: int = parameter(1, "positive count", "candidates to take from one inference")
    loss_augmented: bool = parameter(
        False, "switch", "learn from margins that are smaller than the loss, not only from wrong predictions"
    )
    unbounded: bool = parameter(False, "switch", "require every margin in full, as if C were infinite")
    qp_tolerance: float = parameter(1e-6, "positive", "tolerance on the margins of a step's quadratic program")
    qp_sweeps: int = parameter(1000, "positive count", "sweeps of Hildreth's method over a quadratic program, at most")

    name = "mira"
    losses = ()
    common = frozenset({"C"})
    needs = frozenset({"gold"})
    offers = frozenset({"batches", "mixing"})
    objective = "per example: 1/2 |w' - w|^2 + C_i xi  with  w'.d(y) >= loss(y) - xi  for the violated candidates y"
    update = "w += sum_y a(y) d(y),  a >= 0,  sum_y a(y) <= C_i,  by Hildreth's method"
    paper = "Zhao and Huang 2013, Algorithm 3 (after McDonald, Crammer and Pereira 2005)"

    def all_needs(self, loss: str | None = None) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has, where the objective has this loss."""
        return super().all_needs(loss) | ({"loss-augmented"} if self.loss_augmented else set())

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the average, and that in which implicit differences are multiplied."""
        return super().weight_copies(task) + ("implicit" in task.capabilities)
