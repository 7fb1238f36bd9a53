"""What threads take for a pass, computed from the seconds of every search and of the updates.

Searches hold the interpreter's lock for a share of their time, so that no number of threads does a pass in less than
the sum of these shares.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Rounds of searches and updates in a pass of `ms-dcd`.
ROUNDS = 64


@dataclass(frozen=True)
class Measured:
    """Seconds of a pass, of all its threads together.

    Attributes
    ----------
    searches : list of float
        Of every sentence, in the order of the pass.
    updates : float
        Of all updates together.
    locked : float
        Of the searches, while they hold the interpreter's lock.
    """

    searches: Sequence[float]
    updates: float
    locked: float = 0.0


def makespan(seconds: Sequence[float], threads: int) -> float:
    """Return when the last thread ends if each takes the next piece of work as soon as it is free."""
    free = [0.0] * threads
    for one in seconds:
        heapq.heappush(free, heapq.heappop(free) + one)
    return max(free)


def master_worker(pass_: Measured, threads: int) -> float:
    """Return the seconds where all threads search and one updates, in turn, with a barrier after each round."""
    size, searches = len(pass_.searches), pass_.searches
    bounds = [size * k // ROUNDS for k in range(ROUNDS + 1)]
    parts = (makespan(_handed_out(searches[a:b], threads), threads) for a, b in itertools.pairwise(bounds))
    return max(sum(parts), pass_.locked) + pass_.updates


def _handed_out(seconds: Sequence[float], threads: int) -> list[float]:
    """Return the pieces of work of a round: a thread takes four searches at a time, or one of few."""
    size = min(max(len(seconds) // (8 * threads), 1), 4)
    return [sum(seconds[k : k + size]) for k in range(0, len(seconds), size)]


def decoupled(pass_: Measured, threads: int) -> float:
    """Return the seconds where one thread learns, and searches when it has nothing to learn; the others search."""
    return max((sum(pass_.searches) + pass_.updates) / threads, pass_.updates, pass_.locked)


def shared(pass_: Measured, threads: int) -> float:
    """Return the seconds where every thread searches and updates."""
    return max(makespan(pass_.searches, threads) + pass_.updates / threads, pass_.locked)


def mixing(pass_: Measured, threads: int) -> float:
    """Return the seconds where every thread has a shard of its own and all wait for the slowest."""
    size = len(pass_.searches)
    share = pass_.updates / max(size, 1)
    bounds = [size * k // threads for k in range(threads + 1)]
    pairs = itertools.pairwise(bounds)
    return max(max(sum(pass_.searches[a:b]) + share * (b - a) for a, b in pairs), pass_.locked)


def in_order(seconds: Sequence[float], works: Sequence[float], threads: int) -> float:
    """Return what the slowest thread takes if each has as many neighbours of a batch (minibatch-2013, Figure 1b)."""
    size = len(seconds)
    bounds = [size * k // threads for k in range(threads + 1)]
    return max(sum(seconds[start:end]) for start, end in itertools.pairwise(bounds))


def dealt(seconds: Sequence[float], works: Sequence[float], threads: int) -> float:
    """Return the same if each in turn gets the shortest and the longest that are left (Figure 1c)."""
    order = sorted(range(len(seconds)), key=lambda k: works[k])
    loads = [0.0] * threads
    for turn in range((len(order) + 1) // 2):
        for k in {order[turn], order[-1 - turn]}:
            loads[turn % threads] += seconds[k]
    return max(loads)


def longest_first(seconds: Sequence[float], works: Sequence[float], threads: int) -> float:
    """Return the same if each takes the longest that is left as soon as it is free, as the engine does."""
    order = sorted(range(len(seconds)), key=lambda k: -works[k])
    return makespan([seconds[k] for k in order], threads)


#: How the searches of a batch are shared out among threads.
BATCH_PLANS: dict[str, Callable[[Sequence[float], Sequence[float], int], float]] = {
    "in their order": in_order,
    "dealt out": dealt,
    "longest first": longest_first,
}


def share_of_batches(
    seconds: Sequence[float], works: Sequence[float], size: int, threads: int, plan: str = "longest first"
) -> float:
    """Return what the searches of a pass take on so many threads, with a barrier after each batch; 1 on one thread."""
    threads = min(threads, size)
    if threads == 1:
        return 1.0
    starts = range(0, len(seconds), size)
    return sum(BATCH_PLANS[plan](seconds[k : k + size], works[k : k + size], threads) for k in starts) / sum(seconds)


def share_of_shards(seconds: Sequence[float], shards: int) -> float:
    """Return what the slowest of so many threads takes, each with a shard, of a pass on one thread."""
    bounds = [len(seconds) * k // shards for k in range(shards + 1)]
    return max(sum(seconds[start:end]) for start, end in itertools.pairwise(bounds)) / sum(seconds)


SCHEDULES: dict[str, Callable[[Measured, int], float]] = {
    "ms-dcd": master_worker,
    "demi-dcd": decoupled,
    "shared-dcd": shared,
    "ipm": mixing,
}
