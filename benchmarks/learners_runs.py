"""Runs of learners.py: one learner on one data set, watched from pass to pass, stored so that it is not repeated."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from learners_data import DataSet
from numpy.typing import NDArray

from marginloom.algorithms import find_algorithm
from marginloom.tasks.base.task import Task
from marginloom.training.callbacks import Callback
from marginloom.training.checks import check_loss
from marginloom.training.objective import primal, relative_gap
from marginloom.training.run import Run
from marginloom.training.trace import Row
from marginloom.training.train import train

#: What a clock's alarm is: the second is the process's CPU time, of all its threads.
TIMERS = {"wall": (signal.ITIMER_REAL, signal.SIGALRM), "cpu": (signal.ITIMER_PROF, signal.SIGPROF)}
CHOICES_OF_C = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


@dataclass(frozen=True)
class Settings:
    """What a run is asked to do; a stored run with the same settings stands for it."""

    data: str
    sequences: int
    constraints: str | None
    name: str
    algorithm: str
    C: float
    budget: float
    max_iter: int = 25
    tol: float = 1e-6
    learner: dict[str, Any] = field(default_factory=dict)
    loss: str | None = None
    threads: int = 1
    engine: dict[str, Any] = field(default_factory=dict)
    clock: str = "wall"  # that of the budget


class Scored(Protocol):
    """What runs need of a problem: a task to train on, and a score of weights."""

    @property
    def task(self) -> Task:
        """The task to train on."""

    @property
    def score(self) -> Callable[[NDArray[Any]], float]:
        """Return the score of weights."""


class Watch(Callback):
    """Measure every pass from outside, and end a run that has used up its budget of training seconds by its clock.

    As the first evaluation of a run it is called right after a pass, so that neither clock sees what is
    measured for the record alone. A pass that is still running at one and a half times the budget is interrupted and
    does not count.
    """

    stop_reason = "budget"

    def __init__(self, budget: float, clock: str = "wall") -> None:
        self.budget = budget
        self.clock = clock
        self.timer, self.signal = TIMERS[clock]
        self.cpu_seconds = 0.0
        self.used_up = False
        self._started = 0.0

    def before_training(self, run: Run) -> None:
        """Take over the alarm."""
        signal.signal(self.signal, self._interrupt)

    def before_iteration(self, run: Run) -> None:
        """Set the alarm and start the clock of the CPU."""
        used = self.cpu_seconds if self.clock == "cpu" else run.seconds["train"]
        signal.setitimer(self.timer, max(1.5 * self.budget - used, 0.01))
        self._started = time.process_time()

    def __call__(self, weights: NDArray[Any]) -> dict[str, float]:
        """Stop both, and return the CPU seconds since the start of training."""
        signal.setitimer(self.timer, 0)
        self.cpu_seconds += time.process_time() - self._started
        return {"seconds": self.cpu_seconds}

    def after_iteration(self, run: Run, row: Row) -> bool:
        """Tell whether the budget is used up."""
        return bool((self.cpu_seconds if self.clock == "cpu" else row["seconds"]) >= self.budget)

    def after_training(self, run: Run) -> None:
        """Switch the alarm off."""
        signal.setitimer(self.timer, 0)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.used_up = True
        raise KeyboardInterrupt


@dataclass
class Record:
    """A run that has ended: why, and a row a pass with both clocks, primal, dual, gap and score."""

    settings: Settings
    stopped: str
    certify_seconds: float
    certified_gap: float | None
    chosen: dict[str, float]
    rows: list[dict[str, Any]]

    @property
    def cut_short(self) -> bool:
        """Whether its budget ended the run."""
        return self.stopped in ("budget", "interrupted") and len(self.rows) < self.settings.max_iter

    def save(self, path: Path) -> None:
        """Write the run to a file, complete or not at all."""
        head = {**asdict(self), "rows": len(self.rows)}
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(json.dumps(line) + "\n" for line in (head, *self.rows)))
        unfinished.replace(path)

    def stands_for(self, settings: Settings) -> bool:
        """Tell whether a run with these settings would be this one; a budget changes only runs that it cuts short."""
        if self.cut_short or (self.rows and self.rows[-1][settings.clock] >= settings.budget):
            return self.settings == settings
        return replace(self.settings, budget=settings.budget, clock=settings.clock) == settings

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read a run that `save` wrote."""
        head, *rows = map(json.loads, path.read_text().splitlines())
        return cls(**{**head, "settings": Settings(**head["settings"]), "rows": rows})


