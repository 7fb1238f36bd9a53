"""Runs of scaling.py: one algorithm with a number of threads, each pass with what its threads did.

Scores and primal values are measured outside the clock, on all cores and not after every pass: after the first ones,
then whenever the training seconds have grown by a tenth, and after every pass that is about to reach a gap of 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from learners_data import Problem
from learners_runs import Record, Settings, Watch

from marginloom.algorithms import find_algorithm
from marginloom.training.callbacks import Callback
from marginloom.training.checks import check_loss
from marginloom.training.objective import primal, relative_gap
from marginloom.training.result import Result
from marginloom.training.run import Run
from marginloom.training.trace import Row
from marginloom.training.train import train

COARSE_GAP, FINE_GAP = 0.01, 0.001
ALWAYS_MEASURED = 10
ACTIVITIES = ("inference", "update", "publishing", "waiting")


@dataclass(frozen=True)
class Planned:
    """A run to make; lower `priority` first. It is scored on the development part if `on_dev`."""

    priority: int
    settings: Settings
    on_dev: bool = False


@dataclass(frozen=True)
class Plan:
    """What every run of a part on a data set has in common."""

    part: str
    data: str
    sequences: int
    constraints: str | None
    C: float
    budget: float

    def run(self, priority: int, algorithm: str, threads: int = 1, name: str = "", **options: Any) -> Planned:
        """Plan a run; `name` says what distinguishes it from others of the same algorithm and threads."""
        on_dev = options.pop("on_dev", False)
        words = [self.part, algorithm, *([name] if name else []), f"{threads} threads"]
        settings = Settings(
            self.data, self.sequences, self.constraints, ", ".join(words), algorithm, self.C, self.budget
        )
        return Planned(priority, replace(settings, threads=threads, **options), on_dev)


class Measurements(Callback):
    """Measure score and primal after some passes, and keep them by pass."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.by_pass: dict[int, dict[str, float | None]] = {}
        self._problem = problem
        self._C = settings.C
        self._loss = check_loss(find_algorithm(settings.algorithm).learner, settings.loss)
        self._next_seconds = 0.0
        self._coarse = False

    def after_iteration(self, run: Run, row: Row) -> None:
        """Measure if it is time."""
        close = row["gap"] is not None and row["gap"] <= 2 * COARSE_GAP and not self._coarse
        if close or row["iteration"] <= ALWAYS_MEASURED or row["seconds"] >= self._next_seconds:
            self.measure(row, run.last_weights())
            self._next_seconds = 1.1 * row["seconds"]

    def measure(self, row: Row, weights: Any) -> None:
        """Measure the weights after a pass."""
        value = primal(self._problem.task, weights, C=self._C, loss=self._loss, n_threads=-1) if self._loss else None
        gap = relative_gap(value, row["dual"])
        self._coarse = self._coarse or (gap is not None and gap <= COARSE_GAP)
        self.by_pass[row["iteration"]] = {"primal": value, "gap": gap, "score": self._problem.score(weights)}


def run(problem: Problem, settings: Settings) -> Record:
    """Train and record every pass."""
    watch = Watch(settings.budget)
    measurements = Measurements(problem, settings)
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
        evaluations={"cpu": watch},
        callbacks=[watch, measurements],
    )
    if result.stopped == "interrupted" and not watch.used_up:
        raise KeyboardInterrupt
    rows = result.trace.rows
    if rows and result.stopped != "interrupted" and rows[-1]["iteration"] not in measurements.by_pass:
        measurements.measure(rows[-1], result.weights)
    return _record(settings, result, measurements)


def _record(settings: Settings, result: Result, measurements: Measurements) -> Record:
    proof = result.certificate
    return Record(
        settings,
        result.stopped,
        result.seconds["certify"],
        proof.gap if proof else None,
        result.chosen,
        [_row(row, measurements.by_pass.get(row["iteration"], {})) for row in result.trace.rows],
    )


def _row(row: Row, measured: dict[str, float | None]) -> dict[str, Any]:
    """Keep the trace's gap, an estimate or a certificate, beside the gap of the weights after the pass."""
    return {
        "pass": row["iteration"],
        "wall": row["seconds"],
        "cpu": row["scores"]["cpu"]["seconds"],
        "primal": measured.get("primal"),
        "dual": row["dual"],
        "gap": measured.get("gap"),
        "score": measured.get("score"),
        "trace_gap": row["gap"],
        "certified": row["certified"],
        "wrong": row["wrong"],
        "training_loss": row["training_loss"],
        "inferences": row["inferences"],
        "updates": row["updates"],
        "active": row["active"],
        "candidates": row["candidates"],
        "weights_age": row["weights_age"],
        "threads": [{name: round(thread[name], 6) for name in ACTIVITIES} for thread in row["threads"]],
    }
