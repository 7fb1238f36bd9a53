"""Runs of classify.py: which algorithms, with which settings, and LinearSVC beside them, recorded alike."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from classify_data import Problem
from learners_runs import Record, Settings
from learners_runs import run as run_ours

from marginloom.algorithms import ALGORITHMS

LIBLINEAR = "LinearSVC"
#: Name in tables: algorithm, parameters of the learner. Those with `threads` come once for every number of threads.
ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "shrinking-dcd": ("shrinking-dcd", {}),
    "dcd-ssvm": ("dcd-ssvm", {}),
    "fsmo": ("fsmo", {}),
    "fsmo, inner stop": ("fsmo", {"inner_stop": True, "inner_iterations": 20}),
    "fsmo as published": ("fsmo", {"variant": "as-published", "batch": 1}),
    "bcfw": ("bcfw", {}),
    "one-slack": ("one-slack", {}),
}
THREADED: dict[str, tuple[str, dict[str, Any]]] = {"fastssvm": ("fastssvm", {})}
TOLERANCES = (10.0, 3.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)


def plan(problem: Problem, threads: list[int], budget: float, repeats: int, only: list[str] | None) -> list[Settings]:
    """Return all runs, in an order in which what is compared alternates."""
    wanted: list[tuple[str, str, dict[str, Any], int]] = []
    if problem.peer is not None:
        wanted.append((LIBLINEAR, LIBLINEAR, {}, 1))
    wanted += [(name, algorithm, parameters, 1) for name, (algorithm, parameters) in ALONE.items()]
    for name, (algorithm, parameters) in THREADED.items():
        if algorithm in ALGORITHMS:
            wanted += [(f"{name}, {count} threads", algorithm, parameters, count) for count in threads]
    return [
        Settings(
            data=problem.name,
            sequences=problem.size,
            constraints=None,
            name=f"{name} #{repeat}",
            algorithm=algorithm,
            C=problem.C,
            budget=budget,
            max_iter=100_000,
            tol=0.001,
            learner=parameters,
            loss="hinge",
            threads=count,
        )
        for repeat in range(1, repeats + 1)
        for name, algorithm, parameters, count in wanted
        if only is None or name.split(", ")[0] in only or name in only
    ]


def perform(problem: Problem, settings: Settings) -> Record:
    """Do a run of ours or of the peer."""
    if settings.algorithm == LIBLINEAR:
        return _run_liblinear(problem, settings)
    return run_ours(problem, settings)  # type: ignore[arg-type]


def _run_liblinear(problem: Problem, settings: Settings) -> Record:
    """Train from nothing to one tolerance after the other; a row each, with the time of that training alone."""
    from sklearn.svm import LinearSVC

    assert problem.peer is not None
    X, y, X_test, y_test = problem.peer
    rows: list[dict[str, Any]] = []
    for tolerance in TOLERANCES:
        svm = LinearSVC(
            multi_class="crammer_singer",
            C=settings.C,
            fit_intercept=False,
            tol=tolerance,
            max_iter=100_000,
            random_state=0,
        )
        wall, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm.fit(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        coef = svm.coef_ if len(svm.coef_) > 1 else np.vstack([-svm.coef_ / 2, svm.coef_ / 2])
        rows.append(
            {
                "pass": int(svm.n_iter_),
                "wall": wall,
                "cpu": cpu,
                "primal": crammer_singer_primal(coef, X, y, settings.C),
                "dual": None,
                "gap": None,
                "score": float(svm.score(X_test, y_test)),
            }
        )
        if wall > settings.budget:
            break
    return Record(settings, "tolerance", 0.0, None, {}, rows)


def crammer_singer_primal(coef: Any, X: Any, y: Any, C: float) -> float:
    """Return the objective of coefficients, computed apart from the library."""
    scores = np.asarray(X @ coef.T)
    examples = np.arange(len(y))
    violations = scores - scores[examples, y][:, None] + 1
    violations[examples, y] = 0
    return float(0.5 * (coef**2).sum() + C * violations.max(axis=1).sum())
