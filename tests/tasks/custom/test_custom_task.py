"""Tasks in plain Python: the same optimum as the native twin, and what a task can say of itself."""

import gc
import weakref

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import EnumeratedChains, Majority, tiny, votes
from support.oracles import TinyChains

from marginloom import CustomTask, InputError, train

C = 0.7


@pytest.mark.parametrize("k_best", [1, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_training_reaches_the_optimum_of_the_native_task(seed, integers, loss, k_best):
    chains = tiny(seed, integers=integers, start_end=seed == 1)
    chains.label_costs = np.array([1.0, 2.0, 0.5])
    options = {"C": C, "tol": 1e-5, "max_iter": 3000, "loss": loss, "learner": {"k_best": k_best}}
    native_task = make_task(chains, "valued")
    native = train(native_task, **options)
    custom = train(EnumeratedChains(chains), **options)
    assert custom.stopped == "tolerance"
    assert custom.certificate.exact
    assert custom.certificate.primal == pytest.approx(native.certificate.primal, rel=3e-5)
    assert custom.certificate.dual == pytest.approx(native.certificate.dual, rel=3e-5)
    assert np.abs(custom.weights - chains.from_core(native.weights, native_task.core.stride)).max() < 0.02


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron"])
@pytest.mark.parametrize("seed", range(3))
def test_perceptron_weights_equal_those_of_the_native_task(algorithm, seed):
    chains = TinyChains(seed, sentences=12, max_length=3)
    native_task = make_task(chains, "indicators")
    options = {"algorithm": algorithm, "max_iter": 2}
    native = train(native_task, **options)
    custom = train(EnumeratedChains(chains), **options)
    assert custom.inferences == native.inferences
    assert custom.updates > 0
    np.testing.assert_array_equal(custom.weights, chains.from_core(native.weights, native_task.core.stride))


def test_find_returns_the_most_violated_output_for_any_scale_of_the_loss():
    chains = tiny(integers=False)
    task = EnumeratedChains(chains)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.25, 1.0, 3.0):
        w = rng.normal(size=chains.dimension)
        for i in range(task.core.size):
            gold = chains.phi(i, chains.y[i])
            best = max(scale * chains.loss(i, y) - w @ (gold - chains.phi(i, y)) for y in chains.outputs(i))
            search = task.core.find(i, w, loss_scale=scale)
            bound, candidates = search.bound, search.candidates
            assert bound == pytest.approx(max(best, 0), abs=1e-5)
            for candidate in candidates:
                y = task.decode(candidate.output)
                difference = np.zeros(chains.dimension)
                difference[candidate.indices] = candidate.values
                np.testing.assert_allclose(difference, gold - chains.phi(i, y), atol=1e-6)
                assert candidate.loss == chains.loss(i, y)
                assert candidate.squared_norm == pytest.approx(difference @ difference)
                assert (np.diff(candidate.indices.astype(int)) > 0).all()
                assert (candidate.values != 0).all()


def test_k_best_outputs_come_most_violated_first_and_gold_is_left_out():
    chains = tiny(integers=False)
    task = EnumeratedChains(chains)
    w = np.random.default_rng(2).normal(size=chains.dimension)
    for i in range(task.core.size):
        gold = chains.phi(i, chains.y[i])
        violations = sorted((chains.loss(i, y) - w @ (gold - chains.phi(i, y)), tuple(y)) for y in chains.outputs(i))[
            ::-1
        ][:4]
        expected = [y for _, y in violations if y != task.Y[i]]
        candidates = task.core.find(i, w, k=4).candidates
        assert [task.decode(candidate.output) for candidate in candidates] == expected
    best = task.predict_k_best(w, 3)
    for i, found in enumerate(best):
        scores = sorted((w @ chains.phi(i, y) for y in chains.outputs(i)), reverse=True)[:3]
        assert [score for _, score in found] == pytest.approx(scores)


def test_capabilities_follow_from_what_the_class_has():
    X, Y = votes()
    assert Majority(X, Y).core.capabilities == ["gold", "exact", "bounded", "loss-augmented", "needs-GIL"]
    assert "gold" not in Majority(X).core.capabilities
    assert "k-best" in EnumeratedChains(tiny()).core.capabilities


def test_without_k_best_methods_k_best_is_refused():
    X, Y = votes()
    task = Majority(X, Y)
    with pytest.raises(InputError, match="k-best inference, and the task custom has none"):
        train(task, learner={"k_best": 2})
    with pytest.raises(InputError, match="Majority has no method argmax_k_best, and k is 2"):
        task.predict_k_best(np.zeros(3), 2)


def test_augmented_k_best_that_is_not_defined_is_named():
    class OnlyPlain(Majority):
        def argmax_k_best(self, x, w, k):
            return sorted(range(3), key=lambda y: -w[y] * x[y])[:k]

    X, Y = votes()
    task = OnlyPlain(X, Y)
    assert "k-best" in task.core.capabilities
    with pytest.raises(InputError, match="OnlyPlain has no method argmax_augmented_k_best, and 2 outputs are asked"):
        task.core.find(0, np.zeros(3), k=2)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_the_same_certificate_and_predictions(n_threads):
    chains = tiny(sentences=40)
    one = train(EnumeratedChains(chains), C=C, tol=0.01)
    other = train(EnumeratedChains(chains), C=C, tol=0.01, n_threads=n_threads)
    assert other.weights.tobytes() == one.weights.tobytes()
    assert other.certificate == one.certificate
    task = EnumeratedChains(chains, gold=False)
    assert task.predict(one.weights, n_threads=n_threads) == task.predict(one.weights)


class Greedy(Majority):
    """May miss the maximum, as far as it says."""

    exact = False


def test_inexact_inference_gives_estimates_and_nothing_that_is_called_certified():
    result = train(Greedy(*votes()), C=C, tol=0.01)
    assert not {"exact", "bounded"} & set(Greedy(*votes()).core.capabilities)
    assert (result.exact, result.bounded, result.certificate.exact, result.certificate.bounded) == (False,) * 4
    assert result.certificate.gap <= 0.01
    assert result.stopped == "estimate"
    assert [row["certified"] for row in result.trace.rows] == [False] * result.iterations
    assert result.trace.rows[-1]["gap"] == result.certificate.gap
    assert "certified" not in str(result.certificate)
    assert "about" in str(result.certificate)


def test_an_estimate_within_the_tolerance_after_the_last_pass_is_no_tolerance_either():
    passes = train(Greedy(*votes()), C=C, tol=0.01).iterations
    estimated = train(Greedy(*votes()), C=C, tol=0.01, max_iter=passes)
    assert estimated.stopped == "estimate"
    exact = train(Majority(*votes()), C=C, tol=0.01)
    assert exact.stopped == "tolerance"
    assert exact.weights.tobytes() == estimated.weights.tobytes()


def test_weights_are_a_read_only_view_that_stays_safe_when_kept():
    kept = []

    class Keeping(Majority):
        def argmax_augmented(self, x, gold, w):
            kept.append(w)
            return super().argmax_augmented(x, gold, w)

    X, Y = votes()
    result = train(Keeping(X, Y), algorithm="dcd-ssvm", max_iter=3)
    assert all(np.shares_memory(w, result.weights) for w in kept)
    final = result.weights.copy()
    del result
    gc.collect()
    assert all((w == final).all() for w in kept)
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        kept[0].flags.writeable = True


def test_predict_shows_the_weights_without_a_copy_and_they_may_be_kept():
    kept = []

    class Keeping(Majority):
        def argmax(self, x, w):
            kept.append(w)
            return super().argmax(x, w)

    weights = np.array([1.0, 2.0, 3.0])
    Keeping([(1, 1, 1)]).predict(weights)
    assert np.shares_memory(kept[0], weights)
    del weights
    gc.collect()
    assert kept[0].tolist() == [1.0, 2.0, 3.0]


def test_gold_features_are_computed_once():
    calls = []

    class Counting(Majority):
        def features(self, x, y):
            calls.append((tuple(x), y))
            return super().features(x, y)

    X, Y = votes()
    train(Counting(X, Y), tol=1e-12, max_iter=10)
    golds = [(tuple(x), y) for x, y in zip(X, Y, strict=True)]
    assert {calls.count(gold) for gold in golds} == {0, 1}  # none where nothing wrong was ever found


def test_a_task_is_collected_when_nobody_uses_it():
    X, Y = votes()
    task = Majority(X, Y)
    train(task, max_iter=2)
    gone = weakref.ref(task)
    del task
    gc.collect()
    assert gone() is None


def test_wrong_arguments_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="X has 1 examples and Y 2 outputs"):
        Majority([(1, 2, 3)], [0, 1])
    with pytest.raises(InputError, match="dimension must be a whole number from 1"):
        Majority([(1, 2, 3)], [0], dimension=0)
    with pytest.raises(InputError, match="X must hold one item per example"):
        Majority(5)
    with pytest.raises(InputError, match="weights must have the task's dimension, 3"):
        Majority([(1, 2, 3)]).predict(np.zeros(4))
    with pytest.raises(InputError, match="needs examples with their gold output, and the task custom has none"):
        train(Majority([(1, 2, 3)]))
    with pytest.raises(TypeError, match="abstract"):
        CustomTask([], dimension=1)
