"""One thread, one example after the other."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine
from marginloom.learners.base import Learner


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

    def training_threads(self, learner: Learner, n_threads: int) -> int:
        """Return 1, whatever the number of threads, unless the learner has threads of its own."""
        return n_threads if learner.threaded else 1
