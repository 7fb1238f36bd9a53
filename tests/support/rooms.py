"""Memory that there is, as far as the library can tell."""

from __future__ import annotations

from marginloom.common import memory
from marginloom.common.memory_limits import Room

MB = 1024**2
GB = 1024**3


def set_room(monkeypatch, size):
    """Make the library believe that the process may have so many bytes, and compare all work with that."""
    monkeypatch.setattr(memory, "NEGLIGIBLE", 0)
    monkeypatch.setattr(memory, "memory_room", lambda: Room(int(size), "in this test"))
