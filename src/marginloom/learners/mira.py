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

    k_best: int = parameter(1, "positive count", "maximum number of candidates per inference")
    loss_augmented: bool = parameter(
        False, "switch", "also update if the prediction is correct but a candidate violates its margin"
    )
    unbounded: bool = parameter(False, "switch", "allow no slack, as if C were infinite")
    qp_tolerance: float = parameter(
        1e-6, "positive", "error of the margins up to which the quadratic program of an update counts as solved"
    )
    qp_sweeps: int = parameter(
        1000, "positive count", "maximum number of sweeps of Hildreth's method over the quadratic program of an update"
    )

    name = "mira"
    losses = ()
    common = frozenset({"C"})
    needs = frozenset({"gold"})
    offers = frozenset({"batches", "mixing"})
    objective = (
        "for each example, the new weights w' minimize 1/2 |w' - w|^2 + C_i xi_i, subject to w'.d(y) >= loss(y) - "
        "xi_i for every violated candidate y"
    )
    update = "w += sum_y alpha(y) d(y), with alpha >= 0 and sum_y alpha(y) <= C_i found by Hildreth's method"
    paper = "Zhao and Huang 2013, Algorithm 3 (after McDonald, Crammer and Pereira 2005)"

    def all_needs(self, loss: str | None = None) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has, where the objective has this loss."""
        return super().all_needs(loss) | ({"loss-augmented"} if self.loss_augmented else set())

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the average, and that in which implicit differences are multiplied."""
        return super().weight_copies(task) + ("implicit" in task.capabilities)
