"""What a run will do: its description, checked against the task, with everything filled in that was left open."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import ALGORITHMS, Algorithm
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.core.choice import SMALL_PASS, Choice, Circumstances, usual_choice
from marginloom.core.task import Task
from marginloom.errors import InputError, OptionWarning
from marginloom.learners.base import CommonOptions
from marginloom.training.checkpoint import choice_of
from marginloom.training.checks import (
    check_in_parts,
    check_loss,
    check_needs,
    check_reproducible,
    check_threads,
    checked_sample_weight,
)
from marginloom.training.memory_plan import MemoryPlan, plan_memory
from marginloom.training.options import check_spec, choice_with_engine, completed, suits_what_was_given
from marginloom.training.spec import DEFAULT_C, DEFAULT_TOL, RandomSource, RunSpec
from marginloom.training.turn import Turn, planned_turn

_DRAWN_BELOW = 2**31 - 1


#: What `auto` takes on a cluster, and why.
_ON_CLUSTER = "training on a cluster"


@dataclasses.dataclass(frozen=True)
class Decided:
    """What was settled before a plan is made, and cannot be found out again.

    Attributes
    ----------
    choice : Choice or None
        What ``auto`` has chosen, for a run that goes on with it.
    seed : int or None
        The seed, which may have been drawn.
    threads : int or None
        Threads of all parts together, on which the default of some parameters depends; None for those of this process.
    """

    choice: Choice | None = None
    seed: int | None = None
    threads: int | None = None

    def stored(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        choice = None if self.choice is None else self.choice.stored()
        return {"choice": choice, "seed": self.seed, "threads": self.threads}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Decided:
        """Return what `stored` has made JSON of.

        Examples
        --------
        >>> Decided.from_stored(Decided(seed=3).stored()).seed
        3
        """
        return cls(choice_of(stored["choice"]), stored["seed"], stored["threads"])


@dataclasses.dataclass(frozen=True)
class Plan:
    """A run of an algorithm on the examples of a task that have a weight.

    `choice` is why, if it was ``auto``'s, and `turn` says when the run goes on with Newton's method. `n_threads` are
    those of this process, `all_threads` those of all parts.
    """

    algorithm: Algorithm
    choice: Choice | None
    turn: Turn | None
    common: CommonOptions
    examples: NDArray[np.uint64]
    tol: float
    least_inferences: int
    max_iter: int
    n_threads: int
    all_threads: int
    seed: int
    memory: MemoryPlan

    @property
    def decided(self) -> Decided:
        """What other processes must know to make the same plan."""
        return Decided(self.choice, self.seed, self.all_threads)

    @property
    def loss(self) -> str | None:
        """The loss of the slack; None where the learner has no objective."""
        return self.common.loss or None

    def settings(self, task: Task) -> dict[str, Any]:
        """Return what models and traces remember of it."""
        return {
            **algorithm_settings(self.algorithm),
            "auto": None if self.choice is None else self.choice.reason,
            "loss": self.loss,
            "C": self.common.C,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "threads": self.n_threads,
            "seed": self.seed,
            "examples": int(self.examples.size),
            "weights": task.core.dimension,
        }


def algorithm_settings(algorithm: Algorithm) -> dict[str, Any]:
    """Return the part of a run's settings that is its algorithm's.

    Examples
    --------
    >>> algorithm_settings(ALGORITHMS["newton"])["learner"]
    {'name': 'newton', 'delta': 0.01}
    """
    learner, engine = algorithm.learner, algorithm.engine
    return {
        "algorithm": algorithm.name,
        "learner": {"name": learner.name, **dataclasses.asdict(learner)},
        "engine": {"name": engine.name, **dataclasses.asdict(engine)},
    }


def make_plan(task: Task, spec: RunSpec, decided: Decided | None = None, parts: int = 1) -> Plan:
    """Return what a run will do; `InputError` in one sentence if a value, a need or the memory forbids it.

    Parameters
    ----------
    task : Task
        What to learn.
    spec : RunSpec
        How.
    decided : Decided, optional
        What was settled before.
    parts : int
        Of the world, in which each has as many threads as this process.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> make_plan(task, RunSpec(algorithm="sgd")).max_iter
    10
    """
    decided = decided or Decided()
    algorithm, choice = chosen_algorithm(task, spec, decided.choice)
    learner = algorithm.learner
    loss = check_loss(learner, spec.loss)
    C = DEFAULT_C if spec.C is None else checked("C", spec.C, "positive")
    tol = DEFAULT_TOL if spec.tol is None else checked("tol", spec.tol, "positive")
    least_inferences = checked("least_inferences", spec.least_inferences, "count")
    passes = (choice and choice.max_iter) or learner.default_max_iter if spec.max_iter is None else spec.max_iter
    max_iter = checked("max_iter", passes, "positive count")
    seed = _seed(spec.random_state) if decided.seed is None else decided.seed
    n_threads = spec.n_threads if choice is None else circumstances(task, spec).n_threads
    n_threads = check_threads(algorithm, n_threads, named=choice is None)
    if choice is not None:
        _tell_unused_threads(algorithm, choice, spec, n_threads)
    check_needs(task, algorithm, loss)
    if spec.reproducible:
        check_reproducible(algorithm, n_threads, named=choice is None)
    weights = checked_sample_weight(spec.sample_weight, task.example_count, C)
    examples = np.flatnonzero(weights).astype(np.uint64)
    all_threads = parts * n_threads if decided.threads is None else decided.threads
    algorithm = dataclasses.replace(algorithm, engine=algorithm.engine.settled(all_threads, examples.size))
    keeps_state = spec.keep_state or spec.checkpoint is not None
    turn = planned_turn(choice, task, spec, max_iter)
    turns_to = None if turn is None else turn.algorithm
    memory = plan_memory(task, algorithm, n_threads, spec.memory, keeps_state=keeps_state, turns_to=turns_to)
    return Plan(
        algorithm,
        choice,
        turn,
        CommonOptions(C, loss or "", weights, memory.working_sets),
        examples,
        tol,
        least_inferences,
        max_iter,
        n_threads,
        all_threads,
        seed,
        memory,
    )


def _tell_unused_threads(algorithm: Algorithm, choice: Choice, spec: RunSpec, n_threads: int) -> None:
    """Warn if ``auto`` trains on fewer threads than were asked for, unless the line on its choice is shown."""
    training = algorithm.training_threads(n_threads)
    told = any(callback.tells_choice for callback in spec.callbacks)
    if spec.n_threads is None or training == n_threads or told:
        return
    said = f"training uses {training} of {n_threads} threads: auto chose {algorithm.whole_name} ({choice.reason})"
    warnings.warn(said, OptionWarning, stacklevel=2)


def chosen_algorithm(task: Task, spec: RunSpec, choice: Choice | None = None) -> tuple[Algorithm, Choice | None]:
    """Return the algorithm of a run, and what ``auto`` has chosen, now or before, if it was asked.

    Parameters that were given come before those that were chosen.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> chosen_algorithm(task, RunSpec(n_threads=2))[0].name
    'shared-dcd'
    """
    named = check_spec(spec)
    if named is not None:
        return named, None
    choice = choice or _choice(task, spec)
    algorithm = completed(task, spec, choice)
    if spec.cluster is not None:
        check_in_parts(algorithm)
    return algorithm, choice


def _choice(task: Task, spec: RunSpec) -> Choice:
    """Let the task choose; an engine that was given may need another learner, and so may a state to start from."""
    if spec.cluster is not None:
        choice = Choice("ms-dcd" if "loss-augmented" in task.core.capabilities else "ipm", _ON_CLUSTER)
    else:
        given = circumstances(task, spec)
        choice = task.choose(given)
        if not suits_what_was_given(choice, spec):
            usual = usual_choice(task.core.capabilities, given)
            choice = choice_with_engine(usual, spec) if suits_what_was_given(usual, spec) else choice
    if spec.warm_start is None or spec.warm_start.suits(ALGORITHMS[choice.algorithm].learner):
        return choice
    for name, preset in ALGORITHMS.items():
        if preset.learner.name == spec.warm_start.learner and preset.learner.has_dual():
            return Choice(name, "the learner of the state to start from")
    raise InputError(
        f"the state to start from is one of the learner {spec.warm_start.learner}, and auto takes another one for this "
        "task; name the algorithm that the state is of (--algorithm, or algorithm= in Python)"
    )


def circumstances(task: Task, spec: RunSpec) -> Circumstances:
    """Return what the choice for a run depends on: by default all cores, and one for small problems and Python.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> circumstances(task, RunSpec()).n_threads, circumstances(task, RunSpec(n_threads=3)).n_threads
    (1, 3)
    """
    by_default = spec.n_threads is None
    small = by_default and task.pass_work <= SMALL_PASS
    alone = small or (by_default and "needs-GIL" in task.core.capabilities)
    return Circumstances(spec.loss, 1 if alone else resolve_threads(spec.n_threads), bool(spec.reproducible), small)


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
