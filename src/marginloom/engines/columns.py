"""Every thread learns some columns of the weights alone; the engine is in cpp/engines/columns.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine, Job, OwnDuals


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
    needs = frozenset({"decisions"})
    honours = frozenset({"inner_passes", "averaged"})
    ignores = frozenset({"delta", "k_best", "sweeps"})
    minimum_threads = 1
    way_to_need_less = "train some of the labels at a time, which changes nothing for those that do not interact"

    def needs_with(self, loss: str | None) -> frozenset[str]:
        """Return what it needs: where slacks are squared, decisions that share one are not independent."""
        return self.needs | {"own-slacks"} if loss == "squared_hinge" else self.needs

    def buffer_bytes(self, task: _core.Task, n_threads: int) -> int:
        """Return the room for the weights of eight labels and their mean, for every thread."""
        return _core.Columns.needs(task).thread * n_threads

    def own_duals(self, task: _core.Task) -> OwnDuals:
        """Return what it takes: for every decision 8 bytes and a bit."""
        needs = _core.Columns.needs(task)
        return OwnDuals(needs.duals, needs.state)

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        return _core.Columns(job.dual(self.name, self.shuffle))
