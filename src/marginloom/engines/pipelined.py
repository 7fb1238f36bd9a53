"""One thread makes the steps, the others own the weights; the engine is in cpp/engines/pipelined.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class Pipelined(Engine):
    """One thread makes all steps in turn while others compute scores and apply the steps; for classes and labels.

    Takes as many passes as one thread, and the same seed and number of threads give the same bits.

    Examples
    --------
    >>> Pipelined().minimum_threads
    3
    """

    scorers: int = parameter(
        0,
        "count",
        "number of threads that each store a part of the weights and compute scores with it; 0 means a third of all "
        "threads. One of the other threads computes the updates; the rest prepare them by multiplying inputs",
    )
    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "pipelined"
    kinds = frozenset({"dual"})
    requires = frozenset({"steps on copies"})
    needs = frozenset({"factored"})
    whole_rows = True
    honours = frozenset({"inner_passes", "shrinking", "rest", "averaged"})
    minimum_threads = 3

    def least_threads(self) -> int:
        """Return how many threads it needs: those that own weights, one that learns and one that multiplies."""
        return max(self.minimum_threads, self.scorers + 2)
