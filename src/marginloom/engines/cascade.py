"""Parts that are solved apart and merged, layer by layer; the engine is in cpp/engines/cascade.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from marginloom.common.parameters import one_of, parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class Cascade(Engine):
    """Parts of the working set are solved apart and merged in pairs until one is left; for FSMO.

    Any number of threads and processes gives the same bits, as long as the number of parts is given.

    Examples
    --------
    >>> Cascade(parts=4, feedback=5).gives_same_bits(2), Cascade().gives_same_bits(2)
    (True, False)
    """

    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")
    parts: int = parameter(
        0,
        "count",
        "number of parts of the working set in the first layer, each solved by one thread; 0 means one per thread, or, "
        "on a cluster, one per process, solved by all threads of the process",
    )
    feedback: int = parameter(
        1,
        "positive count",
        "maximum number of runs through the layers; from the second on, the support vectors of the run before are part "
        "of every part",
    )
    storage: str = parameter(
        "local",
        one_of("local", "central"),
        "what is sent to the processes of a cluster: outputs and dual variables, from which each process rebuilds the "
        "feature differences (local), or the feature differences as well (central)",
    )
    rounds: int = parameter(
        100,
        "positive count",
        "number of parts of a pass; all inferences of a part use the same weights",
    )

    name = "cascade"
    kinds = frozenset({"dual"})
    requires = frozenset({"solutions in parts"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    #: Also whose context it is, where its duals began, and four places for blocks.
    example_bytes = 16 + 24 + 4 * 8
    minimum_threads = 1
    in_parts = True
    paper = "Jiang et al. 2021, sections 4.1 and 4.2.1, Algorithm 3"

    def weight_copies(self, n_threads: int) -> int:
        """Return those of every thread, where a solution of several threads began, and what others add to them."""
        return n_threads + 2

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits: with a number of parts, each of which one thread solves."""
        return self.parts > 0 or n_threads == 1

    def why_not(self, capabilities: Collection[str]) -> str | None:
        """Say why it cannot train a task: central storage sends features, and implicit differences have none."""
        if self.storage == "central" and "implicit" in capabilities:
            return "storage=central sends feature differences, and those of this task are not stored; use storage=local"
        return None
