"""MIRA against scipy's solution of its quadratic programmes."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.online import candidates, margin_programme, replay
from support.oracles import TinyChains

from marginloom import MIRA, InputError, SequenceTagger, _core, find_algorithm
from marginloom.training.checks import check_needs
from marginloom.training.train import train

C = 0.3
EXACT = {"qp_tolerance": 1e-11, "qp_sweeps": 1_000_000}


def programme(seed):
    """Several examples with several candidates; some differences are the same, or nearly."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 5))
    examples = np.repeat(np.arange(sizes.size), sizes).astype(np.uint64)
    differences = rng.integers(-2, 3, size=(examples.size, 6)).astype(float)
    differences[:, 0] += 0.5  # none is zero
    if seed % 3 == 0:
        differences[-1] = differences[0]
    losses = rng.integers(1, 5, size=examples.size).astype(float)
    costs = rng.choice([0.05, 0.3, 2.0], size=sizes.size)
    return losses, differences, examples, costs, rng.normal(size=6)


def hildreth(losses, differences, examples, costs, start, tolerance=1e-10, sweeps=1_000_000):
    gram = differences @ differences.T
    missing = losses - differences @ start
    duals = _core.hildreth(gram.ravel(), missing, costs[examples.astype(int)], examples, tolerance, sweeps)
    return duals, start + duals @ differences


@pytest.mark.parametrize("seed", range(30))
def test_programme_with_slack_per_example_is_solved(seed):
    losses, differences, examples, costs, start = programme(seed)
    duals, w = hildreth(losses, differences, examples, costs, start)
    _, expected = margin_programme(losses, differences, examples.astype(int), costs, start)
    assert np.abs(w - expected).max() < 1e-5
    assert duals.min() >= 0
    sums = np.bincount(examples.astype(int), weights=duals)
    assert (sums <= costs * (1 + 1e-12)).all()


def test_random_programmes_need_the_steps_of_two_variables():
    """Steps of one variable, cut off at the sum, get stuck: what the solver must not do."""
    stuck = 0
    for seed in range(10):
        losses, differences, examples, costs, start = programme(seed)
        owner = examples.astype(int)
        duals, w = np.zeros(losses.size), start.copy()
        for _ in range(500):
            for j, d in enumerate(differences):
                left = costs[owner[j]] - duals[owner == owner[j]].sum()
                step = np.clip((losses[j] - w @ d) / (d @ d), -duals[j], left)
                duals[j], w = duals[j] + step, w + step * d
        stuck += np.abs(w - hildreth(losses, differences, examples, costs, start)[1]).max() > 0.01
    assert stuck > 2


@pytest.mark.parametrize("seed", range(10))
def test_programme_without_slack_meets_the_margins(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=6)
    differences = rng.normal(size=(5, 6))
    differences[differences @ truth < 0] *= -1
    losses = rng.uniform(1, 3, size=5)
    start = rng.normal(size=6)
    examples = np.arange(5, dtype=np.uint64) // 2
    _, w = hildreth(losses, differences, examples, np.full(3, np.inf), start)
    # With so large a cost no slack is worth its price.
    least, _ = margin_programme(losses, differences, examples.astype(int), np.full(3, 1e4), start)
    assert (differences @ w >= losses - 1e-6).all()
    assert 0.5 * (w - start) @ (w - start) <= least * (1 + 1e-6)


def test_contradictory_margins_without_slack_end_by_the_limit_on_sweeps():
    differences = np.array([[1.0, 0.0], [-1.0, 0.0]])
    examples = np.arange(2, dtype=np.uint64)
    for sweeps in (1, 10, 1000):
        duals, w = hildreth(np.ones(2), differences, examples, np.full(2, np.inf), np.zeros(2), 1e-6, sweeps)
        assert np.isfinite(duals).all()
        assert np.abs(w).max() <= 1


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("loss_augmented", [False, True])
@pytest.mark.parametrize(("k", "seed"), [(1, 0), (3, 1), (6, 2)])
def test_training_equals_a_replay_with_scipy(k, seed, loss_augmented, averaged):
    chains = TinyChains(seed, sentences=8, labels=3, max_length=3, integers=False)
    task = make_task(chains, "valued")
    weights = np.random.default_rng(seed).uniform(0.3, 2, size=8)

    def step(i, w):
        losses, differences = candidates(task, i, w, float(loss_augmented), k)
        violated = losses - differences @ w > 1e-6 if loss_augmented else differences @ w <= 1e-6
        kept = violated & (np.abs(differences).sum(axis=1) > 0)
        if not kept.any():
            return w
        owners = np.zeros(kept.sum(), dtype=int)
        return margin_programme(losses[kept], differences[kept], owners, np.array([C * weights[i]]), w)[1]

    expected = replay(task, range(8), 3, step)[averaged]
    learner = {"k_best": k, "loss_augmented": loss_augmented, "averaged": averaged, **EXACT}
    options = {"C": C, "max_iter": 3, "engine": {"shuffle": False}, "sample_weight": weights}
    result = train(task, algorithm="mira", learner=learner, **options)
    assert np.abs(result.weights - expected).max() < 1e-5
    assert result.updates > 5
    assert result.certificate is None
    assert result.primal is None


