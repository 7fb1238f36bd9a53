"""Tasks in plain Python: the same optimum as the native twin, and every way in which a user's method can fail."""

import gc
import math
import traceback
import weakref
from collections.abc import Sequence

import numpy as np
import pytest
from custom_chains import EnumeratedChains, Majority, votes
from oracles import TinyChains
from scipy import sparse
from test_inference import make_task

from marginloom import ALGORITHMS, Checkpoint, CustomTask, InputError, train
from marginloom.callbacks import Callback

C = 0.7


def tiny(seed=1, **options):
    return TinyChains(seed, **{"sentences": 6, "max_length": 3, **options})


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


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_trains_a_custom_task(algorithm):
    class Several(Majority):  # for the algorithms that need k-best inference
        def argmax_k_best(self, x, w, k):
            return sorted(range(3), key=lambda y: -w[y] * x[y])[:k]

        def argmax_augmented_k_best(self, x, gold, w, k):
            return sorted(range(3), key=lambda y: -w[y] * x[y] - self.loss(gold, y))[:k]

    X, Y = votes()
    engine = {"shards": 2} if algorithm == "subsample" else None  # a tenth of the examples would be two
    result = train(Several(X, Y), algorithm=algorithm, C=1.0, max_iter=30, n_threads=2, engine=engine)
    assert np.isfinite(result.weights).all()
    predicted = Majority(X).predict(result.weights)
    assert np.mean([p == y for p, y in zip(predicted, Y, strict=True)]) > 0.5


def test_find_returns_the_most_violated_output_for_any_scale_of_the_loss():
    chains = tiny(integers=False)
    task = EnumeratedChains(chains)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.25, 1.0, 3.0):
        w = rng.normal(size=chains.dimension)
        for i in range(task.core.size):
            gold = chains.phi(i, chains.y[i])
            best = max(scale * chains.loss(i, y) - w @ (gold - chains.phi(i, y)) for y in chains.outputs(i))
            bound, candidates = task.core.find(i, w, loss_scale=scale)
            assert bound == pytest.approx(max(best, 0), abs=1e-5)
            for candidate in candidates:
                y = task.decode(candidate["output"])
                difference = np.zeros(chains.dimension)
                difference[candidate["indices"]] = candidate["values"]
                np.testing.assert_allclose(difference, gold - chains.phi(i, y), atol=1e-6)
                assert candidate["loss"] == chains.loss(i, y)
                assert candidate["squared_norm"] == pytest.approx(difference @ difference)
                assert (np.diff(candidate["indices"].astype(int)) > 0).all()
                assert (candidate["values"] != 0).all()


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
        _, candidates = task.core.find(i, w, k=4)
        assert [task.decode(candidate["output"]) for candidate in candidates] == expected
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


