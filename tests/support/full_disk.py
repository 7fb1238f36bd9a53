"""Disks without room, for every user."""

import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

FULL = Path("/dev/full")
needs_full_device = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@contextmanager
def files_end_at(size):
    """Let no file of this process grow beyond a size; as on a full disk, what fits is still written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
