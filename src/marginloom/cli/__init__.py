"""The command line: the same words as in Python."""

from __future__ import annotations

import os
import sys
import traceback

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from marginloom.errors import MarginloomError

    try:
        from marginloom.cli.app import app

        app(prog_name="marginloom")
    except MarginloomError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        print("marginloom: interrupted", file=sys.stderr)
        sys.exit(130)
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


def _fail(message: str) -> None:
    print(f"marginloom: {message}", file=sys.stderr)
    sys.exit(1)
