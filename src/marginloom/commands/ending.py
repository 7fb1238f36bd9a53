"""Last words, which nobody may be able to read any more, and the exit code of a program that was interrupted."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from marginloom.commands.streams import ReaderGone
from marginloom.errors import InputError
from marginloom.training.interrupts import exit_code


def say(text: str) -> None:
    """Print a line on standard error, if it can be: a closed terminal or a full disk must not cost a run."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        let_go_of(sys.stderr)


def interrupted_exit_code() -> int:
    """Return the exit code after an interruption, and make sure that it comes to that.

    A terminal that was closed sends SIGHUP, and takes no more output: Python would say so with an exit code of its own.
    """
    let_go_of(sys.stdout)
    let_go_of(sys.stderr)
    return exit_code()


def let_go_of(stream: TextIO) -> None:
    """Write what a stream still holds; if that cannot be done, it and all that follows goes nowhere."""
    try:
        stream.flush()
    except (OSError, InputError, ReaderGone):
        with suppress(OSError):  # a stream without a descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
