"""What work will need of memory, compared with what there is before it is taken."""

from __future__ import annotations

import dataclasses
import numbers
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from marginloom import _core
from marginloom.errors import InputError, MemoryWarning
from marginloom.memory_limits import memory_room

if TYPE_CHECKING:
    from marginloom.algorithms import Algorithm
    from marginloom.tasks.base import Task

WayOut: TypeAlias = "str | Callable[[], str]"

MB = 1024**2
#: Bytes of a weight.
WEIGHT = 8
#: Bytes of a pair of numbers in a list.
PAIR_BYTES = 80
_MOST_WEIGHTS = 2**32 - 1  # their numbers have 32 bits
_UNITS = {"": 1, "K": 1024, "M": MB, "G": 1024**3, "T": 1024**4}
_MOST = 2**63 - 1


def require_memory(work: str, needs: Mapping[str, int], way_out: WayOut) -> None:
    """Compare what work needs with what there is, before it is taken.

    Parameters
    ----------
    work : str
        What needs it, the beginning of a sentence.
    needs : mapping
        Bytes by what they are for.
    way_out : str or callable
        How to need less, for the user; called only if it is told.

    Raises
    ------
    InputError
        If it is more than this process may have.

    Warns
    -----
    MemoryWarning
        If it is more than half of that.

    Examples
    --------
    >>> require_memory("a matrix", {"coefficients": 2**60}, "take fewer columns")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: a matrix needs 1073741824.0 GB of memory, and this process may have ...
    """
    total = sum(needs.values())
    room = memory_room()
    if 2 * total <= room.size:
        return
    parts = [f"{name} {readable_size(size)}" for name, size in needs.items() if size]
    advice = way_out if isinstance(way_out, str) else way_out()
    needed = f"{work} needs {readable_size(total)} of memory" + (f" ({', '.join(parts)})" if len(parts) > 1 else "")
    if total > room.size:
        raise InputError(f"{needed}, and this process may have {readable_size(room.size)} ({room.reason}); {advice}")
    warnings.warn(
        f"{needed}, more than half of the {readable_size(room.size)} that this process may have ({room.reason}); "
        f"if it runs short: {advice}",
        MemoryWarning,
        stacklevel=3,
    )


def readable_size(size: int) -> str:
    """Return a number of bytes in the unit that suits it; units are powers of 1024.

    Examples
    --------
    >>> readable_size(3 * MB), readable_size(1536 * MB), readable_size(71)
    ('3.0 MB', '1.5 GB', '71 bytes')
    """
    for unit, factor in (("GB", 1024 * MB), ("MB", MB), ("KB", 1024)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def check_weight_count(rows: int, labels: int, way_out: Callable[[], str]) -> None:
    """Raise `InputError` if a task has more weights than can be numbered: rows with one for every label.

    Examples
    --------
    >>> check_weight_count(10**8, 300, lambda: "take fewer labels")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: 100,000,000 features times 300 labels make 30,400,000,000 weights, which would ...
    """
    count = rows * _core.padded(labels)
    if count > _MOST_WEIGHTS:
        raise InputError(
            f"{rows:,} features times {labels:,} labels make {count:,} weights, which would take "
            f"{readable_size(WEIGHT * count)}; this process may have {readable_size(memory_room().size)}, and there "
            f"can be {_MOST_WEIGHTS:,} weights at most; {way_out()}"
        )


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """What a run will need, in bytes.

    Attributes
    ----------
    examples : int
        Features and right outputs of the training examples, which are there already.
    weights : int
        The weights in training, and all vectors as large: averages, those of an engine's threads, that of a state.
    vectors : int
        What a learner keeps of every example from the first pass on, beside working sets.
    buffers : int
        For the inference of all threads.
    working_sets : int
        At most this much for the candidates that a dual learner keeps; 0 if it keeps none.
    """

    examples: int
    weights: int
    vectors: int
    buffers: int
    working_sets: int

    @property
    def needs(self) -> dict[str, int]:
        """What has to be taken, by what it is for."""
        return {"weights": self.weights, "vectors of the examples": self.vectors, "buffers": self.buffers}

    def describe(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> MemoryPlan(3 * MB, 20 * MB, 0, MB, 1500 * MB).describe()
        'memory: features 3.0 MB, weights 20.0 MB, buffers 1.0 MB, working sets up to 1500.0 MB'
        """
        text = f"memory: features {self.examples / MB:.1f} MB, weights {self.weights / MB:.1f} MB"
        for name, size in list(self.needs.items())[1:]:
            if size >= MB / 20:  # what would be shown as 0.0 is left out
                text += f", {name} {size / MB:.1f} MB"
        if self.working_sets:
            text += f", working sets up to {self.working_sets / MB:.1f} MB"
        return text


def plan_memory(
    task: Task, algorithm: Algorithm, n_threads: int, budget: int | str | None, *, keeps_state: bool = False
) -> MemoryPlan:
    """Return what training on a task will need, having compared it with what there is.

    Parameters
    ----------
    task : Task
        What is to be learnt.
    algorithm : Algorithm
        By whom.
    n_threads : int
        Threads that it may use.
    budget : int or str, optional
        For working sets; by default half of what the rest leaves free.
    keeps_state : bool
        Whether a state is made, for a checkpoint or a warm start.

    Returns
    -------
    MemoryPlan
        Which fits into what there is.

    Raises
    ------
    InputError
        If it is more than this process may have, or the budget is no size.

    Examples
    --------
    >>> from marginloom.algorithms import find_algorithm
    >>> from marginloom.tasks.sequence import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> plan_memory(task, find_algorithm("dcd-ssvm"), 1, None).weights
    384
    """
    learner, engine = algorithm.learner, algorithm.engine
    copies = learner.weight_copies(task.core.capabilities) + engine.weight_copies(n_threads) + int(keeps_state)
    plan = MemoryPlan(
        examples=task.memory,
        weights=WEIGHT * task.core.dimension * (1 + copies),
        vectors=learner.vector_bytes(task.entries),
        buffers=task.buffer_bytes * n_threads,
        working_sets=0,
    )
    given = None if budget is None else parse_size("memory", budget)
    require_memory("training", plan.needs, lambda: _way_out(task, algorithm, n_threads))
    if "memory" not in learner.common:
        return plan
    free = max(memory_room().size - sum(plan.needs.values()), 2)
    return dataclasses.replace(plan, working_sets=free // 2 if given is None else given)


def _way_out(task: Task, algorithm: Algorithm, n_threads: int) -> str:
    ways = [task.way_to_need_less()]
    copies_of_threads = algorithm.engine.weight_copies(n_threads)
    if n_threads > 1 and (copies_of_threads or task.buffer_bytes):
        ways.append(f"take fewer threads than {n_threads}")
    if copies_of_threads or algorithm.learner.weight_copies(task.core.capabilities):
        ways.append(f"take an algorithm that keeps fewer copies of the weights than {algorithm.name}: dcd-ssvm has one")
    return ", or ".join(ways)


def parse_size(name: str, size: Any) -> int:
    """Return a number of bytes, given as such or as a text with a unit; K, M, G and T are powers of 1024.

    Examples
    --------
    >>> parse_size("memory", "1.5K")
    1536
    """
    found = size
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE | re.ASCII)
        found = int(float(match[1]) * _UNITS[match[2].upper()]) if match and len(size) < 100 else None
    if isinstance(found, bool) or not isinstance(found, numbers.Integral) or not 1 <= int(found) <= _MOST:
        raise InputError(f"{name} must be a number of bytes from 1, or a size such as '500M' or '2G', not {size!r}")
    return int(found)