FORMS = {
    "dict": lambda v: {int(k): v[k] for k in np.flatnonzero(v)},
    "pair": lambda v: (np.flatnonzero(v).astype(np.int32), v[np.flatnonzero(v)].astype(np.float32)),
    "lists, repeated and unsorted": lambda v: (
        [*np.flatnonzero(v)[::-1].tolist(), *np.flatnonzero(v).tolist()],
        [*(v[np.flatnonzero(v)[::-1]] / 2).tolist(), *(v[np.flatnonzero(v)] / 2).tolist()],
    ),
    "csr matrix": lambda v: sparse.csr_matrix(v),
    "csr array": lambda v: sparse.csr_array(v[None, :]),
    "coo, repeated": lambda v: sparse.coo_array(
        (np.tile(v / 2, 2), (np.zeros(2 * v.size, int), np.tile(np.arange(v.size), 2))), shape=(1, v.size)
    ),
    "dense": lambda v: v,
    "dense integers": lambda v: v.astype(int),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_features_gives_the_same_weights(form):
    chains = tiny()

    class Formed(EnumeratedChains):
        def features(self, x, y):
            return FORMS[form](super().features(x, y))

    expected = train(EnumeratedChains(chains), C=C, max_iter=3)
    assert train(Formed(chains), C=C, max_iter=3).weights.tobytes() == expected.weights.tobytes()


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ({3: 1.0}, r"the result has the index 3, and the dimension is 3: 0 to 2 exist"),
        ({-1: 1.0}, r"has the index -1"),
        ({"a": 1.0}, r"has indices that are not integers"),
        ({0.5: 1.0}, r"has indices that are not integers"),
        ({0: math.nan}, r"has the value nan at index 0"),
        ({0: math.inf}, r"has the value inf at index 0"),
        ({0: "x"}, r"has values that are not numbers"),
        (([0, 1], [1.0]), r"has 2 indices and 1 values"),
        (([[0]], [1.0]), r"has indices that are not integers in a row"),
        (([0, [1]], [1.0, 2.0]), r"has indices that are not integers"),
        (([0], 1.0), r"has values that are not numbers in a row"),
        (np.zeros(4), r"has the shape \(4,\) and must have that of the weights, \(3,\)"),
        (np.zeros((1, 3)), r"has the shape \(1, 3\)"),
        (sparse.csr_array(np.zeros((2, 3))), r"has the shape \(2, 3\) and must be one row of the dimension, 3"),
        ([0.0, 0.0, 1.0], r"must be a dict of index and value, .* not \[0.0, 0.0, 1.0\] \(list\)"),
        (None, r"must be a dict of index and value, .* not None"),
    ],
)
def test_unfit_features_are_an_input_error_that_names_the_example(vector, message):
    class Unfit(Majority):
        def features(self, x, y):
            return vector if x[0] == 7 else {y: x[y]}

    with pytest.raises(InputError, match=r"Unfit.features, example 1: .*" + message):
        train(Unfit([(1, 2, 3), (7, 2, 3)], [2, 0]), engine={"shuffle": False})


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, None, "much"])
def test_unfit_loss_is_an_input_error_that_names_the_example(value):
    class Unfit(Majority):
        def loss(self, gold, y):
            return value

        def argmax_augmented(self, x, gold, w):
            return (gold + 1) % 3

    with pytest.raises(InputError, match=r"Unfit.loss, example 0: the result must be a finite number, 0 or more, not"):
        train(Unfit([(1, 2, 3)], [2]))


def broken_in(method):
    def fail(self, *arguments):
        if arguments[0][0] == 7:
            raise KeyError("lexicon")
        return getattr(Majority, method)(self, *arguments)

    return type("Broken", (Majority,), {method: fail})


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize(
    ("method", "algorithm"),
    [("argmax", "perceptron"), ("argmax_augmented", "dcd-ssvm"), ("features", "dcd-ssvm"), ("features", "perceptron")],
)
def test_an_exception_of_a_method_arrives_with_its_traceback_and_the_example(method, algorithm, n_threads):
    X, Y = votes()
    X[:, 0] = 1
    X[17, 0] = 7
    with pytest.raises(KeyError, match="lexicon") as caught:
        train(broken_in(method)(X, Y), algorithm=algorithm, n_threads=n_threads)
    assert f"in Broken.{method}, example 17" in caught.value.__notes__
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "fail"


