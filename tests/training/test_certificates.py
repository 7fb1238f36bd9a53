"""Certificates are true after any run: recomputed by enumeration from the weights, duals and outputs that it saved."""

import numpy as np
import pytest
from support.certified import LEARNERS, Costs, Trainer, bounds, enumeration_of, first_state, learners_of, task_of
from support.changeable import CHANGES, PROBLEMS
from support.pairs import CASES
from support.small_tasks import SMALL

from marginloom import InputError
from marginloom.algorithms import ALGORITHMS

every_problem = pytest.mark.parametrize("name", PROBLEMS)
every_change = pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in CHANGES.items() for change in changes]
)
#: Of all examples alike, and of each another one.
OTHER_COSTS = {"higher": Costs(2.0), "lower": Costs(0.1), "by example": Costs(0.5, seed=1), "both": Costs(0.2, seed=2)}


def test_every_task_learner_and_engine_is_there():
    certified = {name for name, make in SMALL.items() if "loss-augmented" in make().task.core.capabilities}
    assert certified <= set(PROBLEMS)
    assert {(case.algorithm, case.engine) for case in LEARNERS} == {
        pair for pair in CASES if ALGORITHMS[pair[0]].learner.has_dual()
    }
    assert all(any(case.suits(task_of(name, "nothing")) for name in PROBLEMS) for case in LEARNERS)


@every_problem
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_optimum_of_scipy_lies_between_the_bounds(name, loss):
    lowest, highest = bounds(name, "nothing", Costs(), loss)
    assert lowest * (1 - 1e-6) <= enumeration_of(name, "nothing", Costs(), loss).solve() <= highest * (1 + 1e-6)


@every_problem
@pytest.mark.parametrize(("passes", "costs"), [(1, Costs()), (4, OTHER_COSTS["both"])])
def test_certificates_of_fresh_runs_are_true(name, passes, costs):
    for case in learners_of(name):
        Trainer(name, case, costs=costs).certified(max_iter=passes)


@every_problem
@pytest.mark.parametrize("costs", OTHER_COSTS)
def test_certificates_are_true_after_a_warm_start_with_other_costs_or_another_loss(name, costs):
    for case in learners_of(name):
        state = first_state(name, case)
        for following in {case, case.with_other_loss()}:
            Trainer(name, following, costs=OTHER_COSTS[costs]).certified(warm_start=state, max_iter=1)


#: Examples that are dropped, alone, with other costs for the rest, and with next to none for one.
DROPPED = [Costs(dropped=(0, 4)), Costs(0.1, seed=3, dropped=(1, 2)), Costs(2.0, seed=4, dropped=(0, 3, 5))]


@every_problem
@pytest.mark.parametrize("costs", DROPPED, ids=str)
def test_duals_of_dropped_examples_do_not_count(name, costs):
    for case in learners_of(name):
        trainer = Trainer(name, case, costs=costs)
        once = trainer.certified(warm_start=first_state(name, case), max_iter=1)
        if case.algorithm != "one-slack":  # its blocks are a cache
            every = enumeration_of(name, "nothing", Costs(), case.loss)
            assert not set(costs.dropped) & set(every.owners[every.point(once.state.arrays) > 0].tolist())
        Trainer(name, case.with_other_loss()).certified(warm_start=once.state, max_iter=1)  # the examples come back


@every_change
def test_certificates_are_true_after_a_warm_start_into_a_changed_problem(name, change):
    for case in learners_of(name, change):
        state = first_state(name, case)
        once = Trainer(name, case, change=change).certified(warm_start=state, max_iter=1)
        everything = Trainer(name, case.with_other_loss(), change=change, costs=OTHER_COSTS["both"])
        everything.certified(warm_start=state, max_iter=2)
        Trainer(name, case).certified(warm_start=once.state, max_iter=1)  # and back


def fewer_examples(oracle):
    for part in ("X", "y", "lengths", "spans", "observed"):
        if hasattr(oracle, part):
            setattr(oracle, part, getattr(oracle, part)[:-1])
    if hasattr(oracle, "images"):
        oracle.images.images = oracle.images.images[:-1]


def another_right_output(oracle):
    right = tuple(np.atleast_1d(oracle.y[0]))
    oracle.y[0] = next(y for y in oracle.outputs(0) if tuple(np.atleast_1d(y)) != right)


def another_label(oracle):
    """Have one more label, which is never right."""
    if hasattr(oracle, "add_label"):
        oracle.add_label()
    elif hasattr(oracle, "images"):
        oracle.images.labels += 1
        oracle.images.windows += [(oracle.images.labels - 1, *window[1:]) for window in oracle.images.windows]
    elif hasattr(oracle, "classes"):
        oracle.classes += 1
        oracle.costs = np.ones((oracle.classes, oracle.classes)) - np.eye(oracle.classes)
    else:
        oracle.labels += 1
        if hasattr(oracle, "label_costs"):
            oracle.label_costs = np.append(oracle.label_costs, 1.0)
        else:
            oracle.y = [(*y, 0) for y in oracle.y]
            oracle.costs = np.vstack([oracle.costs, np.ones((1, 2))])


@every_problem
@pytest.mark.parametrize("change", [fewer_examples, another_right_output, another_label])
def test_other_examples_and_other_labels_are_refused(name, change):
    changed = PROBLEMS[name].changed(change)
    for case in learners_of(name):
        with pytest.raises(InputError, match="belongs to other training examples"):
            Trainer(name, case).train(changed.task(), warm_start=first_state(name, case))
