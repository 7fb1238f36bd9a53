"""Runs of every dual learner, engine and loss, whose certificates are recomputed from what they saved."""

from __future__ import annotations

import atexit
import dataclasses
import functools

import numpy as np

from marginloom.algorithms import ALGORITHMS, find_algorithm
from marginloom.engines import ENGINES
from marginloom.training.train import train
from support.changeable import CHANGES, PROBLEMS, Custom, Listed, Sequences, nothing
from support.pairs import CASES, TO_THE_OPTIMUM, for_labels
from support.recomputed import Enumeration, check_certificate, check_state


@dataclasses.dataclass(frozen=True)
class Case:
    """A dual learner on an engine with a loss."""

    algorithm: str
    engine: str
    loss: str
    learner: tuple[tuple[str, object], ...] = ()

    @property
    def settings(self):
        engine = {"name": self.engine, **TO_THE_OPTIMUM.get(self.engine, {})}
        threads = max(2, ENGINES[self.engine].minimum_threads)
        return {"algorithm": self.algorithm, "learner": dict(self.learner), "engine": engine, "n_threads": threads}

    @property
    def averages_duals(self):
        return self.algorithm == "bcfw" and dict(self.learner).get("averaged", False)

    @property
    def averages(self):
        """Whether the model's weights are not those of the saved duals."""
        return getattr(find_algorithm(self.algorithm, dict(self.learner)).learner, "averaged", False)

    def suits(self, task):
        needs = ALGORITHMS[self.algorithm].learner.all_needs(self.loss) | ENGINES[self.engine].needs
        return needs <= set(task.core.capabilities)

    def with_other_loss(self):
        """Return the case with the other loss, or itself if it can have but one."""
        others = [loss for loss in ALGORITHMS[self.algorithm].learner.losses if loss != self.loss]
        return dataclasses.replace(self, loss=others[0]) if others and not for_labels(self.algorithm) else self

    def __str__(self):
        return " ".join([self.algorithm, self.engine, self.loss, *(f"{name}={value}" for name, value in self.learner)])


_PLAIN = [(algorithm, engine, ()) for algorithm, engine in CASES if ALGORITHMS[algorithm].learner.has_dual()]
#: With parameters that change what is kept, or of what a certificate is.
_VARIANTS = [
    ("bcfw", "serial", (("averaged", True),)),
    ("bcfw", "serial", (("averaged", True), ("inner_passes", 2))),
    ("bcfw", "master-worker", (("averaged", True),)),
    ("one-slack", "serial", (("cache", 0),)),
    ("fsmo", "serial", (("variant", "as-published"),)),
    ("shared-dcd", "shared", (("averaged", True), ("rest", 3))),
]
LEARNERS = [
    Case(algorithm, engine, loss, learner)
    for algorithm, engine, learner in [*_PLAIN, *_VARIANTS]
    for loss in ALGORITHMS[algorithm].learner.losses
    # Of squared slacks every label must have its own, and here rows have one: tests/learners/test_binary_dcd.py.
    if not (for_labels(algorithm) and loss == "squared_hinge")
]


@dataclasses.dataclass(frozen=True)
class Costs:
    """C, and weights of examples drawn with a seed, none if it is 0; some may be dropped."""

    C: float = 0.5
    seed: int = 0
    dropped: tuple[int, ...] = ()

    def weights(self, size):
        drawn = np.random.default_rng(self.seed).uniform(0.2, 3, size=size) if self.seed else np.ones(size)
        drawn[list(self.dropped)] = 0
        return drawn

    def options(self, size):
        return {"C": self.C, **({"sample_weight": self.weights(size)} if self.seed or self.dropped else {})}


@functools.cache
def problem_of(name, change):
    return PROBLEMS[name].changed({"nothing": nothing, **CHANGES[name]}[change])


@functools.cache
def task_of(name, change):
    return problem_of(name, change).task()


atexit.register(task_of.cache_clear)  # native objects that are left at the very end are told as leaks


@functools.cache
def enumeration_of(name, change, costs, loss):
    problem = problem_of(name, change)
    size = len(problem.oracle.X)
    return Enumeration(problem, costs.C * costs.weights(size), loss)


@functools.cache
def bounds(name, change, costs, loss):
    """Return two numbers between which the optimum is, close to each other.

    Any weights and any feasible duals give such bounds; by enumeration they hold however these were found.
    """
    problem = problem_of(name, change)
    if isinstance(problem, Custom):  # the same in native code, which is faster
        problem = Sequences(problem.oracle)
    elif not problem.exact:
        problem = Listed(problem.oracle)
    size = len(problem.oracle.X)
    found = Enumeration(problem, costs.C * costs.weights(size), loss)
    options = {"algorithm": "dcd-ssvm", "tol": 1e-6, "max_iter": 2000, "keep_state": True, "learner": {"delta": 1e-4}}
    solved = train(problem.task(), loss=loss, **costs.options(size), **options)
    highest = found.primal(problem.weights(solved.weights))
    lowest = found.dual(found.point(solved.state.arrays))[0]
    assert highest - lowest <= 1e-5 * highest
    return lowest, highest


class Trainer:
    """Trains one case on one problem, perhaps changed, and checks what comes out."""

    def __init__(self, name, case, *, change="nothing", costs=None):
        self.name, self.case, self.change = name, case, change
        self.costs = costs or Costs()
        self.task = task_of(name, change)

    @property
    def enumeration(self):
        return enumeration_of(self.name, self.change, self.costs, self.case.loss)

    def train(self, task=None, **options):
        """Train without checks."""
        task = task or self.task
        return train(
            task,
            loss=self.case.loss,
            **self.costs.options(task.core.size),
            **{"tol": 1e-12, "max_iter": 2, "keep_state": True, **self.case.settings, **options},
        )

    def certified(self, **options):
        """Train, check the certificate, and return the result."""
        result = self.train(**options)
        self.check(result)
        row = result.trace.rows[-1]
        proof = result.certificate
        assert row["certified"] == proof.bounded
        assert (row["primal"], row["dual"], row["gap"]) == (proof.primal, proof.dual, proof.gap)
        return result

    def check(self, result):
        """Check a certificate, or that what was saved without one is what it should be."""
        if result.certificate is None:
            check_state(self.enumeration, result.state.arrays)
            return
        check_certificate(
            self.enumeration,
            bounds(self.name, self.change, self.costs, self.case.loss),
            result.weights,
            result.certificate,
            result.state.arrays,
            averaged=self.case.averages_duals,
        )
        if not self.case.averages:
            np.testing.assert_allclose(result.weights, result.state.arrays["weights"], rtol=0, atol=1e-12)


def learners_of(name, change="nothing"):
    """Return every case that the problem's task can have, as it is and after the change."""
    return [case for case in LEARNERS if case.suits(task_of(name, "nothing")) and case.suits(task_of(name, change))]


@functools.cache
def first_state(name, case):
    """Return where warm starts begin: a few passes on the problem as it was."""
    return Trainer(name, case).train(max_iter=3).state
