"""Shards that are learnt apart and mixed; the algorithm is in cpp/engines/mixing.hpp."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.engines.base import Engine, Job
from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class Mixing(Engine):
    """Learn shards of the examples apart, in parallel, and mix the weights: once, or again and again.

    Any number of threads gives the same bits, as long as the number of shards is given.

    Examples
    --------
    >>> Mixing(shards=10, mixing="errors").inner_epochs
    1
    """

    shards: int = parameter(0, "count", "parts of the examples that are learnt apart; 0: as many as threads")
    sharding: str = parameter("shuffled", "sharding", "how examples are dealt out: at random by the seed, or in runs")
    mixing: str = parameter(
        "uniform", "mixing", "share of a shard in the mixed weights: the same for all, or by its wrong examples"
    )
    inner_epochs: int = parameter(
        1, "count", "passes over a shard before weights are mixed and handed out again; 0: mix once, at the end"
    )
    shuffle: bool = parameter(True, "switch", "visit the examples of a shard in a new random order in every pass")

    name = "mixing"
    kinds = frozenset({"online"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    minimum_threads = 1
    paper = "McDonald, Hall and Mann 2010, section 4, Figures 2 and 3"

    def weight_copies(self, n_threads: int) -> int:
        """Return those of the round's start, and of every thread with its average."""
        return 1 + 2 * min(n_threads, self.shards or n_threads)

    def settled(self, n_threads: int, n_examples: int) -> Self:
        """Return it with as many shards as threads, and no more than examples, where their number was not given."""
        return self if self.shards else dataclasses.replace(self, shards=max(1, min(n_threads, n_examples)))

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        native = job.online(self.name, self.shuffle)
        shards = self.settled(job.n_threads, job.examples.size).shards
        options = _core.MixingOptions(by_errors=self.mixing == "errors", inner_epochs=self.inner_epochs)
        return _core.Mixing(native, _shards(job, shards, self.sharding), options)


@dataclasses.dataclass(frozen=True)
class Subsample(Engine):
    """Learn one shard of the examples and no other, on one thread: what mixing must be better than.

    Examples
    --------
    >>> Subsample(shards=4)
    Subsample(shards=4, sharding='shuffled', shuffle=True)
    """

    shards: int = parameter(10, "positive count", "parts of the examples, of which the first is learnt")
    sharding: str = parameter("shuffled", "sharding", "how examples are dealt out: at random by the seed, or in runs")
    shuffle: bool = parameter(True, "switch", "visit the examples in a new random order in every pass")

    name = "subsample"
    kinds = frozenset({"online"})
    needs = frozenset[str]()
    honours = frozenset[str]()
    minimum_threads = 1
    paper = "McDonald, Hall and Mann 2010, section 5"

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
        sample = dataclasses.replace(job, examples=_shards(job, self.shards, self.sharding)[0])
        return _core.SerialOnline(sample.online(self.name, self.shuffle))


def _shards(job: Job, count: int, sharding: str) -> list[NDArray[np.uint64]]:
    if count > max(1, job.examples.size):
        raise InputError(f"shards must be at most the number of training examples, {job.examples.size}, not {count}")
    return _core.make_shards(job.examples, count, sharding == "shuffled", job.seed)
