"""How many cores the process may use."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

from marginloom.common.host_share import host_share
from marginloom.errors import InputError

_MOST_THREADS = 1024


def available_cores() -> int:
    """Return the number of cores that affinity, container limits and other processes of a job leave to this process.

    Affinity is asked for every time. Container limits are looked up once: they are in files, and prediction of one
    example takes less time than reading those.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = max(1, math.ceil(min(usable, container_limit())))
    share = host_share().cores
    return cores if share is None else max(1, min(cores, share))


@functools.cache
def container_limit(groups: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> float:
    """Return the cores that control groups, of version 2 or 1, leave to this process: the least of all it is in."""
    versions = {"": ("cpu.max",), "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us")}
    folders = {(controller, groups / controller) for controller in versions}  # of a container, its own
    for controllers, group in _memberships(membership):
        for controller in versions.keys() & set(controllers.split(",")):
            root = groups / controller
            own = root / group.lstrip("/")
            folders |= {(controller, folder) for folder in (own, *own.parents) if folder.is_relative_to(root)}
    return min(_quota(folder, versions[controller]) for controller, folder in folders)


def _memberships(path: Path) -> list[tuple[str, str]]:
    """Return controllers and path of every control group that the process is in."""
    try:
        lines = [line.split(":", 2) for line in path.read_text().splitlines()]
    except OSError:
        return []
    return [(line[1], line[2]) for line in lines if len(line) == 3]


def _quota(folder: Path, files: tuple[str, ...]) -> float:
    try:
        quota, period = " ".join((folder / name).read_text() for name in files).split()
        return int(quota) / int(period) if quota != "max" and int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def resolve_threads(n_threads: int | None) -> int:
    """Turn -1 and None into all available cores and check that everything else is a positive number.

    Examples
    --------
    >>> resolve_threads(3)
    3
    """
    if n_threads is None:
        return available_cores()
    if isinstance(n_threads, bool) or not hasattr(n_threads, "__index__") or n_threads == 0 or n_threads < -1:
        raise InputError(f"n_threads must be -1 (all cores) or a whole number from 1, not {n_threads!r}")
    if n_threads > _MOST_THREADS:
        raise InputError(f"n_threads must be at most {_MOST_THREADS}, not {n_threads!r}")
    return available_cores() if n_threads == -1 else int(n_threads)
