"""Standard input, output and error of the program, also where they are closed, full or read by nobody."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from marginloom.errors import InputError
from marginloom.io.names import shown

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT = 1
_STDERR = 2
_AS_NUMBERS = "marginloom.as-numbers"


class ReaderGone(Exception):  # noqa: N818
    """Whoever reads standard output has had enough, which is not an error."""


class _Output(io.FileIO):
    """Standard output, whose failures are sentences; one that is closed fails when something is written."""

    def __init__(self, closed_before: bool) -> None:
        super().__init__(_STDOUT, "w", closefd=False)
        self._closed_before = closed_before

    def write(self, data: ReadableBuffer, /) -> int:
        if self._closed_before:
            raise InputError("cannot write to standard output: it is closed; give it somewhere to go")
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderGone from error
        except OSError as error:
            raise InputError(f"cannot write to standard output: the system says {error.strerror!r}") from error


class _Messages(io.FileIO):
    """Standard error: what nobody can read must not end the work that it is about."""

    def __init__(self) -> None:
        super().__init__(_STDERR, "w", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def take_standard_streams() -> None:
    """Make output and error streams that fail as the program should; call it before any file is opened.

    A closed descriptor would go to the next file that is opened, and messages would be written into a model: each gets
    the null device instead.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, so this one
    closed = sys.stdout is None
    sys.stdout = _text(_Output(closed), sys.stdout, sys.stdout is not None and sys.stdout.isatty())
    sys.stderr = _text(_Messages(), sys.stderr, True)


def fall_silent() -> None:
    """Say nothing any more and end at no signal: another process of the job does that for all."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def leave_standard_output() -> None:
    """Drop what could not be written, lest the interpreter try again at its end."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, _STDOUT)
        os.close(null)
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def _as_numbers(error: UnicodeError) -> tuple[str | bytes, int]:
    """Show a letter that an encoding does not have by its number, and a byte of a file's name as messages do."""
    assert isinstance(error, UnicodeEncodeError)
    letter = error.object[error.start]
    if shown(letter) != letter:
        return shown(letter), error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error(_AS_NUMBERS, _as_numbers)


def _text(raw: io.FileIO, like: TextIO | None, by_line: bool) -> TextIO:
    """Return a text stream in which letters that its encoding does not have are shown by their numbers."""
    encoding = "utf-8" if like is None else like.encoding
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=_AS_NUMBERS, line_buffering=by_line)
