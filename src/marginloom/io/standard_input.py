"""Standard input that can be interrupted at any moment, also just before it waits for what comes next."""

from __future__ import annotations

import functools
import io
import os
import select
import signal
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

from marginloom.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class _InterruptibleInput(io.RawIOBase):
    """What comes through a descriptor.

    Python handles a signal before its next instruction. One that arrives between the last instruction and a blocking
    call would wait for the input, too. So the call waits for the input or a signal, which writes to a pipe.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._descriptor = source.fileno()

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if threading.current_thread() is threading.main_thread():  # which alone handles signals
            self._wait()
        return os.readv(self._descriptor, [buffer])

    def _wait(self) -> None:
        heard, told = os.pipe()
        try:
            os.set_blocking(told, False)
            before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
            try:
                while self._descriptor not in select.select([self._descriptor, heard], [], [])[0]:
                    os.read(heard, 64)  # the number of a signal, which Python now handles
            finally:
                signal.set_wakeup_fd(before)
        finally:
            os.close(heard)
            os.close(told)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


@functools.lru_cache(maxsize=1)
def _interruptible(source: BinaryIO) -> BinaryIO:
    return io.BufferedReader(_InterruptibleInput(source))


def standard_input() -> BinaryIO:
    """Return standard input as a stream of bytes, the same one every time; `InputError` if it is closed."""
    if sys.stdin is None:  # so the interpreter says that it is closed
        raise InputError("cannot read standard input: it is closed; give it something to read, or name a file")
    stream = sys.stdin.buffer
    try:
        stream.fileno()
    except (OSError, ValueError):  # somebody has put another stream in its place, or has closed it
        return stream
    return _interruptible(stream)
