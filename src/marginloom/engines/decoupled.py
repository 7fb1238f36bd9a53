"""One thread learns, or several do, while the others search; the engine is in cpp/engines/decoupled.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class Decoupled(Engine):
    """One thread learns while the others search, without a barrier; results differ a little from run to run.

    Examples
    --------
    >>> Decoupled().minimum_threads
    2
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")
    learners: int = parameter(
        1,
        "positive count",
        "number of threads that update the weights; with more than one, --rho-updates and --rho-inferences have no "
        "effect",
    )
    rho_updates: int = parameter(
        250, "positive count", "number of updates after which the updating thread sends its weights to the others"
    )
    rho_inferences: int = parameter(
        4, "positive count", "number of inferences after which the other threads take over the newest weights"
    )

    least_gain: float = parameter(
        0.1,
        "not negative",
        "while the updating thread is busy, skip candidates whose update would gain less than X times the mean gain",
    )

    name = "decoupled"
    kinds = frozenset({"dual"})
    requires = frozenset({"steps on copies"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes"})
    minimum_threads = 2
    paper = (
        "Chang, Srikumar and Roth 2013, Algorithms 1 and 2; candidates whose dual variable is 0 after an update are "
        "dropped (replaces Equation 9)"
    )

    def weight_copies(self, n_threads: int) -> int:
        """Return how many vectors as large as the weights it keeps beside them, at most."""
        if self.learners > 1:
            return 0
        return 1 if n_threads <= 2 else 2

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits: never, since it depends on which thread is faster."""
        return False

    def least_threads(self) -> int:
        """Return how many threads it needs: those that learn, and one that searches."""
        return self.learners + 1
