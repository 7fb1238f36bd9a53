"""Every thread learns some columns of the weights alone; the engine is in cpp/engines/columns.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.engines.base import Engine, Job
from marginloom.parameters import parameter


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
    ignores = frozenset({"delta", "k_best", "sweeps", "memory"})
    minimum_threads = 1

    def needs_with(self, loss: str | None) -> frozenset[str]:
        """Return what it needs: where slacks are squared, decisions that share one are not independent."""
        return self.needs | {"own-slacks"} if loss == "squared_hinge" else self.needs

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        return _core.Columns(job.dual(self.name, self.shuffle))
