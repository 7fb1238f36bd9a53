"""Dependency trees by the heads of their words: what is wrong with them, and whether arcs cross.

The words of a sentence count from 1, and ``heads[i]`` is the head of word i + 1. A head of 0 says that a word is a
root: it hangs on a root at position 0, to the left of all words, and its arc counts as any other.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.common.memory import require_memory

Heads: TypeAlias = "Sequence[int] | NDArray[np.integer]"

EMPTY = "empty"
RANGE = "range"
NO_ROOT = "no root"
CYCLE = "cycle"
ROOTS = "roots"

_LONG = 1000  # words from which on it is worth asking how much memory there is


@dataclasses.dataclass(frozen=True)
class Fault:
    """What keeps heads from being a tree.

    Attributes
    ----------
    kind : str
        `EMPTY`, `RANGE`, `NO_ROOT`, `CYCLE` or `ROOTS`.
    word : int
        The word that has it, from 1; 0 where there is no word.
    text : str
        What was found, as a part of a sentence.
    """

    kind: str
    word: int
    text: str


def find_fault(heads: Heads, one_root: bool) -> Fault | None:
    """Say what keeps heads from being a tree; None if they are one.

    Parameters
    ----------
    heads : sequence of int
        The head of every word, from 1; 0 for roots.
    one_root : bool
        Whether a second root is a fault.

    Examples
    --------
    >>> find_fault([2, 0, 2], one_root=True)
    >>> find_fault([3, 0, 1], one_root=True)
    Fault(kind='cycle', word=1, text='word 1 is below itself, over the heads 3, 1')
    """
    found = _as_list(heads)
    n = len(found)
    if n == 0:
        return Fault(EMPTY, 0, "there is no word")
    if min(found) < 0 or max(found) > n:
        word = next(place for place, head in enumerate(found, 1) if not 0 <= head <= n)
        return Fault(RANGE, word, f"word {word} has the head {found[word - 1]}, and the heads go from 0 to {n}")
    cycle = _find_cycle(found)
    if 0 not in found and len(cycle) > 1:
        return Fault(NO_ROOT, 1, "no word has the head 0, so that there is no root")
    if cycle:
        return Fault(CYCLE, cycle[0], _cycle_text(cycle))
    if one_root and found.count(0) > 1:
        first = found.index(0)
        word = found.index(0, first + 1) + 1
        return Fault(ROOTS, word, f"word {word} has the head 0, and word {first + 1} is a root already")
    return None


def _as_list(heads: Heads) -> list[int]:
    return heads.tolist() if isinstance(heads, np.ndarray) else list(heads)


def _find_cycle(heads: list[int]) -> list[int]:
    """Return the words of a cycle, each followed by its head, of which the first is the leftmost; none if none is."""
    seen = [-1] * (len(heads) + 1)  # by whose climb a word was first passed
    seen[0] = 0
    for start in range(1, len(heads) + 1):
        word = start
        while seen[word] < 0:
            seen[word] = start
            word = heads[word - 1]
        if word and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            first = cycle.index(min(cycle))
            return cycle[first:] + cycle[:first]
    return []


def _cycle_text(cycle: list[int]) -> str:
    if len(cycle) == 1:
        return f"word {cycle[0]} is its own head"
    way = [*cycle[1:], cycle[0]]
    shown = ", ".join(map(str, way if len(way) <= 8 else [*way[:7], "..."]))
    return f"word {cycle[0]} is below itself, over the heads {shown}"


def is_projective(heads: Heads) -> bool:
    """Tell whether no two arcs of a tree cross, in linear time.

    Parameters
    ----------
    heads : sequence of int
        The head of every word, from 1; 0 for roots.

    Examples
    --------
    >>> is_projective([2, 0, 2]), is_projective([3, 0, 2]), is_projective([3, 4, 0, 3])
    (True, False, False)
    """
    found = _as_list(heads)
    opened: list[list[int]] = [[] for _ in range(len(found) + 1)]  # by the left end of arcs, their right ends
    for word, head in enumerate(found, 1):
        if head < word:
            opened[head].append(word)
        else:
            opened[word].append(head)
    around: list[int] = []  # right ends of the arcs over a place, innermost last
    for place, ends in enumerate(opened):
        while around and around[-1] == place:
            around.pop()
        if ends:
            ends.sort(reverse=True)
            if around and ends[0] > around[-1]:
                return False
            around += ends
    return True


def nonprojective_arcs(heads: Heads) -> NDArray[np.int64]:
    """Return the words whose arc to their head is non-projective: some word between the two is not below the head.

    There are such arcs if and only if arcs cross. Where two cross, it may be one of them or both.

    Parameters
    ----------
    heads : sequence of int
        The head of every word of a tree, from 1; 0 for roots.

    Examples
    --------
    >>> nonprojective_arcs([3, 4, 0, 3]).tolist()
    [2]
    """
    if is_projective(heads):
        return np.zeros(0, dtype=np.int64)
    return np.array(_Lifting(_as_list(heads)).nonprojective, dtype=np.int64)


def projectivised(heads: Heads) -> NDArray[np.int64]:
    """Return a projective tree in place of a tree, by lifting arcs.

    While there is a non-projective arc, the shortest one (of several the one with the leftmost modifier) is lifted: its
    modifier is attached to the head of its head. As many words as before are roots if there was one: its root has all
    other words below it, so that none of its arcs is non-projective, and none is lifted to 0. Of a tree with several
    roots more words may become roots.

    Parameters
    ----------
    heads : sequence of int
        The head of every word of a tree, from 1; 0 for roots.

    Returns
    -------
    array of int
        The new heads; a copy of the old ones if these are projective.

    Raises
    ------
    InputError
        If a sentence with crossing arcs is so long that they cannot be lifted in memory.

    Examples
    --------
    >>> projectivised([3, 4, 0, 3]).tolist()
    [3, 3, 0, 3]
    """
    if is_projective(heads):
        return np.array(heads, dtype=np.int64)
    lifting = _Lifting(_as_list(heads))
    lifting.run()
    return np.array(lifting.heads[1:], dtype=np.int64)


class _Lifting:
    """A tree with the words below each word as bits of a number, by which an arc is tested in a few instructions.

    A lift takes words away from below one word, the old head, and changes nothing else, so that only arcs of that
    head, and the one that was lifted, have to be looked at again; and no other arc becomes projective.
    """

    def __init__(self, heads: list[int]) -> None:
        n = len(heads)
        if n > _LONG:
            require_memory(
                f"finding the crossing arcs of a sentence of {n:,} words",
                {"words below each word": n * n // 8},
                "leave out this sentence, or split it",
            )
        self.heads = [0, *heads]
        self._children: list[list[int]] = [[] for _ in range(n + 1)]
        for word in range(1, n + 1):
            self._children[self.heads[word]].append(word)
        self._below = [1 << word for word in range(n + 1)]
        order = [0]
        for word in order:  # which grows: heads before what is below them
            order += self._children[word]
        for word in reversed(order[1:]):
            self._below[self.heads[word]] |= self._below[word]
        #: Words whose arcs are non-projective, in order, before anything is lifted.
        self.nonprojective = [word for word in range(1, n + 1) if self._is_nonprojective(word)]

    def run(self) -> None:
        """Lift arcs until none is non-projective."""
        waiting = [(self._length(word), word) for word in self.nonprojective]
        heapq.heapify(waiting)
        known = set(self.nonprojective)
        while waiting:
            _, word = heapq.heappop(waiting)
            known.remove(word)
            old = self.heads[word]
            self._lift(word)
            for changed in (word, *self._children[old]):
                if changed not in known and self._is_nonprojective(changed):
                    known.add(changed)
                    heapq.heappush(waiting, (self._length(changed), changed))

    def _lift(self, word: int) -> None:
        old = self.heads[word]
        self.heads[word] = self.heads[old]
        self._children[old].remove(word)
        self._children[self.heads[old]].append(word)
        self._below[old] &= ~self._below[word]

    def _length(self, word: int) -> int:
        return abs(word - self.heads[word])

    def _is_nonprojective(self, word: int) -> bool:
        head = self.heads[word]
        left, right = (head, word) if head < word else (word, head)
        between = (1 << right) - (2 << left)
        return bool(between & ~self._below[head])