def run(problem: Scored, settings: Settings) -> Record:
    """Train, recording every pass; what is recorded beyond the trace is not timed."""
    watch = Watch(settings.budget, settings.clock)
    loss = check_loss(find_algorithm(settings.algorithm).learner, settings.loss)

    def measure(weights: NDArray[Any]) -> dict[str, float | None]:
        value = primal(problem.task, weights, C=settings.C, loss=loss, n_threads=-1) if loss else None
        return {"primal": value, "score": problem.score(weights)}

    result = train(
        problem.task,
        algorithm=settings.algorithm,
        C=settings.C,
        loss=settings.loss,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_threads=settings.threads,
        learner=settings.learner or None,
        engine=settings.engine or None,
        evaluations={"cpu": watch, "measured": measure},
        callbacks=[watch],
    )
    if result.stopped == "interrupted" and not watch.used_up:
        raise KeyboardInterrupt
    proof = result.certificate
    return Record(
        settings,
        result.stopped,
        result.seconds["certify"],
        proof.gap if proof else None,
        result.chosen,
        [_row(row) for row in result.trace.rows],
    )


def _row(row: Row) -> dict[str, Any]:
    """Take the primal of the weights after the pass, where the trace has an estimate from during the pass."""
    measured = row["scores"]["measured"]
    return {
        "pass": row["iteration"],
        "wall": row["seconds"],
        "cpu": row["scores"]["cpu"]["seconds"],
        "primal": measured["primal"],
        "dual": row["dual"],
        "gap": relative_gap(measured["primal"], row["dual"]),
        "score": measured["score"],
        "inferences": row["inferences"],
        "updates": row["updates"],
        "active": row["active"],
    }


class Store:
    """A folder with a file of JSON lines a run."""

    def __init__(self, folder: Path, again: bool, perform: Callable[[Any, Settings], Record] = run) -> None:
        self.folder = folder
        self.again = again
        self.perform = perform
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, problem: Scored, settings: Settings) -> Record:
        """Return the stored run with these settings, or do it."""
        stored = self.find(settings)
        if stored is not None:
            return stored
        record = self.perform(problem, settings)
        record.save(self._path(settings))
        last = record.rows[-1] if record.rows else None
        shown = f"{last['wall']:.1f} s, score {last['score']:.4f}" if last else "no pass"
        print(f"{settings.data}, {settings.name}: {len(record.rows)} passes, {shown}", flush=True)
        return record

    def find(self, settings: Settings) -> Record | None:
        """Return the stored run with these settings, if there is one and it need not be repeated."""
        path = self._path(settings)
        if self.again or not path.exists():
            return None
        record = Record.load(path)
        return record if record.stands_for(settings) else None

    def records(self) -> list[Record]:
        """Return all stored runs."""
        return [Record.load(path) for path in sorted(self.folder.glob("*.jsonl"))]

    def _path(self, settings: Settings) -> Path:
        return self.folder / f"{settings.data}.{settings.name.replace(' ', '_')}.jsonl"


def choose_cost(data: DataSet, store: Store, budget: float) -> dict[float, Record]:
    """Train dcd-ssvm with every C and return the runs, scored on the development part."""
    problem = data.for_choice()
    return {
        C: store.run(
            problem,
            Settings(data.name, len(problem.training), data.constraints, f"choice of C, {C}", "dcd-ssvm", C, budget),
        )
        for C in CHOICES_OF_C
    }


def best_cost(runs: dict[float, Record]) -> float:
    """Return the C whose last pass scored highest, the smallest one of equals."""
    return max((C for C in sorted(runs) if runs[C].rows), key=lambda C: runs[C].rows[-1]["score"])
