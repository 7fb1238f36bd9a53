"""What of its host a process may take where others of the same job run beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


@dataclasses.dataclass(frozen=True)
class HostShare:
    """The share of one process of a job.

    Attributes
    ----------
    processes : int
        Processes of the job on this host, which share its free memory.
    cores : int or None
        Cores that are left to this process; None for all that it may use.
    memory : int or None
        Bytes that this process may have altogether, where somebody has set a limit of its own.
    """

    processes: int = 1
    cores: int | None = None
    memory: int | None = None


_share: ContextVar[HostShare] = ContextVar("share of the host")


def host_share() -> HostShare:
    """Return the share of this process; all of the host unless `sharing_host` says otherwise.

    Examples
    --------
    >>> host_share().processes
    1
    """
    return _share.get(HostShare())


@contextmanager
def sharing_host(share: HostShare) -> Iterator[None]:
    """Let a process take its share only, for the time of a ``with`` block.

    Examples
    --------
    >>> with sharing_host(HostShare(processes=4)):
    ...     host_share().processes
    4
    """
    token = _share.set(share)
    try:
        yield
    finally:
        _share.reset(token)
