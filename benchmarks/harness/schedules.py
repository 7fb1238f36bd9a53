"""What threads take for a pass, computed from the seconds of every search and of the updates.

Searches that call Python hold the interpreter's lock for a share of their time, and wait for it while another does.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

#: Rounds of searches and updates in a pass of `ms-dcd`.
ROUNDS = 64


@dataclass(frozen=True)
class Measured:
    """Seconds of a pass, of all its threads together.

    Attributes
    ----------
    searches : list of list of float
        Of every search, in the order of the pass; a list for each thread if it is known which thread made which.
    updates : float
        Of all updates together.
    locked : float
        The share of a search in which it holds the interpreter's lock.
    alone : float
        Of the pass while no thread works or waits for another: what the driver does between passes.
    """

    searches: Sequence[Sequence[float]]
    updates: float
    locked: float = 0.0
    alone: float = 0.0

    @property
    def flat(self) -> list[float]:
        """The seconds of all searches."""
        return list(itertools.chain.from_iterable(self.searches))

    def shards(self, threads: int) -> list[list[float]]:
        """Cut the searches into neighbours for every thread; those of a thread that is known stay apart from others."""
        lists = [list(own) for own in self.searches] if threads % len(self.searches) == 0 else [self.flat]
        pieces, found = threads // len(lists), []
        for own in lists:
            bounds = [len(own) * k // pieces for k in range(pieces + 1)]
            found += [own[start:end] for start, end in itertools.pairwise(bounds)]
        return found


def makespan(seconds: Sequence[float], threads: int) -> float:
    """Return when the last thread ends if each takes the next piece of work as soon as it is free."""
    return ending([iter([(0.0, one) for one in seconds])] * threads)


def ending(work: Sequence[Iterator[tuple[float, float]]]) -> float:
    """Return when the last thread ends.

    Each takes its next piece of work as soon as it is free: at first it waits for the interpreter's lock and holds it,
    for the first number of the piece, then it works without it for the second. Threads may share an iterator.
    """
    free = [(0.0, thread) for thread in range(len(work))]
    unlocked = last = 0.0
    while free:
        at, thread = heapq.heappop(free)
        last = max(last, at)
        piece = next(work[thread], None)
        if piece is None:
            continue
        held, rest = piece
        if held:
            at = unlocked = max(at, unlocked) + held
        heapq.heappush(free, (at + rest, thread))
    return last


def _pieces(seconds: Sequence[float], locked: float, more: float = 0.0) -> Iterator[tuple[float, float]]:
    """Return searches as pieces of work, each with some seconds more."""
    return iter([(one * locked, one * (1 - locked) + more) for one in seconds])


def master_worker(pass_: Measured, threads: int) -> float:
    """Return the seconds where all threads search and one updates, in turn, with a barrier after each round."""
    searches = pass_.flat
    bounds = [len(searches) * k // ROUNDS for k in range(ROUNDS + 1)]
    rounds = (_handed_out(searches[a:b], threads) for a, b in itertools.pairwise(bounds))
    return sum(ending([_pieces(one, pass_.locked)] * threads) for one in rounds) + pass_.updates + pass_.alone


def _handed_out(seconds: Sequence[float], threads: int) -> list[float]:
    """Return the pieces of work of a round: a thread takes four searches at a time, or one of few."""
    size = min(max(len(seconds) // (8 * threads), 1), 4)
    return [sum(seconds[k : k + size]) for k in range(0, len(seconds), size)]


def decoupled(pass_: Measured, threads: int) -> float:
    """Return the seconds where one thread learns, and searches when it has nothing to learn; the others search."""
    searches = ending([_pieces(pass_.flat, pass_.locked)] * threads)
    return max(searches + pass_.updates / threads, pass_.updates) + pass_.alone


def shared(pass_: Measured, threads: int) -> float:
    """Return the seconds where every thread searches and updates."""
    return ending([_pieces(pass_.flat, pass_.locked)] * threads) + pass_.updates / threads + pass_.alone


def mixing(pass_: Measured, threads: int) -> float:
    """Return the seconds where every thread has a shard of its own and all wait for the slowest."""
    share = pass_.updates / max(len(pass_.flat), 1)
    return ending([_pieces(own, pass_.locked, share) for own in pass_.shards(threads)]) + pass_.alone


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
