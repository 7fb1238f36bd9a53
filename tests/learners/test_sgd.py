"""SGD against a replay that shrinks all weights in every step, and against scipy's optimum."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.online import all_constraints, candidates, margin_programme, replay
from support.oracles import TinyChains

from marginloom import SGD, InputError
from marginloom.training.objective import primal
from marginloom.training.train import train

TRIALS = [2.0**-k for k in range(1, 6)]


class Descent:
    """SGD as the head of cpp/learners/sgd.hpp writes it out, without laziness."""

    def __init__(self, task, C, eta0, weights, examples):
        self.task, self.C, self.eta0, self.weights, self.n, self.seen = task, C, eta0, weights, examples, 0

    def __call__(self, i, w):
        eta = self.eta0 / (1 + self.eta0 * (self.seen / self.n) / self.C) ** 0.75
        losses, differences = candidates(self.task, i, w, 1.0)
        if losses.size and losses[0] - w @ differences[0] > 0:
            w = w + eta * self.weights[i] * differences[0]
        self.seen += 1
        return w / (1 + eta / (self.C * self.n))


def shuffled(items, state):
    """Shuffle as the core does: splitmix64."""
    items, mask = list(items), 2**64 - 1
    for left in range(len(items), 1, -1):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        other = (((z ^ (z >> 31)) >> 32) * left) >> 32
        items[left - 1], items[other] = items[other], items[left - 1]
    return items


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("C", [0.002, 0.1, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_training_equals_a_replay_that_shrinks_every_weight(seed, C, averaged):
    chains = TinyChains(seed, sentences=10, labels=3, max_length=4, integers=False)
    task = make_task(chains, "valued")
    weights = np.random.default_rng(seed).uniform(0.3, 2, size=10)
    expected = replay(task, range(10), 30, Descent(task, C, 0.25, weights, 10))[averaged]
    result = train(
        task,
        algorithm="sgd",
        C=C,
        max_iter=30,
        learner={"eta0": 0.25, "averaged": averaged},
        engine={"shuffle": False},
        sample_weight=weights,
    )
    assert np.abs(result.weights - expected).max() < 1e-9 * max(1, np.abs(expected).max())
    assert np.abs(expected).max() > 1e-4
    assert result.chosen == {"eta0": 0.25}


def test_implicit_differences_lead_to_the_same_weights():
    chains = TinyChains(3, sentences=20, labels=4, max_length=5, integers=False)
    stored, implicit = (train(make_task(chains, kind), algorithm="sgd", C=0.3) for kind in ("valued", "dense"))
    assert np.abs(stored.weights - implicit.weights).max() < 1e-6
    assert stored.chosen == implicit.chosen


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize(("seed", "C"), [(0, 0.1), (1, 0.1), (1, 0.5)])
def test_the_objective_ends_within_a_thousandth_of_the_optimum(seed, C, averaged):
    chains = TinyChains(seed, sentences=12, max_length=3, integers=seed == 0)
    task = make_task(chains, "valued")
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=12)
    losses, differences, examples = all_constraints(chains)
    optimum, _ = margin_programme(losses, differences, examples, C * weights, np.zeros(chains.dimension))
    result = train(task, algorithm="sgd", C=C, max_iter=10_000, learner={"averaged": averaged}, sample_weight=weights)
    assert optimum * (1 - 1e-6) <= result.primal <= optimum * 1.001


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_first_step_is_the_one_with_the_lowest_objective(seed, averaged):
    chains = TinyChains(seed, sentences=15, labels=3, max_length=4, integers=False)
    task = make_task(chains, "valued")
    weights = np.random.default_rng(seed).uniform(0.3, 2, size=15)
    order = shuffled(range(15), 7)
    values = {}
    for eta0 in TRIALS:
        w = replay(task, order, 1, Descent(task, 0.4, eta0, weights, 15))[averaged]
        values[eta0] = primal(task, w, C=0.4, loss="hinge", sample_weight=weights)
    options = {"C": 0.4, "sample_weight": weights, "random_state": 7, "max_iter": 1}
    result = train(task, algorithm="sgd", learner={"averaged": averaged}, **options)
    assert result.chosen["eta0"] == min(values, key=values.get)


def test_first_step_follows_the_problem():
    found = set()
    for seed in range(4):
        for C in (0.01, 1.0, 100.0):
            task = make_task(TinyChains(seed, sentences=15, labels=3, max_length=4, integers=False), "valued")
            found.add(train(task, algorithm="sgd", C=C, max_iter=1).chosen["eta0"])
    assert len(found) > 1
    assert found <= set(TRIALS)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("representation", ["indicators", "dense"])
def test_primal_of_any_weights_equals_its_definition(loss, representation):
    chains = TinyChains(1, sentences=9)
    task = make_task(chains, representation)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 2, size=9)
    weights[3] = 0
    losses, differences, examples = all_constraints(chains)
    for _ in range(5):
        w = rng.normal(size=chains.dimension)
        slacks = [max(0, (losses - differences @ w)[examples == i].max()) for i in range(9)]
        expected = 0.5 * w @ w + 0.7 * weights @ (np.array(slacks) ** (1 if loss == "hinge" else 2))
        for threads in (1, 2):
            found = primal(
                task,
                chains.to_core(w, task.core.stride),
                C=0.7,
                loss=loss,
                sample_weight=weights,
                n_threads=threads,
            )
            assert found == pytest.approx(expected, rel=1e-6)


def test_primal_refuses_what_makes_no_sense():
    task = make_task(TinyChains(1, sentences=3), "valued")
    w = np.zeros(task.core.dimension)
    with pytest.raises(InputError, match="weights must have the shape"):
        primal(task, w[1:])
    with pytest.raises(InputError, match="loss must be 'hinge' or 'squared_hinge', not 'log'"):
        primal(task, w, loss="log")
    with pytest.raises(InputError, match="C must be a positive number"):
        primal(task, w, C=-1)
    with pytest.raises(InputError, match="sample_weight must have one number per example, 3"):
        primal(task, w, sample_weight=[1])


def test_result_has_the_primal_of_the_weights_that_it_returns():
    task = make_task(TinyChains(2, sentences=20), "valued")
    result = train(task, algorithm="sgd", C=0.3, max_iter=3)
    assert result.primal == primal(task, result.weights, C=0.3, loss="hinge")
    assert result.certificate is None
    assert result.loss == "hinge"
    assert [row["primal"] for row in result.trace.rows] == [None, None, result.primal]
    assert all(row["gap"] is None for row in result.trace.rows)
    assert result.seconds["certify"] > 0
    dual = train(task, C=0.3)
    assert dual.primal == dual.certificate.primal
    assert train(task, algorithm="perceptron").primal is None


def test_training_loss_is_the_mean_slack():
    task = make_task(TinyChains(2, sentences=1, max_length=3), "valued")
    result = train(task, algorithm="sgd", C=0.3, max_iter=5, learner={"eta0": 0.25})
    w = np.zeros(task.core.dimension)
    for row in result.trace.rows:
        slack = primal(task, w, C=1.0, loss="hinge") - w @ w / 2
        assert row["training_loss"] == pytest.approx(slack, abs=1e-9)
        w = train(task, algorithm="sgd", C=0.3, max_iter=row["iteration"], learner={"eta0": 0.25}).weights


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"eta0": -1}, "eta0 must be a number, 0 or more"),
        ({"eta0": float("inf")}, "eta0 must be a number"),
        ({"averaged": 1}, "averaged must be true or false"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        SGD(**parameters)


def test_squared_hinge_is_refused():
    with pytest.raises(InputError, match="the learner sgd has the loss hinge, not squared_hinge"):
        train(make_task(TinyChains(2, sentences=3), "valued"), algorithm="sgd", loss="squared_hinge")


@pytest.mark.parametrize("C", [1e-100, 1e-8, 1e8, 1e100])
def test_extreme_costs_leave_finite_weights(C):
    task = make_task(TinyChains(2, sentences=5), "valued")
    for averaged in (False, True):
        result = train(task, algorithm="sgd", C=C, max_iter=5, learner={"averaged": averaged})
        assert np.isfinite(result.weights).all()
