"""One shard that is learnt and no other; the algorithm is in cpp/engines/subsample.cpp."""

from __future__ import annotations

import dataclasses
from typing import Self

from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine
from marginloom.engines.mixing import SHARDING, check_shards
from marginloom.learners.base import Learner


@dataclasses.dataclass(frozen=True)
class Subsample(Engine):
    """Learn one shard of the examples and no other, on one thread: what mixing must be better than.

    Examples
    --------
    >>> Subsample(shards=4)
    Subsample(shards=4, sharding='shuffled', shuffle=True)
    """

    shards: int = parameter(
        10, "positive count", "number of parts into which the examples are divided; only the first is used for training"
    )
    sharding: str = parameter(
        "shuffled",
        SHARDING,
        "how to divide the examples into shards: at random (shuffled), or in their order (contiguous)",
    )
    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "subsample"
    kinds = frozenset({"online"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    minimum_threads = 1
    paper = "McDonald, Hall and Mann 2010, section 5"

    def training_threads(self, learner: Learner, n_threads: int) -> int:
        """Return 1: there is one shard."""
        return 1

    def settled(self, n_threads: int, n_examples: int) -> Self:
        """Return it; `InputError` if there are more shards than examples."""
        check_shards(self.shards, n_examples)
        return self
