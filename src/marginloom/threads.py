"""How many cores the process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

from marginloom.errors import InputError

_MOST_THREADS = 1024


def available_cores() -> int:
    """Return the number of cores that affinity and container limits leave to this process.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _container_limit())))


def _container_limit() -> float:
    limits = [math.inf]
    try:  # control groups, version 2
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()[:2]
        if quota != "max":
            limits.append(int(quota) / int(period))
    except (OSError, ValueError):
        pass
    try:  # version 1
        quota = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text()
        period = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text()
        if int(quota) > 0:
            limits.append(int(quota) / int(period))
    except (OSError, ValueError):
        pass
    return min(limits)


def resolve_threads(n_threads: int) -> int:
    """Turn -1 into all available cores and check that everything else is a positive number.

    Examples
    --------
    >>> resolve_threads(3)
    3
    """
    if isinstance(n_threads, bool) or not hasattr(n_threads, "__index__") or n_threads == 0 or n_threads < -1:
        raise InputError(f"n_threads must be -1 (all cores) or a whole number from 1, not {n_threads!r}")
    if n_threads > _MOST_THREADS:
        raise InputError(f"n_threads must be at most {_MOST_THREADS}, not {n_threads!r}")
    return available_cores() if n_threads == -1 else int(n_threads)
