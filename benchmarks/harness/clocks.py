"""Both clocks, of the wall and of the CPU: for training that is watched, and for calls of other libraries."""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from numpy.typing import NDArray

from marginloom import Callback

#: What a clock's alarm is: the second is the process's CPU time, of all its threads.
TIMERS = {"wall": (signal.ITIMER_REAL, signal.SIGALRM), "cpu": (signal.ITIMER_PROF, signal.SIGPROF)}


class Watch(Callback):
    """Measure every pass from outside, and end a run that has used up its budget of training seconds by its clock.

    As the first evaluation of a run it is called right after a pass, so that neither clock sees what is
    measured for the record alone. A pass that is still running at one and a half times the budget is interrupted and
    does not count.
    """

    stop_reason = "budget"

    def __init__(self, budget: float, clock: str) -> None:
        self.budget = budget
        self.clock = clock
        self.timer, self.signal = TIMERS[clock]
        self.cpu_seconds = 0.0
        self.used_up = False
        self._started = 0.0

    def before_training(self, run: Any) -> None:
        """Take over the alarm."""
        signal.signal(self.signal, self._interrupt)

    def before_iteration(self, run: Any) -> None:
        """Set the alarm and start the clock of the CPU."""
        used = self.cpu_seconds if self.clock == "cpu" else run.seconds["train"]
        if math.isfinite(self.budget):
            signal.setitimer(self.timer, max(1.5 * self.budget - used, 0.01))
        self._started = time.process_time()

    def __call__(self, weights: NDArray[Any]) -> dict[str, float]:
        """Stop both, and return the CPU seconds since the start of training."""
        signal.setitimer(self.timer, 0)
        self.cpu_seconds += time.process_time() - self._started
        return {"seconds": self.cpu_seconds}

    def after_iteration(self, run: Any, row: dict[str, Any]) -> bool:
        """Tell whether the budget is used up."""
        return bool((self.cpu_seconds if self.clock == "cpu" else row["seconds"]) >= self.budget)

    def after_training(self, run: Any) -> None:
        """Switch the alarm off."""
        signal.setitimer(self.timer, 0)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.used_up = True
        raise KeyboardInterrupt


class Alarm(Callback):
    """Measure training from its first pass to its end by one clock, and interrupt it when it has used up a budget."""

    def __init__(self, budget: float | None, clock: str) -> None:
        self.seconds = math.inf
        self._budget = budget
        self._timer, self._signal = TIMERS[clock]
        self._now = time.process_time if clock == "cpu" else time.perf_counter

    def before_training(self, run: Any) -> None:
        """Set the alarm."""
        signal.signal(self._signal, _interrupt)
        if self._budget is not None:
            signal.setitimer(self._timer, self._budget)
        self._started = self._now()

    def after_training(self, run: Any) -> None:
        """Switch it off."""
        signal.setitimer(self._timer, 0)
        self.seconds = self._now() - self._started


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Clocks:
    """Seconds of both clocks while they were running."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the clocks run within a ``with`` block."""
        wall, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations that were not enough: the primal tells
            yield
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
