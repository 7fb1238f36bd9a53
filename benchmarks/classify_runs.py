"""Runs of classify.py: which algorithms, with which settings, and LinearSVC beside them, recorded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from classify_data import Problem
from classify_peers import OutOfTimeError
from learners_runs import Record, Settings
from learners_runs import run as run_ours

from marginloom.algorithms import find_algorithm

LIBLINEAR = "LinearSVC"
PUBLISHED = "fsmo as published"


@dataclass(frozen=True)
class Entry:
    """An algorithm with parameters of its learner and its engine; the threads are 1 where it says nothing."""

    algorithm: str
    learner: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    threads: int = 1


#: By their names in tables. Those of THREADED come once for every number of threads.
ALONE = {
    "shrinking-dcd": Entry("shrinking-dcd"),
    "dcd-ssvm": Entry("dcd-ssvm"),
    "fsmo": Entry("fsmo"),
    "fsmo, inner stop": Entry("fsmo", {"inner_stop": True}),
    "bcfw": Entry("bcfw"),
    "one-slack": Entry("one-slack"),
    "fsmo, published steps": Entry("fsmo", {"variant": "as-published"}),
    PUBLISHED: Entry("fsmo", {"variant": "as-published", "batch": 1, "scope": "all"}),
}
THREADED = {
    "fastssvm": Entry("fastssvm"),
    "shrinking-dcd pipelined": Entry("shrinking-dcd", engine={"name": "pipelined"}),
}
TOLERANCES = (10.0, 3.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)

#: Batches as shares of all examples, in %; the paper has 1.
BATCHES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def race(threads: Sequence[int], only: Sequence[str] | None, problem: Problem) -> dict[str, Entry]:
    """Return what runs against each other, the peer first."""
    wanted = {LIBLINEAR: Entry(LIBLINEAR)} if problem.peer is not None else {}
    wanted |= ALONE
    for name, entry in THREADED.items():
        counted = {f"{name}, {count} threads": replace(entry, threads=count) for count in threads}
        wanted |= {label: entry for label, entry in counted.items() if _can_run(entry, problem)}
    return {name: entry for name, entry in wanted.items() if only is None or {name, name.split(", ")[0]} & set(only)}


def _can_run(entry: Entry, problem: Problem) -> bool:
    """Say whether the engine has enough threads, and the task what it needs."""
    engine = find_algorithm(entry.algorithm, engine=entry.engine or None).engine
    return entry.threads >= engine.minimum_threads and engine.needs <= set(problem.task.core.capabilities)


def shares(threads: int) -> dict[str, Entry]:
    """Return fastssvm's parts: each switched on alone, and one after the other (Figure 5a).

    Nothing is on in the first one, which is Algorithm 1 over Algorithm 2 with steps that converge. The last one is the
    preset, which also solves only over the examples of a batch and takes all violated outputs where they can be listed.
    """
    nothing = {"batch": 1, "scope": "all"}
    stopping = {"inner_stop": True}
    shared = {"engine": {"name": "shared"}, "threads": threads}
    return {
        "nothing": Entry("fsmo", nothing),
        "batches alone": Entry("fsmo", {"scope": "all"}),
        "stopping alone": Entry("fsmo", {**nothing, **stopping}),
        "threads alone": Entry("fsmo", nothing, **shared),
        "batches and stopping": Entry("fsmo", {"scope": "all", **stopping}),
        "batches, stopping and threads": Entry("fsmo", {"scope": "all", **stopping}, **shared),
        "fastssvm": Entry("fastssvm", threads=threads),
    }


def batch_sizes(problem: Problem, threads: int) -> dict[str, Entry]:
    """Return fastssvm with batches of every size."""
    size = problem.task.core.size
    named = {f"{share:g} %" if share else "one": max(int(share * size / 100), 1) for share in BATCHES}
    return {name: Entry("fastssvm", {"batch": batch}, threads=threads) for name, batch in named.items()}


@dataclass(frozen=True)
class Budget:
    """Seconds of training, by a clock."""

    seconds: float
    clock: str


def settings_of(problem: Problem, part: str, entries: dict[str, Entry], budget: Budget, repeats: int) -> list[Settings]:
    """Return the runs, in an order in which what is compared alternates."""
    return [
        Settings(
            data=problem.name,
            sequences=problem.size,
            constraints=problem.setting,
            name=f"{part}, {name} #{repeat}",
            algorithm=entry.algorithm,
            C=problem.C,
            budget=budget.seconds,
            clock=budget.clock,
            max_iter=100_000,
            tol=0.001,
            learner=entry.learner,
            loss="hinge",
            threads=entry.threads,
            engine=entry.engine,
        )
        for repeat in range(1, repeats + 1)
        for name, entry in entries.items()
    ]


def choice_settings(problem: Problem, budget: Budget) -> Settings:
    """Return the run by which a setting of a multilabel problem is judged."""
    return Settings(
        data=problem.name,
        sequences=problem.size,
        constraints=problem.setting,
        name=f"choose, {problem.setting}",
        algorithm="dcd-ssvm",
        C=problem.C,
        budget=budget.seconds,
        clock=budget.clock,
        max_iter=1_000,
        tol=0.02,
        loss="hinge",
    )


def perform(problem: Problem, settings: Settings) -> Record:
    """Do a run of ours or of the peer."""
    if settings.algorithm == LIBLINEAR:
        return _run_liblinear(problem, settings)
    if settings.learner.get("variant") == "as-published" and problem.published is not None:
        problem = replace(problem, task=problem.published)
    return run_ours(problem, settings)


def _run_liblinear(problem: Problem, settings: Settings) -> Record:
    """Train from nothing to one tolerance after the other; a row each, with the time of that training alone."""
    assert problem.peer is not None
    rows: list[dict[str, Any]] = []
    stopped = "tolerance"
    for tolerance in TOLERANCES:
        try:
            trained = problem.peer.train(settings.C, tolerance, 1.5 * settings.budget, settings.clock)
        except OutOfTimeError:
            stopped = "interrupted"
            break
        rows.append(
            {
                "pass": trained.iterations,
                "wall": trained.wall,
                "cpu": trained.cpu,
                "primal": trained.primal,
                "dual": None,
                "gap": None,
                "score": trained.score,
            }
        )
        if (trained.cpu if settings.clock == "cpu" else trained.wall) > settings.budget:
            stopped = "budget"
            break
    return Record(settings, stopped, 0.0, None, {}, rows)