@pytest.mark.parametrize("algorithm", ["mira", "kbest-mira"])
def test_implicit_differences_lead_to_the_same_weights(algorithm):
    chains = TinyChains(3, sentences=20, labels=4, max_length=5, integers=False)
    runs = [
        train(make_task(chains, representation), algorithm=algorithm, C=C, max_iter=4, learner=EXACT).weights
        for representation in ("valued", "dense")
    ]
    assert np.abs(runs[0] - runs[1]).max() < 1e-5


def test_k_best_learns_from_more_than_the_best():
    chains = TinyChains(5, sentences=20, labels=4, max_length=5)
    one, five = (train(make_task(chains, "valued"), algorithm=name, C=C) for name in ("mira", "kbest-mira"))
    assert five.updates > one.updates
    again = train(make_task(chains, "valued"), algorithm="mira", C=C, learner={"k_best": 5})
    assert again.weights.tobytes() == five.weights.tobytes()


def test_sentences_that_contradict_each_other_leave_finite_weights():
    words, labels = [["a", "b"]] * 4, [["P", "Q"], ["Q", "P"], ["P", "P"], ["Q", "Q"]]
    for learner in ({"unbounded": True}, {"unbounded": True, "k_best": 4}, {"unbounded": True, "loss_augmented": True}):
        tagger = SequenceTagger("mira", features="words", max_iter=20, learner=learner).fit(words, labels)
        assert np.isfinite(tagger.tagger_.weights).all()
        assert np.abs(tagger.tagger_.weights).max() < 100


def test_outputs_that_no_feature_tells_apart_are_skipped():
    for algorithm in ("mira", "kbest-mira", "passive-aggressive"):
        tagger = SequenceTagger(algorithm).fit([[[]], [[]], [["f"]]], [["P"], ["Q"], ["Q"]])
        assert np.isfinite(tagger.tagger_.weights).all()


def test_weight_zero_drops_and_other_weights_are_factors_of_the_cost():
    chains = TinyChains(4, sentences=6, integers=False)
    task = make_task(chains, "valued")
    options = {"algorithm": "kbest-mira", "engine": {"shuffle": False}, "max_iter": 3}
    assert train(task, C=0.02, sample_weight=np.full(6, 3.0), **options).weights == pytest.approx(
        train(task, C=0.06, **options).weights, abs=1e-12
    )
    dropped = train(task, C=0.02, sample_weight=[1, 1, 1, 1, 1, 0], **options)
    assert dropped.inferences == 15
    assert dropped.weights.tobytes() != train(task, C=0.02, **options).weights.tobytes()


def test_needs_follow_the_parameters():
    core = SimpleNamespace(capabilities=["gold"])
    task = SimpleNamespace(core=core, why_it_lacks=lambda need: "the task simple has none")
    check_needs(task, find_algorithm("mira"))
    with pytest.raises(InputError, match="kbest-mira needs k-best inference, and the task simple has none"):
        check_needs(task, find_algorithm("kbest-mira"))
    for algorithm in ("mira", "passive-aggressive"):
        with pytest.raises(InputError, match="needs loss-augmented inference"):
            check_needs(task, find_algorithm(algorithm, {"loss_augmented": True}))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k_best": 0}, "k_best must be a whole number from 1"),
        ({"k_best": 2.5}, "k_best must be a whole number"),
        ({"loss_augmented": 1}, "loss_augmented must be true or false, not 1"),
        ({"unbounded": None}, "unbounded must be true or false"),
        ({"qp_tolerance": 0}, "qp_tolerance must be a positive number"),
        ({"qp_sweeps": 0}, "qp_sweeps must be a whole number from 1"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        MIRA(**parameters)
