"""What a run will do: its description, checked against the task, with everything filled in that was left open."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import AUTO, Algorithm, find_algorithm, find_preset
from marginloom.learners import Objective
from marginloom.parameters import checked
from marginloom.tasks.base.choice import Choice, Circumstances
from marginloom.tasks.base.task import Task
from marginloom.threads import resolve_threads
from marginloom.training.checks import (
    check_loss,
    check_loss_name,
    check_needs,
    check_reproducible,
    check_threads,
    checked_sample_weight,
)
from marginloom.training.memory import MemoryPlan, plan_memory
from marginloom.training.spec import RandomSource, RunSpec

_DRAWN_BELOW = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """A run of an algorithm on the examples of a task that have a weight; `choice` is why, if it was ``auto``'s."""

    algorithm: Algorithm
    choice: Choice | None
    objective: Objective
    examples: NDArray[np.uint64]
    tol: float
    least_inferences: int
    max_iter: int
    n_threads: int
    seed: int
    memory: MemoryPlan

    @property
    def loss(self) -> str | None:
        """The loss of the slack; None where the learner has no objective."""
        return self.objective.loss or None

    def settings(self, task: Task) -> dict[str, Any]:
        """Return what models and traces remember of it."""
        learner, engine = self.algorithm.learner, self.algorithm.engine
        return {
            "algorithm": self.algorithm.name,
            "auto": None if self.choice is None else self.choice.reason,
            "learner": {"name": learner.name, **dataclasses.asdict(learner)},
            "engine": {"name": engine.name, **dataclasses.asdict(engine)},
            "loss": self.loss,
            "C": self.objective.C,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "threads": self.n_threads,
            "seed": self.seed,
            "examples": int(self.examples.size),
            "weights": task.core.dimension,
        }


def make_plan(task: Task, spec: RunSpec) -> Plan:
    """Return what a run will do; `InputError` in one sentence if a value, a need or the memory forbids it.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> make_plan(task, RunSpec(algorithm="sgd")).max_iter
    10
    """
    algorithm, choice = chosen_algorithm(task, spec)
    learner = algorithm.learner
    loss = check_loss(learner, spec.loss)
    C = checked("C", spec.C, "positive")
    tol = checked("tol", spec.tol, "positive")
    least_inferences = checked("least_inferences", spec.least_inferences, "count")
    passes = (choice and choice.max_iter) or learner.default_max_iter if spec.max_iter is None else spec.max_iter
    max_iter = checked("max_iter", passes, "positive count")
    seed = _seed(spec.random_state)
    n_threads = check_threads(algorithm, spec.n_threads)
    check_needs(task, algorithm, loss)
    if spec.reproducible:
        check_reproducible(algorithm, n_threads)
    keeps_state = spec.keep_state or spec.checkpoint is not None
    memory = plan_memory(task, algorithm, n_threads, spec.memory, keeps_state=keeps_state)
    weights = checked_sample_weight(spec.sample_weight, task.example_count, C)
    return Plan(
        algorithm,
        choice,
        Objective(C, loss or "", weights, memory.working_sets),
        np.flatnonzero(weights).astype(np.uint64),
        tol,
        least_inferences,
        max_iter,
        n_threads,
        seed,
        memory,
    )


def chosen_algorithm(task: Task, spec: RunSpec) -> tuple[Algorithm, Choice | None]:
    """Return the algorithm of a run, and what ``auto`` has chosen if it was asked; given parameters come before that.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> chosen_algorithm(task, RunSpec(n_threads=2))[0].name
    'shared-dcd'
    """
    if spec.algorithm != AUTO:
        return find_algorithm(spec.algorithm, spec.learner, spec.engine), None
    check_loss_name(spec.loss)
    choice = task.choose(Circumstances(spec.loss, resolve_threads(spec.n_threads), spec.reproducible))
    learner, engine = spec.learner, spec.engine
    if learner is None or isinstance(learner, Mapping):
        learner = {**choice.learner, **(learner or {})}
        preset = find_preset(choice.algorithm, choice.engine)
        learner |= {name: value for name, value in spec.common.items() if preset.uses(name)}
    if choice.engine is not None and (engine is None or isinstance(engine, Mapping)):
        engine = {"name": choice.engine, **(engine or {})}
    return find_algorithm(choice.algorithm, learner, engine), choice


def _seed(random_state: RandomSource | None) -> int:
    """Return a seed: the one given, or one that is drawn."""
    match random_state:
        case None:
            return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        case np.random.Generator():
            return int(random_state.integers(_DRAWN_BELOW))
        case np.random.RandomState():
            return int(random_state.randint(_DRAWN_BELOW))
    seed: int = checked("random_state", random_state, "seed")
    return seed
