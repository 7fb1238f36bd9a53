"""Inference on all threads with a barrier, updates in one; the engine is in cpp/engines/master_worker.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine
from marginloom.learners.base import Learner


@dataclasses.dataclass(frozen=True)
class MasterWorker(Engine):
    """Inference on all threads with a barrier, updates in one; the result does not depend on the number of threads.

    Examples
    --------
    >>> MasterWorker(rounds=4).gives_same_bits(16), MasterWorker(learners=2).gives_same_bits(16)
    (True, False)
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")
    rounds: int = parameter(
        64,
        "positive count",
        "number of parts of a pass; all inferences of a part use the same weights, which are updated after the part",
        earlier=1,
    )
    learners: int = parameter(
        1,
        "positive count",
        "number of threads that update the weights; with more than one, results differ from run to run",
        earlier=1,
    )

    name = "master-worker"
    kinds = frozenset({"dual"})
    requires = frozenset({"late steps"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes", "shrinking", "averaged"})
    minimum_threads = 1
    in_parts = True
    paper = "Chang, Srikumar and Roth 2013, section 4 (there with --rounds 1)"

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits: only where one thread changes the weights."""
        return self.learners == 1

    def least_threads(self) -> int:
        """Return how many threads it needs: those that learn, which also search."""
        return max(self.minimum_threads, self.learners)

    def lacks(self, learner: Learner) -> frozenset[str]:
        """Return what it requires of a learner and is not offered: for several threads that learn, blocks apart."""
        several = frozenset({"own blocks"}) if self.learners > 1 else frozenset[str]()
        return (self.requires | several) - learner.offers
