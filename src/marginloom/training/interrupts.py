"""Ctrl-C while there is something to lose: a request that is seen at the next safe place, not an exception anywhere."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """What has become of Ctrl-C within `watch_ctrl_c`.

    Attributes
    ----------
    stop : StopFlag
        The request, as native code reads it.
    """

    def __init__(self) -> None:
        from marginloom import _core  # not before the program can say what is wrong with it (MARGINLOOM_SIMD)

        self.stop = _core.StopFlag()
        self._deferring = False
        self._holding_back = False
        self._answered = False

    def defer(self) -> None:
        """Make the next Ctrl-C a request: from now on there is something to lose."""
        self._deferring = True
        self._holding_back = False

    def hold_back(self) -> None:
        """Let no further Ctrl-C break into what follows: it is short, and what was computed would be lost."""
        self._holding_back = True

    def let_through(self) -> None:
        """Let the next Ctrl-C break in again, as into a file that is being written."""
        self._holding_back = False

    @property
    def requested(self) -> bool:
        """Whether it has come."""
        return self.stop.is_set

    def answer(self) -> bool:
        """Tell whether it has come; who asks here also tells the user, or stops."""
        self._answered = self.requested
        return self._answered

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._deferring:
            _raise_at_once(number, frame)
            return
        _remember(number)
        if self.requested and not self._holding_back:
            raise KeyboardInterrupt
        self.stop.set()


_current: Interrupts | None = None  # of the main thread, which alone gets signals
_first_received: int | None = None
_last_raised = -math.inf

#: Seconds in which another signal is taken for the same wish to end, unless it is a real Ctrl-C: terminals, shells and
#: ``timeout`` send two, and the second one would break into the tidying up after the first.
_SAME_WISH = 1.0


def _remember(number: int) -> None:
    global _first_received
    _first_received = _first_received or number


def _raise_at_once(number: int, frame: FrameType | None) -> None:
    global _last_raised
    _remember(number)
    if number == signal.SIGINT or time.monotonic() - _last_raised > _SAME_WISH:
        _last_raised = time.monotonic()
        raise KeyboardInterrupt


#: Signals that can interrupt, and what handles them where nothing is to be lost. Handlers of others are left alone.
_handlers_at_once: dict[int, Callable[[int, FrameType | None], Any]] = {signal.SIGINT: signal.default_int_handler}


@contextmanager
def acting_as_ctrl_c(*numbers: int) -> Iterator[None]:
    """Make other signals do what Ctrl-C does, also within `watch_ctrl_c`, for the time of a ``with`` block.

    A signal that is ignored, as SIGHUP under nohup, and one that somebody else handles stay as they are. To be used in
    the main thread.

    Examples
    --------
    >>> with acting_as_ctrl_c(signal.SIGTERM), watch_ctrl_c() as interrupts:
    ...     interrupts.defer()
    ...     signal.raise_signal(signal.SIGTERM)
    ...     interrupts.answer(), exit_code()
    (True, 143)
    """
    global _first_received, _last_raised
    _first_received, _last_raised = None, -math.inf
    taken = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    try:
        for number in taken:
            _handlers_at_once[number] = _raise_at_once
            signal.signal(number, _raise_at_once)
        yield
    finally:
        for number in taken:
            del _handlers_at_once[number]
            if signal.getsignal(number) is _raise_at_once:
                signal.signal(number, signal.SIG_DFL)


@contextmanager
def signals_held_back(*numbers: int) -> Iterator[None]:
    """Let signals wait until the end of a ``with`` block, and never go to threads that are started in it.

    Libraries start threads when they are imported. Of two signals that come together the second may go to such a
    thread, and Python up to 3.12 then forgets both until the main thread has something to do with other threads: a
    program that waits for its input would wait on.

    Examples
    --------
    >>> with acting_as_ctrl_c(signal.SIGTERM):
    ...     try:
    ...         with signals_held_back(signal.SIGTERM):
    ...             signal.raise_signal(signal.SIGTERM)
    ...             print("waits")
    ...     except KeyboardInterrupt:
    ...         print("comes")
    waits
    comes
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def signals_ignored(*numbers: int) -> Iterator[None]:
    """Ignore signals for the time of a ``with`` block, in the main thread; elsewhere they do not come anyway.

    Examples
    --------
    >>> with signals_ignored(signal.SIGTERM):
    ...     signal.raise_signal(signal.SIGTERM)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # one that Python did not install
                signal.signal(number, handler)


def ignore_more_signals() -> None:
    """Make sure that a program which was interrupted ends with its own exit code: another signal would end it sooner.

    Called in the block of `acting_as_ctrl_c`, which leaves signals that are ignored then as they are.
    """
    if _first_received is not None:
        for number in _handlers_at_once:
            signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """Return what an interrupted program ends with: 128 and the number of the first signal, as shells have it.

    Examples
    --------
    >>> with acting_as_ctrl_c():
    ...     exit_code()  # of Ctrl-C, if no other signal has come
    130
    """
    return 128 + (_first_received or signal.SIGINT)


@contextmanager
def watch_ctrl_c() -> Iterator[Interrupts]:
    """Take Ctrl-C, and what acts as it does, for the time of a ``with`` block or of a function that this decorates.

    Until `Interrupts.defer` is called it raises `KeyboardInterrupt` as always. After that the first one is a request,
    which training looks at after every pass and native code many times a second, so that nothing between the first pass
    and the saved model is cut in two. The second one raises again, unless it is held back. A request that nobody has
    answered is raised at the end of the block.

    Blocks within a block are part of it: training opens one, and who saves what was trained opens another around both.
    In other threads than the main one, and where somebody else handles the signal, they change nothing.

    Yields
    ------
    Interrupts
        To defer Ctrl-C with, and to ask whether it has come.

    Examples
    --------
    >>> with watch_ctrl_c() as interrupts:
    ...     interrupts.defer()
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.answer()
    True
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts()
        return
    if _current is not None:
        yield _current
        return
    own = Interrupts()
    taken = {number: handler for number, handler in _handlers_at_once.items() if signal.getsignal(number) is handler}
    try:
        _current = own
        for number in taken:
            signal.signal(number, own._handle)
        yield own
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        _current = None
    if own.requested and not own._answered:
        raise KeyboardInterrupt
