"""Cutting planes with a slack per example and with one for all, step by step against scipy."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.duals import States, best_dual, differences, duals_of, eighths, outputs
from support.oracles import TinyChains

from marginloom.training.train import train

C = 0.4
IN_ORDER = {"shuffle": False}
CHAINS = eighths(TinyChains(8, sentences=8, max_length=3, integers=False))
COSTS = C * np.random.default_rng(1).uniform(0.5, 2, size=len(CHAINS.X))


def trained(algorithm, chains=CHAINS, **options):
    states = States()
    options = {"tol": 1e-12, "max_iter": 1, "loss": "hinge", "engine": IN_ORDER, **options}
    result = train(
        make_task(chains, "valued"), algorithm=algorithm, C=C, sample_weight=COSTS / C, callbacks=[states], **options
    )
    return result, states.arrays


def first_pass_of_algorithm_1(task, loss, epsilon):
    """Return the dual and {(example, labels): dual} after one pass with the sub-problem solved by scipy."""
    w, dual = np.zeros(task.core.dimension), 0.0
    known, duals = [], np.zeros(0)
    for i in range(len(CHAINS.X)):
        found = task.core.find(i, w, 1.0, 1).candidates
        within = [differences(CHAINS, j, y) for j, y in known if j == i]
        slack = max([0.0, *(loss_of - w @ difference for loss_of, difference in within)])
        if not found:
            continue
        labels = tuple(found[0].output)
        loss_of, difference = differences(CHAINS, i, labels)
        if loss_of - w @ difference <= slack + epsilon:
            continue
        known.append((i, labels))
        losses, rows = zip(*(differences(CHAINS, j, y) for j, y in known), strict=True)
        ridge = None if loss == "hinge" else 1 / (2 * COSTS)
        dual, duals = best_dual(losses, rows, [j for j, _ in known], COSTS, ridge)
        w = duals @ np.array(rows)
    return dual, dict(zip(known, duals, strict=True))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.5])
def test_n_slack_adds_and_solves_as_algorithm_1(loss, epsilon):
    result, states = trained("n-slack", loss=loss, learner={"epsilon": epsilon})
    dual, expected = first_pass_of_algorithm_1(make_task(CHAINS, "valued"), loss, epsilon)
    # A block is solved when no step within it has more than half of epsilon to gain per unit of its dual.
    assert dual - epsilon / 2 * COSTS.sum() <= result.trace.rows[0]["dual"] <= dual + 1e-7
    if epsilon == 1e-4:
        found = duals_of(states[0])
        assert set(found) == {key for key, value in expected.items() if value > 1e-3}
        assert [found[key] for key in found] == pytest.approx([expected[key] for key in found], abs=2e-3)


def test_a_larger_epsilon_adds_fewer_constraints_in_the_first_pass():
    few, many = (trained("n-slack", learner={"epsilon": epsilon})[0].trace.rows[0] for epsilon in (2.0, 1e-3))
    assert few["wrong"] < many["wrong"]
    assert few["dual"] < many["dual"]


@pytest.mark.parametrize("algorithm", ["n-slack", "cpd", "fsmo"])
def test_at_most_one_constraint_an_example_and_pass(algorithm):
    result, states = trained(algorithm, max_iter=6)
    for passes, arrays in enumerate(states, start=1):
        per_example = np.bincount(arrays["dual_examples"].astype(int), minlength=len(CHAINS.X))
        assert per_example.max() <= passes
    assert result.inferences == 6 * len(CHAINS.X)


def test_cpd_searches_a_whole_pass_with_the_weights_of_its_start():
    """In the first pass with w = 0, so every example brings its most violated output there."""
    result, states = trained("cpd", loss="squared_hinge", learner={"epsilon": 1e-5})
    task = make_task(CHAINS, "valued")
    start = np.zeros(task.core.dimension)
    known = [(i, tuple(task.core.find(i, start, 1.0, 1).candidates[0].output)) for i in range(len(CHAINS.X))]
    losses, rows = zip(*(differences(CHAINS, i, y) for i, y in known), strict=True)
    dual, duals = best_dual(losses, rows, [i for i, _ in known], COSTS, 1 / (2 * COSTS))
    assert result.trace.rows[0]["dual"] == pytest.approx(dual, rel=1e-5)
    found = duals_of(states[0])
    assert set(found) == {key for key, value in zip(known, duals, strict=True) if value > 1e-6}


def constraints_of(arrays):
    """Return losses and rows of the summed constraints of a state, from enumerated features."""
    losses, rows = [], []
    part = 0
    examples, labels = arrays["constraint_examples"].astype(int), outputs(arrays, "constraint_")
    for size in arrays["constraint_sizes"].astype(int):
        chosen = range(part, part + size)
        parts = [(COSTS[examples[j]], *differences(CHAINS, examples[j], labels[j])) for j in chosen]
        losses.append(sum(cost * loss for cost, loss, _ in parts))
        rows.append(sum((cost * row for cost, _, row in parts), np.zeros_like(arrays["weights"])))
        part += size
    return np.array(losses), np.array(rows)


def test_one_slack_adds_the_sum_of_the_most_violated_outputs_and_solves_the_programme():
    _, states = trained("one-slack", max_iter=12, learner={"cache": 0, "inactive": 1000})
    task = make_task(CHAINS, "valued")
    w = np.zeros(task.core.dimension)
    for passes, arrays in enumerate(states, start=1):
        losses, rows = constraints_of(arrays)
        assert len(losses) == passes
        slacks = np.array([task.core.find(i, w, 1.0, 1).bound for i in range(len(CHAINS.X))])
        violation = COSTS @ slacks
        assert losses[-1] - rows[-1] @ w == pytest.approx(violation, rel=1e-6)
        best, _ = best_dual(losses, rows, np.zeros(passes, dtype=int), np.ones(1))
        duals = arrays["constraint_duals"]
        assert duals.min() >= 0
        assert duals.sum() <= 1 + 1e-12
        w = duals @ rows
        assert np.abs(w - arrays["weights"]).max() < 1e-9
        # It solves to a hundredth of what the newest constraint was violated by.
        assert best - 0.01 * violation <= duals @ losses - 0.5 * w @ w <= best + 1e-6


@pytest.mark.parametrize("cache", [0, 5])
def test_constraints_without_a_part_are_removed_and_none_that_has_one(cache):
    task = make_task(CHAINS, "valued")
    optimum, iterations = None, {}
    for inactive in (0, 1, 1000):
        result, states = trained("one-slack", max_iter=500, tol=1e-4, learner={"cache": cache, "inactive": inactive})
        assert result.stopped == "tolerance"
        for arrays in states:  # a constraint with a positive dual that had gone would be missing from the sum
            _, rows = constraints_of(arrays)
            assert np.abs(arrays["constraint_duals"] @ rows - arrays["weights"]).max() < 1e-9
            assert (arrays["constraint_idle"] <= inactive).all()
            assert ((arrays["constraint_duals"] == 0) == (arrays["constraint_idle"] > 0)).all()
        iterations[inactive] = len(states[-1]["constraint_duals"])
        optimum = optimum or result.certificate.primal
        assert result.certificate.primal == pytest.approx(optimum, rel=2e-4)
    assert iterations[0] < iterations[1000]
    assert iterations[1] < iterations[1000]
    assert task.core.size == len(CHAINS.X)


def test_the_cache_saves_passes_of_inference():
    with_cache, without = (trained("one-slack", max_iter=500, tol=1e-3, learner={"cache": n})[0] for n in (5, 0))
    assert with_cache.stopped == without.stopped == "tolerance"
    assert with_cache.iterations < 0.7 * without.iterations


def test_the_cache_holds_the_latest_candidates_only():
    _, states = trained("one-slack", max_iter=20, learner={"cache": 2})
    held = [np.bincount(arrays["dual_examples"].astype(int)).max() for arrays in states]
    assert max(held) == 2
