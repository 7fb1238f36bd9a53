"""Averaged Frank-Wolfe goes on in another problem: what it averaged over in the old one must not count.

Where features and losses become small, the optimum does too, and an old average is easily above it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.changeable import Classes, Custom, EveryOutput, eighths
from support.classes import TinyClasses
from support.killing import KillAfter, Killed
from support.recomputed import Enumeration
from support.small_tasks import teach

from marginloom import Checkpoint, train

C = 0.1
EXAMPLES = 10
OPTIONS = {"algorithm": "bcfw", "C": C, "tol": 1e-12, "keep_state": True}


class RelativeClasses(TinyClasses):
    """Features relative to those of the right class, which has none: it looks the same whatever the others become."""

    def phi(self, i, y):
        return super().phi(i, y) - super().phi(i, self.y[i])


class ListedClasses(EveryOutput):
    """The same as a task in plain Python; an output is a tuple of one class."""


class Relative(Custom):
    def task(self):
        return ListedClasses(self.oracle)


class InTuples:
    """An oracle whose outputs are tuples."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.X, self.y = oracle.X, [(int(y),) for y in oracle.y]

    def phi(self, i, y):
        return self.oracle.phi(i, y[0])

    def loss(self, i, y):
        return float(self.oracle.loss(i, y[0]))

    def outputs(self, i):
        return [(y,) for y in self.oracle.outputs(i)]


def classes(seed, kind=TinyClasses, scale=1.0):
    toy = kind(seed, examples=EXAMPLES, features=4)
    toy.X = eighths(toy.X)
    teach(toy, seed)
    toy.X, toy.costs, toy.bias = scale * toy.X, scale * toy.costs, scale * toy.bias
    return toy


def native(seed, scale):
    return Classes(classes(seed, scale=scale))


def custom(seed, scale):
    return Relative(InTuples(classes(seed, RelativeClasses, scale)))


def optimum(problem, C=C):
    """Return a number that the optimum is not above, by much."""
    found = Enumeration(problem, np.full(len(problem.oracle.X), C), "hinge")
    solved = train(problem.task(), C=C, loss="hinge", tol=1e-5, max_iter=2000, learner={"delta": 1e-7})
    return found.primal(problem.weights(solved.weights))


@pytest.mark.parametrize("make", [native, custom])
@pytest.mark.parametrize("passes", [2, 3])
def test_an_average_does_not_outlive_its_problem(make, passes):
    averaging = {"averaged": True, "inner_passes": 5}
    for seed in range(12):
        state = train(make(seed, 1).task(), learner=averaging, max_iter=passes, **OPTIONS).state
        small = make(seed, 1 / 1024)
        result = train(small.task(), learner=averaging, max_iter=1, warm_start=state, **OPTIONS)
        assert result.certificate.dual <= optimum(small) * (1 + 1e-9)


@pytest.mark.parametrize("make", [native, custom])
def test_an_average_goes_on_where_nothing_changes(make):
    averaging = {"averaged": True}
    task = make(0, 1).task()
    first = train(task, learner=averaging, max_iter=2, **OPTIONS)
    second = train(task, learner=averaging, max_iter=1, warm_start=first.state, **OPTIONS)
    assert second.state.arrays["frank_wolfe_clock"] == 3 * EXAMPLES


def test_a_resumed_run_whose_task_returns_other_losses_begins_its_average_again(tmp_path):
    averaging, checkpoint = {"averaged": True}, Checkpoint(tmp_path, interval=0)
    with pytest.raises(Killed):
        train(custom(0, 1).task(), learner=averaging, **OPTIONS, checkpoint=checkpoint, callbacks=[KillAfter(3)])
    small = custom(0, 1 / 1024)
    result = train(small.task(), learner=averaging, **OPTIONS, max_iter=3, checkpoint=checkpoint, resume=True)
    assert result.state.arrays["frank_wolfe_clock"] == EXAMPLES
    assert result.certificate.dual <= optimum(small) * (1 + 1e-9)


@given(
    seed=st.integers(0, 2**31),
    scales=st.tuples(*[st.sampled_from([1 / 1024, 1 / 8, 1.0, 4.0])] * 3),
    costs=st.tuples(*[st.sampled_from([0.02, 0.1, 0.5])] * 2),
    passes=st.tuples(st.integers(1, 6), st.integers(1, 2)),
    inner_passes=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_averages_are_never_above_the_optimum(seed, scales, costs, passes, inner_passes):
    averaging = {"averaged": True, "inner_passes": inner_passes}
    problem = native(seed, 1.0)
    state = train(problem.task(), learner=averaging, **{**OPTIONS, "C": costs[0]}, max_iter=passes[0]).state
    toy = problem.oracle
    toy.X, toy.costs, toy.bias = scales[0] * toy.X, scales[1] * toy.costs, scales[2] * toy.bias
    result = train(
        problem.task(), learner=averaging, **{**OPTIONS, "C": costs[1]}, max_iter=passes[1], warm_start=state
    )
    assert result.certificate.dual <= optimum(problem, costs[1]) * (1 + 1e-9)
