"""Inference on all threads with a barrier, updates in one; the engine is in cpp/engines/master_worker.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class MasterWorker(Engine):
    """Inference on all threads with a barrier, updates in one; the result does not depend on the number of threads.

    Examples
    --------
    >>> MasterWorker().minimum_threads
    1
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "master-worker"
    kinds = frozenset({"dual"})
    requires = frozenset({"late steps"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes", "shrinking", "averaged"})
    #: Also where the candidates of a search are, and one of them, which every example has while the weights are 0.
    example_bytes = 16 + 32 + 88
    minimum_threads = 1
    in_parts = True
    paper = "Chang, Srikumar and Roth 2013, section 4"
