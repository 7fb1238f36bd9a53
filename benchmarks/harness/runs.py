"""One run: what it is asked to do, how it is watched from pass to pass, and what is recorded of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from harness.clocks import Watch
from harness.package import Task, loss_of, primal, relative_gap
from harness.peers import LINEAR_SVC, OutOfTimeError
from harness.problem import Problem
from marginloom import ALGORITHMS, Callback, Result, train

COARSE_GAP, FINE_GAP = 0.01, 0.001
#: Passes that are measured in any case.
ALWAYS_MEASURED = 10
ACTIVITIES = ("inference", "update", "publishing", "waiting")
#: LinearSVC trains from nothing to one after the other.
PEER_TOLERANCES = (10.0, 3.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)


@dataclass(frozen=True)
class Settings:
    """What a run is asked to do; a stored run with the same settings stands for it.

    `name` distinguishes it from the others on its data set, `group` says what it is for where a question has several
    tables. Score and primal are measured after every pass, or only now and then where passes are many and short.
    """

    data: str
    size: int
    setting: str | None
    name: str
    algorithm: str
    C: float
    group: str = ""
    max_iter: int = 100_000
    tol: float = FINE_GAP
    loss: str | None = None
    learner: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    every_pass: bool = True
    budget: float = math.inf
    clock: str = "wall"  # that of the budget
    repeat: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Planned:
    """A run to make; those with a lower `priority` come first."""

    problem: Problem
    settings: Settings
    priority: int = 0

    @classmethod
    def of(cls, problem: Problem, name: str, algorithm: str, *, priority: int = 0, **options: Any) -> Planned:
        """Plan a run on a problem, with its C unless told."""
        options = {"C": problem.C, **options}
        return cls(problem, Settings(problem.name, problem.size, problem.setting, name, algorithm, **options), priority)

    @classmethod
    def on_threads(cls, problem: Problem, algorithm: str, threads: int = 1, name: str = "", **options: Any) -> Planned:
        """Plan a run of many short passes; `name` is what distinguishes it beside its algorithm and threads."""
        words = [algorithm, *([name] if name else []), f"{threads} threads"]
        return cls.of(problem, ", ".join(words), algorithm, threads=threads, every_pass=False, **options)


@dataclass
class Record:
    """A run that has ended: why, its certificate, and a row a pass with both clocks, primal, dual, gap and score."""

    settings: Settings
    stopped: str
    certify_seconds: float
    certificate: dict[str, float] | None
    rows: list[dict[str, Any]]

    @property
    def certified_gap(self) -> float | None:
        """The gap of the last weights."""
        return self.certificate["gap"] if self.certificate else None

    @property
    def cut_short(self) -> bool:
        """Whether its budget ended the run."""
        return self.stopped in ("budget", "interrupted") and len(self.rows) < self.settings.max_iter

    def seconds(self, clock: str = "wall") -> float:
        """Return the training seconds of all passes."""
        return self.rows[-1][clock] if self.rows else math.inf

    def save(self, path: Path) -> None:
        """Write the run to a file, complete or not at all."""
        head = {**asdict(self), "rows": len(self.rows)}
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(json.dumps(line) + "\n" for line in (head, *self.rows)))
        unfinished.replace(path)

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read a run that `save` wrote."""
        head, *rows = map(json.loads, path.read_text().splitlines())
        return cls(**{**head, "settings": Settings(**head["settings"]), "rows": rows})

    def stands_for(self, settings: Settings) -> bool:
        """Tell whether a run with these settings would be this one; a budget changes only runs that it cuts short."""
        if self.cut_short or (self.rows and self.rows[-1].get(settings.clock, 0) >= settings.budget):
            return self.settings == settings
        return replace(self.settings, budget=settings.budget, clock=settings.clock) == settings


def perform(problem: Problem, settings: Settings) -> Record:
    """Do a run of ours, or of LinearSVC."""
    if settings.algorithm == LINEAR_SVC:
        return _run_peer(problem, settings)
    published = problem.parts.published if settings.learner.get("variant") == "as-published" else None
    return _run_ours(published or problem.task, problem, settings)


