"""Every thread learns some columns of the weights alone; the engine is in cpp/engines/columns.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine, OwnDuals


@dataclasses.dataclass(frozen=True)
class Columns(Engine):
    """Every thread learns eight labels at a time, alone; for labels that do not interact.

    Each label is a binary SVM of its own. The same seed gives the same bits for any number of threads. Decisions that
    are settled are left out of the inner passes as a matter of course.

    Examples
    --------
    >>> sorted(Columns().needs)
    ['decisions']
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "columns"
    kinds = frozenset({"dual"})
    requires = frozenset({"single decisions"})
    needs = frozenset({"decisions"})
    honours = frozenset({"inner_passes", "averaged"})
    ignores = frozenset({"delta", "k_best", "sweeps"})
    minimum_threads = 1
    way_to_need_less = "train some of the labels at a time, which changes nothing for those that do not interact"

    def needs_with(self, loss: str | None) -> frozenset[str]:
        """Return what it needs: where slacks are squared, decisions that share one are not independent."""
        return self.needs | {"own-slacks"} if loss == "squared_hinge" else self.needs

    def own_duals(self, task: _core.Task) -> OwnDuals:
        """Return what it takes: for every decision 8 bytes and a bit."""
        needs = self.native_needs(task, 1)
        return OwnDuals(needs["duals"], needs["state"])
