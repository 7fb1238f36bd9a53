"""All threads search and learn on the same weights; the engine is in cpp/engines/shared.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine, Job


@dataclasses.dataclass(frozen=True)
class Shared(Engine):
    """All threads search and learn on the same weights, without a barrier; results differ a little from run to run.

    Examples
    --------
    >>> Shared(shuffle=False).minimum_threads
    1
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "shared"
    kinds = frozenset({"dual"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes", "shrinking", "rest", "averaged"})
    #: Also whose it is, who has taken it, and the duals to go back to.
    example_bytes = 16 + 16 + 24
    minimum_threads = 1
    paper = "Jiang et al. 2021, section 4.2.2"

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits: only where no other thread changes the weights."""
        return n_threads == 1

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        return _core.Shared(job.dual(self.name, self.shuffle))
