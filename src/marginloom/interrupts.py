"""Ctrl-C while there is something to lose: a request that is seen at the next safe place, not an exception anywhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from marginloom import _core


class Interrupts:
    """What has become of Ctrl-C within `watch_ctrl_c`.

    Attributes
    ----------
    stop : StopFlag
        The request, as native code reads it.
    """

    def __init__(self) -> None:
        self.stop = _core.StopFlag()
        self._deferring = False
        self._answered = False

    def defer(self) -> None:
        """Make the next Ctrl-C a request: from now on there is something to lose."""
        self._deferring = True

    @property
    def requested(self) -> bool:
        """Whether it has come."""
        return self.stop.is_set

    def answer(self) -> bool:
        """Tell whether it has come; who asks here also tells the user, or stops."""
        self._answered = self.requested
        return self._answered

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._deferring or self.requested:
            raise KeyboardInterrupt
        self.stop.set()


_current: Interrupts | None = None  # of the main thread, which alone gets signals


@contextmanager
def watch_ctrl_c() -> Iterator[Interrupts]:
    """Take Ctrl-C for the time of a ``with`` block, or of a function that this decorates.

    Until `Interrupts.defer` is called it raises `KeyboardInterrupt` as always. After that the first one is a request,
    which training looks at after every pass and native code many times a second, so that nothing between the first pass
    and the saved model is cut in two. The second one raises again. A request that nobody has answered is raised at the
    end of the block.

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
    elif _current is not None:
        yield _current
    elif signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield Interrupts()
    else:
        own = Interrupts()
        try:
            _current = own
            signal.signal(signal.SIGINT, own._handle)
            yield own
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _current = None
        if own.requested and not own._answered:
            raise KeyboardInterrupt
