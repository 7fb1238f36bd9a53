"""The command line: the same words as in Python."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

__all__ = ["main", "run"]

#: Of a library that cannot be loaded.
_SIGNS_OF_LITTLE_MEMORY = ("failed to map segment", "annot allocate memory", "annot create shared object descriptor")


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from marginloom.clusters.launcher import another_process_tells
    from marginloom.commands.streams import fall_silent, leave_standard_output, take_standard_streams
    from marginloom.training.interrupts import acting_as_ctrl_c, ignore_more_signals

    take_standard_streams()
    if another_process_tells(sys.argv[1:]):
        fall_silent()
    _ask_for_little_memory()
    with acting_as_ctrl_c(signal.SIGTERM, signal.SIGHUP):  # of batch systems and containers, and of terminals that go
        try:
            code = run(sys.argv[1:])
        finally:
            ignore_more_signals()
    leave_standard_output()
    sys.exit(code)


def _ask_for_little_memory() -> None:
    """Keep numpy's library from starting a thread per core where address space is limited: it may fail, or never end.

    The program does not multiply large matrices; who does, in a task of another distribution, can set the variable.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def run(arguments: Sequence[str]) -> int:
    """Run the program on standard streams as they are, and return its exit code."""
    from marginloom.commands.ending import let_go_of
    from marginloom.training.interrupts import signals_held_back

    def command() -> None:
        with signals_held_back(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            from marginloom.cli.app import app
            from marginloom.cli.recipes import new_recipe
            from marginloom.commands.caller import Caller, called_by
            from marginloom.commands.common import warnings_as_notes

        with warnings_as_notes(), called_by(Caller(new_recipe(arguments))):
            app(list(arguments), prog_name="marginloom")

    try:
        code = _exit_code(command)
        # What is still in the buffer belongs to the command, and so do the errors of writing it.
        return code or _exit_code(sys.stdout.flush)
    finally:
        let_go_of(sys.stderr)


def _exit_code(action: Callable[[], object]) -> int:
    """Call a function, say in one line what was wrong, and return the exit code."""
    from marginloom.commands.ending import interrupted_exit_code, say
    from marginloom.commands.streams import ReaderGone
    from marginloom.errors import MarginloomError

    try:
        action()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except ReaderGone:
        return 0
    except MarginloomError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        say("marginloom: interrupted")
        return interrupted_exit_code()
    except MemoryError:
        return _failed("there is not enough memory")
    except OSError as error:
        reason = error.strerror or str(error)
        return _failed(f"{error.filename}: {reason}" if error.filename else f"the system says {reason!r}")
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # so Python puts it where a module was being imported
            say("marginloom: interrupted")
            return interrupted_exit_code()
        if isinstance(error, ImportError) and "MARGINLOOM_SIMD" in str(error):  # an environment variable of the user's
            return _failed(f"{error}; unset it, or name one of these")
        if isinstance(error, ImportError) and any(sign in str(error) for sign in _SIGNS_OF_LITTLE_MEMORY):
            return _failed("there is not enough memory to start the program; allow more, see ulimit -v")
        if os.environ.get("MARGINLOOM_TRACEBACK"):
            traceback.print_exc()
        return _failed(
            f"unexpected {type(error).__name__}: {error}; this is a bug, please report it with the output of the same "
            "command after 'export MARGINLOOM_TRACEBACK=1'"
        )
    return 0


def _failed(message: str) -> int:
    from marginloom.commands.ending import say

    say(f"marginloom: {_one_line(message)}")
    return 1


def _one_line(text: str) -> str:
    """Show line ends, and what else a terminal would not show but obey, as Python writes it."""
    from marginloom.io.names import shown

    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shown(text))
