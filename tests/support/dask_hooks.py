"""What tests do to the workers of a Dask cluster, in their own processes."""

import os
import signal
from pathlib import Path

from marginloom.clusters import dask_worker
from marginloom.training.part import Part

_USUAL = Part.answer, dask_worker._part


def _strike(flag, number):
    """Send a signal to this process, if no other worker has been struck."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return
    Path(f"{flag}.pid").write_text(str(os.getpid()))
    os.kill(os.getpid(), number)


def strike_at(question, times, flag, number=signal.SIGKILL):
    """Let the worker be struck that is the first to be asked something so many times; "reading" is before that."""
    disarm()
    left = [times]
    if question == "reading":

        def part(order, processes):
            _strike(flag, number)
            return _USUAL[1](order, processes)

        dask_worker._part = part
        return

    def answer(self, asked, *given):
        if asked == question:
            left[0] -= 1
            if not left[0]:
                _strike(flag, number)
        return _USUAL[0](self, asked, *given)

    Part.answer = answer


def spoil_identity(name):
    """Let the worker say something else of itself."""

    def answer(self, asked, *given):
        self.identity[name] = "another"
        return _USUAL[0](self, asked, *given)

    Part.answer = answer


def disarm():
    """Let the worker be as it was."""
    Part.answer, dask_worker._part = _USUAL
    dask_worker._kept.clear()
