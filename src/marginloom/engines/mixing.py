"""Shards that are learnt apart and mixed; the algorithm is in cpp/engines/mixing.hpp."""

from __future__ import annotations

import dataclasses
from typing import Self

from marginloom.common.parameters import one_of, parameter
from marginloom.engines.base import Engine
from marginloom.errors import InputError

SHARDING = one_of("shuffled", "contiguous")


@dataclasses.dataclass(frozen=True)
class Mixing(Engine):
    """Learn shards of the examples apart, in parallel, and mix the weights: once, or again and again.

    Any number of threads gives the same bits, as long as the number of shards is given.

    Examples
    --------
    >>> Mixing(shards=10, mixing="errors").inner_epochs
    1
    """

    shards: int = parameter(
        0,
        "count",
        "number of parts into which the examples are divided, each trained separately; 0 means one per thread",
    )
    sharding: str = parameter(
        "shuffled",
        SHARDING,
        "how to divide the examples into shards: at random (shuffled), or in their order (contiguous)",
    )
    mixing: str = parameter(
        "uniform",
        one_of("uniform", "errors"),
        "how much each shard counts in the average: equally (uniform), or in proportion to its errors (errors)",
    )
    inner_epochs: int = parameter(
        1, "count", "number of passes over a shard before the weights are averaged; 0 means to average once, at the end"
    )
    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "mixing"
    kinds = frozenset({"online"})
    requires = frozenset({"mixing"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    minimum_threads = 1
    in_parts = True
    paper = "McDonald, Hall and Mann 2010, section 4, Figures 2 and 3"

    def weight_copies(self, n_threads: int) -> int:
        """Return those of the round's start, and of every thread with its average."""
        return 1 + 2 * min(n_threads, self.shards or n_threads)

    def settled(self, n_threads: int, n_examples: int) -> Self:
        """Return it with as many shards as threads, and no more than examples, where their number was not given."""
        check_shards(self.shards, n_examples)
        return self if self.shards else dataclasses.replace(self, shards=max(1, min(n_threads, n_examples)))


def check_shards(count: int, n_examples: int) -> None:
    """Raise `InputError` if there are more shards than examples.

    Examples
    --------
    >>> check_shards(3, 10)
    """
    if count > max(1, n_examples):
        raise InputError(f"shards must be at most the number of training examples, {n_examples}, not {count}")
