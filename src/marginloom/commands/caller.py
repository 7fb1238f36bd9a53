"""Who has called a command, where it is not a user at a terminal, and what they want of it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginloom.tasks.base.model import Training
    from marginloom.training.world import Cluster, Recipe


@dataclasses.dataclass
class Caller:
    """What a caller gives and gets besides arguments.

    Attributes
    ----------
    recipe : Recipe or None
        How other processes run the same command, as far as its arguments say.
    cluster : Cluster or None
        One that was given as an object.
    in_python : bool
        Whether it is a Python program, which decides itself what becomes of warnings.
    task_only : bool
        Whether only the encoded task is wanted.
    serves : bool
        Whether another process drives, and scores, writes and tells.
    training : Training or None
        What the command has encoded, and trained unless `task_only` is set: the answer.
    """

    recipe: Recipe | None = None
    cluster: Cluster | None = None
    in_python: bool = False
    task_only: bool = False
    serves: bool = False
    training: Training[Any] | None = None


_caller: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """Return who has called.

    Examples
    --------
    >>> caller().task_only
    False
    """
    return _caller.get(Caller())


@contextmanager
def called_by(who: Caller) -> Iterator[Caller]:
    """Run a command for somebody, in a ``with`` block.

    Examples
    --------
    >>> with called_by(Caller(task_only=True)):
    ...     caller().task_only
    True
    """
    token = _caller.set(who)
    try:
        yield who
    finally:
        _caller.reset(token)


@contextmanager
def without_words() -> Iterator[None]:
    """Let what is printed go nowhere, for the time of a ``with`` block."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield
