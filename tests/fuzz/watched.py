"""Worker processes that run cases and are watched: one that dies or takes too long is a failed case."""

from __future__ import annotations

import dataclasses
import faulthandler
import multiprocessing
import resource
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

FAILED = "failed"
#: Address space of a worker: a file that asks for more than this must be refused and not believed.
MOST_MEMORY = 6 << 30


@dataclasses.dataclass(frozen=True)
class Finished:
    """A case, with "accepted", "refused" or "failed" and, for the last, what happened."""

    number: int
    subject: str
    outcome: str
    text: str = ""


class _Worker:
    def __init__(self, seed: int, samples: Path, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.connection, other = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=_serve, args=(other, seed, samples, scratch), daemon=True)
        self.process.start()
        other.close()
        self.number: int | None = None
        self.since = 0.0

    def give(self, number: int) -> None:
        self.number = number
        self.since = time.monotonic()
        self.connection.send(number)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_watched(
    seed: int, numbers: Iterator[int], folder: Path, *, workers: int, patience: float
) -> Iterator[Finished]:
    """Run cases in so many processes, and yield them as they finish."""
    from fuzz.cases import subject_of

    def start(place: int) -> _Worker:
        return _Worker(seed, folder / "samples", folder / f"scratch{place}")

    def lost(worker: _Worker, text: str) -> Finished:
        assert worker.number is not None
        return Finished(worker.number, subject_of(seed, worker.number).__name__, FAILED, text)

    crew: dict[int, _Worker] = {}
    try:
        for place in range(workers):
            number = next(numbers, None)
            if number is None:
                break
            crew[place] = start(place)
            crew[place].give(number)
        while crew:
            ready = wait([worker.connection for worker in crew.values()], timeout=1.0)
            for place, worker in list(crew.items()):
                if worker.connection in ready:
                    try:
                        yield worker.connection.recv()
                    except (EOFError, OSError):
                        worker.process.join()
                        yield lost(worker, f"the process died with exit code {worker.process.exitcode}")
                        worker.end()
                        worker = crew[place] = start(place)
                elif time.monotonic() - worker.since > patience:
                    yield lost(worker, f"not done after {patience:g} seconds")
                    worker.end()
                    worker = crew[place] = start(place)
                else:
                    continue
                number = next(numbers, None)
                if number is None:
                    worker.end()
                    del crew[place]
                else:
                    worker.give(number)
    finally:
        for worker in crew.values():
            worker.end()


def _serve(connection: Connection, seed: int, samples: Path, scratch: Path) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from fuzz.cases import run_case, subject_of
    from fuzz.lab import Lab

    lab = Lab(samples, scratch)
    while True:
        try:
            number = connection.recv()
        except (EOFError, OSError):
            return
        subject = subject_of(seed, number).__name__
        try:
            finished = Finished(number, subject, run_case(seed, number, lab))
        except BaseException:
            finished = Finished(number, subject, FAILED, traceback.format_exc())
        connection.send(finished)
