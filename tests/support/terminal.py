"""The program in a terminal of so many columns, and what it shows there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from support.program import PROGRAM, TIMEOUT, environment

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def shown_lines(columns, *arguments):
    """Run the program in a terminal, expect no error, and return its lines, also those that it has overwritten."""
    driver, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    own = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [PROGRAM, *map(os.fspath, arguments)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**own, "TERM": "xterm"},
    ) as program:
        os.close(terminal)
        said = b"".join(_pieces(driver))
        assert program.wait(TIMEOUT) == 0, said.decode()
    os.close(driver)
    lines = re.split(r"[\r\n]+", _CONTROL.sub("", said.decode()))
    return [line.rstrip() for line in lines if line.strip()]


def _pieces(driver):
    while True:
        try:
            piece = os.read(driver, 1 << 16)
        except OSError:  # the program has ended
            return
        if not piece:
            return
        yield piece