class _Measurements(Callback):
    """Measure score and primal outside the clock, on all cores, and keep them by pass.

    If not after every pass: after the first ones, then whenever the training seconds have grown by a tenth, and after
    every pass that is about to reach a gap of 1 %.
    """

    def __init__(self, task: Task, problem: Problem, settings: Settings) -> None:
        self.by_pass: dict[int, dict[str, float | None]] = {}
        self._task = task
        self._score = problem.parts.score
        self._settings = settings
        self._loss = loss_of(settings.algorithm, settings.loss)
        self._next_seconds = 0.0
        self._coarse = False

    def after_iteration(self, run: Any, row: dict[str, Any]) -> None:
        """Measure if it is time."""
        close = row["gap"] is not None and row["gap"] <= 2 * COARSE_GAP and not self._coarse
        early = row["iteration"] <= ALWAYS_MEASURED
        if self._settings.every_pass or close or early or row["seconds"] >= self._next_seconds:
            self.measure(row, run.last_weights())
            self._next_seconds = 1.1 * row["seconds"]

    def measure(self, row: dict[str, Any], weights: NDArray[Any]) -> None:
        """Measure the weights after a pass."""
        value = None
        if self._loss:
            value = primal(self._task, weights, C=self._settings.C, loss=self._loss, n_threads=-1)
        gap = relative_gap(value, row["dual"])
        self._coarse = self._coarse or (gap is not None and gap <= COARSE_GAP)
        self.by_pass[row["iteration"]] = {"primal": value, "gap": gap, "score": self._score(weights)}


def _run_ours(task: Task, problem: Problem, settings: Settings) -> Record:
    """Train, recording every pass; what is recorded beyond the trace is not timed."""
    watch = Watch(settings.budget, settings.clock)
    measurements = _Measurements(task, problem, settings)
    objective = {"C": settings.C, "loss": settings.loss, "tol": settings.tol}
    has = ALGORITHMS[settings.algorithm].common
    result = train(
        task,
        algorithm=settings.algorithm,
        **{name: value for name, value in objective.items() if name in has},
        max_iter=settings.max_iter,
        n_threads=settings.threads,
        random_state=settings.seed,
        learner=dict(settings.learner) or None,
        engine=dict(settings.engine) or None,
        evaluations={"cpu": watch},
        callbacks=[watch, measurements],
    )
    if result.stopped == "interrupted" and not watch.used_up:
        raise KeyboardInterrupt
    rows = result.trace.rows
    if rows and result.stopped != "interrupted" and rows[-1]["iteration"] not in measurements.by_pass:
        measurements.measure(rows[-1], result.weights)
    recorded = [_row(row, measurements.by_pass.get(row["iteration"], {})) for row in rows]
    return Record(settings, result.stopped, result.seconds["certify"], certificate_of(result), recorded)


def certificate_of(result: Result) -> dict[str, float] | None:
    """Return a certificate as a record keeps it."""
    proof = result.certificate
    return {"primal": proof.primal, "dual": proof.dual, "gap": proof.gap} if proof else None


def _row(row: Mapping[str, Any], measured: Mapping[str, float | None]) -> dict[str, Any]:
    """Keep the trace's gap, an estimate or a certificate, beside the gap of the weights after the pass."""
    same = ("dual", "certified", "wrong", "inferences", "updates", "candidates", "weights_age")
    return {
        "pass": row["iteration"],
        "wall": row["seconds"],
        "cpu": row["scores"]["cpu"]["seconds"],
        **{name: measured.get(name) for name in ("primal", "gap", "score")},
        "trace_gap": row["gap"],
        **{name: row[name] for name in same},
        "threads": [{name: round(thread[name], 6) for name in ACTIVITIES} for thread in row["threads"]],
    }


def _run_peer(problem: Problem, settings: Settings) -> Record:
    """Train from nothing to one tolerance after the other; a row each, with the time of that training alone."""
    peer = problem.parts.peer
    assert peer is not None
    rows: list[dict[str, Any]] = []
    stopped = "tolerance"
    for tolerance in PEER_TOLERANCES:
        try:
            trained = peer.train(settings.C, tolerance, 1.5 * settings.budget, settings.clock)
        except OutOfTimeError:
            stopped = "interrupted"
            break
        row = {**asdict(trained), "pass": trained.iterations, "dual": None, "gap": None}
        rows.append(row)
        if row[settings.clock] > settings.budget:
            stopped = "budget"
            break
    return Record(settings, stopped, 0.0, None, rows)
