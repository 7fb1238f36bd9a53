"""Standard input as a training file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from marginloom.commands.common import usage_error
from marginloom.io.files import StrPath


def check_standard_input(files: Iterable[StrPath], resume: bool) -> None:
    """Raise an error of usage if standard input is to be read twice: in this run, or by one that goes on."""
    reads = list(files).count("-")
    if reads > 1:
        raise usage_error("- stands for standard input, which can be read only once: name files for the others")
    if reads and resume and not _is_file():
        raise usage_error(
            "--resume reads the training file again, and what came through standard input is gone: name a file"
        )


def _is_file() -> bool:
    try:
        return stat.S_ISREG(os.fstat(0).st_mode)
    except OSError:
        return False
