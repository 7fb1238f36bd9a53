"""The command line: the same words as in Python."""

from __future__ import annotations

import os
import signal
import sys
import traceback

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from marginloom.interrupts import acting_as_ctrl_c, ignore_more_signals

    with acting_as_ctrl_c(signal.SIGTERM, signal.SIGHUP):  # of batch systems and containers, and of terminals that go
        try:
            _run()
        finally:
            ignore_more_signals()


def _run() -> None:
    from marginloom.cli.ending import interrupted_exit_code, let_go_of, say
    from marginloom.errors import MarginloomError
    from marginloom.interrupts import signals_held_back

    try:
        with signals_held_back(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            from marginloom.cli.app import app

        app(prog_name="marginloom")
    except MarginloomError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        say("marginloom: interrupted")
        sys.exit(interrupted_exit_code())
    except MemoryError:
        _fail("there is not enough memory")
    except OSError as error:
        _fail(f"{error.filename or 'a file'}: {error.strerror or error}")
    except Exception as error:
        if os.environ.get("MARGINLOOM_TRACEBACK"):
            traceback.print_exc()
        _fail(
            f"unexpected {type(error).__name__}: {error}; this is a bug, please report it with the output of the same "
            "command after 'export MARGINLOOM_TRACEBACK=1'"
        )
    finally:
        let_go_of(sys.stderr)


def _fail(message: str) -> None:
    from marginloom.cli.ending import say

    say(f"marginloom: {message}")
    sys.exit(1)
