"""Every learner of one objective ends at the same optimum: that of the whole dual, solved by scipy."""

import itertools

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import SLOW, TinyChains, WholeDual
from support.pairs import GENERAL, with_effect
from support.small_tasks import taught_trees

from marginloom.algorithms import ALGORITHMS
from marginloom.training.objective import primal
from marginloom.training.train import train

C = 0.3
PROBLEMS = {
    "sequence": (TinyChains(1, sentences=12, max_length=3, start_end=True), "indicators"),
    "multiclass": (TinyChains(2, sentences=30, max_length=1, labels=4, features=6), "indicators"),
    "real values": (TinyChains(3, sentences=12, max_length=3, integers=False), "dense"),
    "trees": (taught_trees(4, lengths=(2, 3, 3, 3, 3, 3, 4)), None),
}
#: Variants that reach the same optimum.
VARIANTS = [
    ("dcd-ssvm", {"k_best": 3}),
    ("n-slack", {"batch": 5}),
    ("one-slack", {"cache": 0}),
    ("one-slack", {"inactive": 1}),
    ("bcfw", {"inner_passes": 5}),
    ("bcfw", {"averaged": True}),
    ("fsmo", {"batch": 1}),
    ("fsmo", {"scope": "all"}),
    ("sgd", {"averaged": True}),
]


def has_objective(algorithm):
    return bool(ALGORITHMS[algorithm].learner.losses)


CASES = [
    (algorithm, learner, loss)
    for algorithm, learner in [*((name, {}) for name in GENERAL if has_objective(name)), *VARIANTS]
    for loss in ALGORITHMS[algorithm].learner.losses
]


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request):
    chains, representation = PROBLEMS[request.param]
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(chains.X))
    dual = WholeDual(chains, C * weights)
    return (
        make_task(chains, representation) if representation else chains.task(),
        weights,
        {loss: dual.solve(loss)[0] for loss in ("hinge", "squared_hinge")},
    )


@pytest.mark.parametrize(("algorithm", "learner", "loss"), CASES, ids=lambda value: str(value))
def test_learners_of_one_objective_end_at_the_same_optimum(problem, algorithm, learner, loss):
    task, weights, optimum = problem
    result = train(
        task,
        algorithm=algorithm,
        learner=learner,
        **with_effect(algorithm, {"loss": loss, "C": C, "tol": 5e-4}),
        max_iter=SLOW.get(algorithm, 1_000),
        n_threads=2,
        sample_weight=weights,
    )
    best = optimum[loss]
    assert best * (1 - 1e-5) <= result.primal <= best * 1.001
    value = primal(task, result.weights, C=C, loss=loss, sample_weight=weights)
    assert result.primal == pytest.approx(value, rel=1e-9)
    if ALGORITHMS[algorithm].learner.has_dual():
        assert result.stopped == "tolerance"
        assert result.certificate.dual <= best * (1 + 1e-5)
        assert best - result.certificate.dual <= (result.certificate.primal - result.certificate.dual) + 1e-5 * best


def test_every_algorithm_with_an_objective_is_among_the_cases():
    assert {algorithm for algorithm, _, _ in CASES} == {name for name in GENERAL if has_objective(name)}
    assert {loss for _, _, loss in CASES} == {"hinge", "squared_hinge"}


@pytest.mark.parametrize("algorithm", [name for name in GENERAL if GENERAL[name].learner.has_dual()])
def test_the_dual_rises_and_certificates_are_never_negative(algorithm):
    chains = TinyChains(5, sentences=10, integers=False)
    result = train(make_task(chains, "dense"), algorithm=algorithm, C=1.0, tol=1e-9, max_iter=60, n_threads=2)
    duals = [row["dual"] for row in result.trace.rows]
    assert all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in itertools.pairwise(duals))
    assert result.certificate.gap >= -1e-12
    assert duals[-1] > 0
