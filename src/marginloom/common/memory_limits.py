"""How much memory this process may still take: what the system has free, and the limits that are set on it."""

from __future__ import annotations

import dataclasses
import math
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from marginloom.common.host_share import HostShare, host_share

_MOST = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Room:
    """Memory that may still be taken.

    Attributes
    ----------
    size : int
        In bytes.
    reason : str
        Why it is not more.
    """

    size: int
    reason: str


def memory_room() -> Room:
    """Return what the system, the control groups and the limits of the process still leave to it.

    Processes of one job on a host have equal shares of what they have in common.

    Examples
    --------
    >>> memory_room().size > 0
    True
    """
    share = host_share()
    shared = f", shared by {share.processes} processes" if share.processes > 1 else ""
    rooms = [
        (_free_memory() / share.processes, f"free on this machine{shared}"),
        *(
            (size / share.processes, f"left by the limit of its control group{shared}")
            for size in control_group_rooms(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
        ),
        (_own_room(share), "left by the memory limit of its worker"),
        (_limit_room(resource.RLIMIT_AS, 0), "left by the limit of its address space, see ulimit -v"),
        (_limit_room(resource.RLIMIT_DATA, 5), "left by the limit of its data, see ulimit -d"),
    ]
    size, reason = min(rooms, key=lambda room: room[0])
    return Room(max(2, int(min(size, _MOST))), reason)


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


def _own_room(share: HostShare) -> float:
    return math.inf if share.memory is None else max(share.memory - _in_use(1), 0)


def _limit_room(limit: int, field: int) -> float:
    """Return what a limit of the process leaves of itself; the field of statm says how much is in use."""
    most = resource.getrlimit(limit)[0]
    if most == resource.RLIM_INFINITY:
        return math.inf
    return max(most - _in_use(field), 0)


def _in_use(field: int) -> int:
    """Return the bytes that a field of statm says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0  # not told on this system


def control_group_rooms(membership: Path, mount: Path) -> Iterator[float]:
    """Yield what each control group that the process is in leaves of its limit, of version 2 and of version 1.

    Parameters
    ----------
    membership : path
        The file with the groups of the process.
    mount : path
        The folder in which groups are shown.

    Yields
    ------
    float
        Bytes; infinity for a group without a limit.

    Examples
    --------
    >>> list(control_group_rooms(Path("no such file"), Path("no such folder")))
    []
    """
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
            yield _group_room(folder, *names)


def _group_room(folder: Path, limit: str, used: str, reclaimable: str) -> float:
    try:
        text = (folder / limit).read_text().strip()
        if text == "max":
            return math.inf
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        held = int((folder / used).read_text()) - int(statistics.get(reclaimable, 0))
        return max(int(text) - max(held, 0), 0)
    except (OSError, ValueError):
        return math.inf
