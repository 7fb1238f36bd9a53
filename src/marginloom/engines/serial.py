"""One thread, one example after the other."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine, Job


@dataclasses.dataclass(frozen=True)
class Serial(Engine):
    """One thread, one example after the other.

    Examples
    --------
    >>> Serial(shuffle=False)
    Serial(shuffle=False)
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "serial"
    kinds = frozenset({"online", "dual"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes", "shrinking", "rest", "averaged"})
    minimum_threads = 1

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        if isinstance(job.learner, _core.DualLearner):
            return _core.SerialDual(job.dual(self.name, self.shuffle))
        return _core.SerialOnline(job.online(self.name, self.shuffle))