def test_an_exception_of_a_sequence_that_is_read_on_demand_names_the_example():
    class Files(Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            raise FileNotFoundError(f"{i}.txt")

    with pytest.raises(FileNotFoundError) as caught:
        train(Majority(Files(), [0, 1, 2]), engine={"shuffle": False})
    assert caught.value.__notes__ == ["reading X of Majority, example 0"]


@pytest.mark.parametrize("n_threads", [1, 4])
def test_exceptions_of_several_threads_reach_the_caller_of_predict_as_one(n_threads):
    X = [(7, 1, 1)] * 200
    for _ in range(20):
        with pytest.raises(KeyError, match="lexicon") as caught:
            broken_in("argmax")(X).predict(np.zeros(3), n_threads=n_threads)
        assert len(caught.value.__notes__) == 1


@pytest.mark.parametrize("n_threads", [1, 4])
def test_an_exception_in_the_certificate_reaches_the_caller(n_threads):
    class Certificate(Majority):
        failing = False

        def argmax_augmented(self, x, gold, w):
            if self.failing:
                raise ZeroDivisionError
            return super().argmax_augmented(x, gold, w)

    class Break(Callback):
        def after_iteration(self, run, row):
            run.task.failing = True

    X, Y = votes(100)
    with pytest.raises(ZeroDivisionError):
        train(Certificate(X, Y), tol=1e-12, max_iter=1, n_threads=n_threads, callbacks=[Break()])


@pytest.mark.parametrize("algorithm", ["perceptron", "dcd-ssvm"])
def test_keyboard_interrupt_of_a_method_ends_training_with_usable_weights(algorithm):
    class Interrupted(Majority):
        calls = 0

        def argmax(self, x, w):
            self.calls += 1
            if self.calls == 30:
                raise KeyboardInterrupt
            return super().argmax(x, w)

        def argmax_augmented(self, x, gold, w):
            self.argmax(x, w)
            return super().argmax_augmented(x, gold, w)

    X, Y = votes()
    result = train(Interrupted(X, Y), algorithm=algorithm, tol=1e-12, keep_state=True)
    assert result.stopped == "interrupted"
    assert result.iterations == 1
    assert result.weights.any()
    again = train(Majority(X, Y), algorithm=algorithm, tol=1e-12, max_iter=1, warm_start=result.state)
    assert again.iterations == 1


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("call", [1, 20, 50])
def test_ctrl_c_while_a_difference_is_rebuilt_leaves_a_state_to_go_on_from(loss, call):
    class Interrupted(Majority):
        calls = 0

        def decode(self, encoded):  # called for every step if there is no memory for differences
            self.calls += 1
            if self.calls == call:
                raise KeyboardInterrupt
            return super().decode(encoded)

    X, Y = votes()
    options = {"loss": loss, "C": 1.0, "tol": 1e-4, "max_iter": 2000}
    result = train(Interrupted(X, Y), memory=1, keep_state=True, **options)
    assert result.stopped == "interrupted"
    rest = train(Majority(X, Y), warm_start=result.state, **options)
    whole = train(Majority(X, Y), **options)
    assert rest.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-4)


def test_ctrl_c_inside_a_method_interrupts_predict():
    class Interrupted(Majority):
        def argmax(self, x, w):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted([(1, 2, 3)]).predict(np.zeros(3))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_the_same_certificate_and_predictions(n_threads):
    chains = tiny(sentences=40)
    one = train(EnumeratedChains(chains), C=C, tol=0.01)
    other = train(EnumeratedChains(chains), C=C, tol=0.01, n_threads=n_threads)
    assert other.weights.tobytes() == one.weights.tobytes()
    assert other.certificate == one.certificate
    task = EnumeratedChains(chains, gold=False)
    assert task.predict(one.weights, n_threads=n_threads) == task.predict(one.weights)


def test_inexact_inference_gives_a_certificate_that_says_so():
    class Greedy(Majority):
        exact = False

    X, Y = votes()
    assert not train(Greedy(X, Y)).certificate.exact
    assert not {"exact", "bounded"} & set(Greedy(X, Y).core.capabilities)


def test_weights_are_a_read_only_view_that_stays_safe_when_kept():
    kept = []

    class Keeping(Majority):
        def argmax_augmented(self, x, gold, w):
            kept.append(w)
            return super().argmax_augmented(x, gold, w)

    X, Y = votes()
    result = train(Keeping(X, Y), max_iter=3)
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


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_a_run_resumed_from_its_checkpoint_ends_with_the_same_bits(algorithm, tmp_path):
    chains = tiny(sentences=10)
    options = {"algorithm": algorithm, "C": C, "tol": 1e-12}
    whole = train(EnumeratedChains(chains), max_iter=6, **options)

    class KilledError(Exception):
        pass

    class Kill(Callback):
        def before_iteration(self, run):
            if run.iteration == 4:
                raise KilledError

    checkpoint = Checkpoint(tmp_path, interval=0)
    with pytest.raises(KilledError):
        train(EnumeratedChains(chains), max_iter=6, checkpoint=checkpoint, callbacks=[Kill()], **options)
    rest = train(EnumeratedChains(chains), max_iter=6, checkpoint=checkpoint, resume=True, **options)
    assert rest.weights.tobytes() == whole.weights.tobytes()
    assert rest.certificate == whole.certificate


def test_a_checkpoint_is_refused_for_other_inputs(tmp_path):
    X, Y = votes()
    checkpoint = Checkpoint(tmp_path, interval=0)
    train(Majority(X, Y), tol=1e-12, max_iter=3, checkpoint=checkpoint)
    with pytest.raises(InputError, match="with other features"):
        train(Majority(X + 1, Y), tol=1e-12, max_iter=4, checkpoint=checkpoint, resume=True)
    with pytest.raises(InputError, match="with other examples"):
        train(Majority(X, [*Y[:-1], (Y[-1] + 1) % 3]), tol=1e-12, max_iter=4, checkpoint=checkpoint, resume=True)


def test_warm_start_carries_the_duals_and_a_small_budget_of_memory_changes_nothing():
    chains = tiny(sentences=10)
    first = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=500, keep_state=True)
    again = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=1, warm_start=first.state)
    assert again.stopped == "tolerance"
    small = train(EnumeratedChains(chains), C=C, tol=1e-3, max_iter=500, memory=1)
    assert small.weights.tobytes() == first.weights.tobytes()


def test_outputs_of_a_state_that_do_not_fit_are_refused():
    X, Y = votes()
    state = train(Majority(X, Y), max_iter=2, keep_state=True).state
    state.arrays["dual_outputs"][:] = 255
    with pytest.raises(InputError, match="the state to start from does not fit: these bytes are not an encoded output"):
        train(Majority(X, Y), warm_start=state)


def test_encode_and_decode_of_ones_own_are_used():
    class Label:
        def __init__(self, number):
            self.number = number

    class Objects(Majority):
        def features(self, x, y):
            return {y.number: x[y.number]}

        def loss(self, gold, y):
            return float(gold.number != y.number)

        def argmax(self, x, w):
            return Label(super().argmax(x, w))

        def argmax_augmented(self, x, gold, w):
            return max(map(Label, range(3)), key=lambda y: w[y.number] * x[y.number] + self.loss(gold, y))

        def encode(self, y):
            return bytes([y.number])

        def decode(self, encoded):
            return Label(encoded[0])

    X, Y = votes()
    expected = train(Majority(X, Y), C=1.0)
    result = train(Objects(X, [Label(y) for y in Y]), C=1.0)
    assert result.weights.tobytes() == expected.weights.tobytes()
    predicted = Objects(X).predict(result.weights)
    assert [label.number for label in predicted] == Majority(X).predict(result.weights)


def test_outputs_that_cannot_be_encoded_are_refused_with_advice():
    X, _ = votes(2)
    with pytest.raises(
        InputError, match=r"is a set, which has no encoding of its own; .* override encode and decode"
    ) as e:
        Majority(X, [{1}, {2}])
    assert e.value.__notes__ == ["in Majority.encode, example 0"]


def test_a_decoded_output_that_encodes_otherwise_is_an_input_error():
    class Lossy(Majority):
        def decode(self, encoded):
            return 0

    X, Y = votes()
    with pytest.raises(InputError, match=r"Lossy.decode, example \d+: bytes that were decoded must encode to the same"):
        train(Lossy(X, Y), memory=1)


def test_wrong_arguments_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="X has 1 examples and Y 2 outputs"):
        Majority([(1, 2, 3)], [0, 1])
    with pytest.raises(InputError, match="dimension must be a whole number from 1"):
        Majority([(1, 2, 3)], [0], dimension=0)
    with pytest.raises(InputError, match="X must hold one item per example"):
        Majority(5)
    with pytest.raises(InputError, match="weights must have the task's dimension, 3"):
        Majority([(1, 2, 3)]).predict(np.zeros(4))
    with pytest.raises(InputError, match="needs examples with their right output, and the task custom has none"):
        train(Majority([(1, 2, 3)]))
    with pytest.raises(TypeError, match="abstract"):
        CustomTask([], dimension=1)
