"""Batches that threads search together before each step; the algorithm is in cpp/engines/minibatch.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class Minibatch(Engine):
    """Search the examples of a batch in parallel, with the weights fixed, and make one step of what was found.

    Any number of threads gives the same bits, and a batch size of 1 those of the serial engine.

    Examples
    --------
    >>> Minibatch(batch_size=24)
    Minibatch(batch_size=24, shuffle=True)
    """

    batch_size: int = parameter(
        16, "positive count", "number of examples in a minibatch; the weights are updated after each"
    )
    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "minibatch"
    kinds = frozenset({"online"})
    requires = frozenset({"batches"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    minimum_threads = 1
    paper = "Zhao and Huang 2013, Algorithm 5"
