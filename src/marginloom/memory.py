"""How much memory there is, and what a training run will need of it."""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginloom.errors import InputError
from marginloom.tasks.base import Task

MB = 1024**2
_UNITS = {"": 1, "K": 1024, "M": MB, "G": 1024**3, "T": 1024**4}
_MOST = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """What a run will need, in bytes.

    Attributes
    ----------
    examples : int
        Features and right outputs of the training examples.
    weights : int
        The weights in training, the copy that is returned, and those that an engine keeps for its threads.
    working_sets : int
        At most this much for the candidates that a dual learner keeps; 0 if it keeps none.
    """

    examples: int
    weights: int
    working_sets: int

    def describe(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> MemoryPlan(3 * MB, 20 * MB, 1500 * MB).describe()
        'memory: features 3.0 MB, weights 20.0 MB, working sets up to 1500.0 MB'
        """
        text = f"memory: features {self.examples / MB:.1f} MB, weights {self.weights / MB:.1f} MB"
        if self.working_sets:
            text += f", working sets up to {self.working_sets / MB:.1f} MB"
        return text


def plan_memory(task: Task, budget: int | str | None, *, working_sets: bool, weight_copies: int = 0) -> MemoryPlan:
    """Return what training on a task will need, with a budget for working sets: by default half of what is free."""
    size = parse_size("memory", available_memory() // 2 if budget is None else budget)
    return MemoryPlan(task.memory, (2 + weight_copies) * 8 * task.core.dimension, size if working_sets else 0)


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


def available_memory() -> int:
    """Return the bytes that the system and the container's limits still leave to this process.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    free = min([_free_memory(), *_container_rooms(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])
    return max(2, int(min(free, _MOST)))


def _free_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    except (OSError, ValueError):
        return math.inf


def _container_rooms(membership: Path, mount: Path) -> Iterator[float]:
    """Yield what each control group that the process is in leaves of its limit, of version 2 and of version 1."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            root, names = mount, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root, names = mount / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = root / place.lstrip("/")
        for folder in (group, *group.parents):  # a limit of any group above holds too
            if not folder.is_relative_to(root):
                break
            yield _room(folder, *names)


def _room(folder: Path, limit: str, used: str, reclaimable: str) -> float:
    try:
        text = (folder / limit).read_text().strip()
        if text == "max":
            return math.inf
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        held = int((folder / used).read_text()) - int(statistics.get(reclaimable, 0))
        return max(int(text) - max(held, 0), 0)
    except (OSError, ValueError):
        return math.inf
