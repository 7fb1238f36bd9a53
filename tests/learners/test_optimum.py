"""Learners against an independent solution of the whole dual."""

import itertools

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains, WholeDual
from support.pairs import with_effect

from marginloom.training.train import train

C = 0.7


def primal(chains, w, costs):
    total = 0.5 * w @ w
    for i in range(len(chains.X)):
        gold = chains.phi(i, chains.y[i])
        slack = max(chains.loss(i, y) - w @ (gold - chains.phi(i, y)) for y in chains.outputs(i))
        total += costs[i] * max(slack, 0) ** 2
    return total


@pytest.mark.parametrize("algorithm", ["dcd-light", "dcd-ssvm"])
@pytest.mark.parametrize("representation", ["indicators", "valued", "dense"])
@pytest.mark.parametrize("seed", [0, 1])
def test_dual_learners_reach_the_optimum_of_the_whole_dual(algorithm, representation, seed):
    chains = TinyChains(
        seed,
        sentences=6,
        max_length=4,
        integers=representation == "indicators",
        start_end=seed == 1,
    )
    if seed == 1:
        chains.label_costs = np.array([1.0, 2.0, 0.5])
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=6)
    task = make_task(chains, representation)
    optimum, w = WholeDual(chains, C * weights).solve("squared_hinge")
    result = train(task, algorithm=algorithm, C=C, tol=1e-5, max_iter=5000, sample_weight=weights)
    assert result.stopped == "tolerance"
    assert result.certificate.dual == pytest.approx(optimum, rel=1e-3)
    assert result.certificate.primal == pytest.approx(optimum, rel=1e-3)
    found = chains.from_core(result.weights, task.core.stride)
    assert primal(chains, found, C * weights) == pytest.approx(result.certificate.primal, rel=1e-6)
    assert np.abs(found - w).max() < 0.02


@pytest.mark.parametrize("algorithm", ["dcd-light", "dcd-ssvm"])
@pytest.mark.parametrize("seed", range(5))
def test_gap_is_never_negative_beyond_rounding_and_the_dual_rises(algorithm, seed):
    chains = TinyChains(seed, sentences=8, integers=seed % 2 == 0)
    result = train(make_task(chains, "dense"), algorithm=algorithm, C=1.0, tol=1e-9, max_iter=200)
    duals = [row["dual"] for row in result.trace.rows]
    assert all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in itertools.pairwise(duals))
    certified = [row["gap"] for row in result.trace.rows if row["certified"]]
    assert all(gap >= -1e-12 for gap in [*certified, result.certificate.gap])


def test_primal_of_any_weights_is_above_the_certified_dual():
    chains = TinyChains(11, sentences=6)
    result = train(make_task(chains, "valued"), C=C, tol=0.05)
    costs = np.full(6, C)
    rng = np.random.default_rng(0)
    found = chains.from_core(result.weights, 8)
    for _ in range(50):
        assert primal(chains, found + 0.1 * rng.normal(size=found.size), costs) >= result.certificate.dual


def test_a_fixed_threshold_does_not_keep_the_gap_up():
    chains = TinyChains(2, sentences=20, max_length=5)
    result = train(make_task(chains, "valued"), C=0.1, tol=1e-6, max_iter=2000, learner={"delta": 0.5})
    assert result.certificate.gap <= 1e-6


def test_same_seed_same_bits_and_another_seed_other_bits():
    chains = TinyChains(4, sentences=30, max_length=6)
    runs = [train(make_task(chains, "valued"), C=C, tol=0.02, random_state=seed) for seed in (3, 3, 4)]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes()
    assert [row["dual"] for row in runs[0].trace.rows] == [row["dual"] for row in runs[1].trace.rows]
    assert runs[0].weights.tobytes() != runs[2].weights.tobytes()


def test_certificate_does_not_depend_on_the_number_of_threads():
    chains = TinyChains(4, sentences=200, max_length=6)
    runs = [
        train(make_task(chains, "valued"), algorithm="dcd-ssvm", C=C, tol=0.02, n_threads=threads) for threads in (1, 3)
    ]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes()
    assert runs[0].certificate == runs[1].certificate


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_warm_start_repeats_an_uninterrupted_run(algorithm):
    chains = TinyChains(4, sentences=30, max_length=6)
    options = with_effect(algorithm, {"algorithm": algorithm, "C": C, "tol": 1e-12})
    whole = train(make_task(chains, "valued"), max_iter=6, **options)
    half = train(make_task(chains, "valued"), max_iter=3, keep_state=True, **options)
    rest = train(make_task(chains, "valued"), max_iter=3, warm_start=half.state, **options)
    if algorithm == "averaged-perceptron":
        assert rest.weights.tobytes() == whole.weights.tobytes()
    else:  # the certificate at the end of the first half recomputes the weights from the duals
        assert rest.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-6)
    assert rest.inferences == half.inferences == 90


def test_warm_start_carries_the_duals():
    chains = TinyChains(4, sentences=30, max_length=6)
    first = train(make_task(chains, "valued"), C=C, tol=1e-3, max_iter=500, keep_state=True)
    again = train(make_task(chains, "valued"), C=C, tol=1e-3, max_iter=1, warm_start=first.state)
    assert again.stopped == "tolerance"
    assert again.certificate.dual >= first.certificate.dual - 1e-9


def test_shrinking_changes_the_work_and_not_the_optimum():
    chains = TinyChains(2, sentences=40, max_length=5)
    runs = [
        train(make_task(chains, "valued"), C=0.5, tol=1e-5, max_iter=3000, learner={"shrinking": share})
        for share in (0.0, 0.5)
    ]
    assert runs[0].updates != runs[1].updates
    assert runs[1].certificate.gap <= 1e-5
    assert runs[1].certificate.primal == pytest.approx(runs[0].certificate.primal, rel=2e-5)


def test_several_candidates_a_search_change_the_path_and_not_the_optimum():
    chains = TinyChains(2, sentences=40, max_length=5)
    runs = [train(make_task(chains, "valued"), C=0.5, tol=1e-3, max_iter=3000, learner={"k_best": k}) for k in (1, 3)]
    assert runs[1].trace.rows[0]["active"] > runs[0].trace.rows[0]["active"]
    assert runs[1].updates != runs[0].updates
    assert runs[1].certificate.gap <= 1e-3
    assert runs[1].certificate.primal == pytest.approx(runs[0].certificate.primal, rel=2e-3)
