"""Minibatches against plain numpy, the serial engine and themselves with other numbers of threads."""

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import EnumeratedChains
from support.online import candidates, margin_programme
from support.oracles import TinyChains
from support.pairs import with_effect

from marginloom import InputError, find_algorithm
from marginloom.engines import Minibatch
from marginloom.training.train import train

C = 0.3


def perceptron_step(task, batch, w):
    """The mean difference of the examples that are wrong; the others do not count."""
    found = [candidates(task, i, w, 0.0)[1] for i in batch]
    differences = np.concatenate(found)
    return w + (differences.mean(axis=0) if len(differences) else 0)


def mira_step(task, batch, w, *, k=1, loss_scale=0.0):
    """One programme over the constraints of all examples of the batch, by scipy."""
    losses, differences, owners = [], [], []
    for slot, i in enumerate(batch):
        for loss, difference in zip(*candidates(task, i, w, loss_scale, k), strict=True):
            violated = loss - w @ difference > 1e-6 if loss_scale else w @ difference <= 1e-6
            if violated and difference.any():
                losses.append(loss)
                differences.append(difference)
                owners.append(slot)
    if not losses:
        return w
    costs = np.full(len(batch), C)
    return margin_programme(np.array(losses), np.array(differences), np.array(owners), costs, w)[1]


def replay(task, size, passes, m, step):
    """Return the last weights and their average over all batches, wrong or right, of all passes."""
    w, after = np.zeros(task.core.dimension), []
    for _ in range(passes):
        for begin in range(0, size, m):
            w = step(task, range(begin, min(begin + m, size)), w)
            after.append(w)
    return w, np.mean(after, axis=0)


@pytest.mark.parametrize("m", [2, 5, 7, 40])
@pytest.mark.parametrize("representation", ["valued", "dense"])
def test_perceptron_averages_over_the_wrong_examples_of_a_batch(m, representation):
    chains = TinyChains(m, sentences=23, labels=4, max_length=5, integers=False)
    task = make_task(chains, representation)
    last, average = replay(make_task(chains, "valued"), 23, 4, m, perceptron_step)
    for averaged, expected in ((False, last), (True, average)):
        result = train(
            task,
            algorithm="minibatch-perceptron",
            max_iter=4,
            n_threads=2,
            learner={"averaged": averaged},
            engine={"batch_size": m, "shuffle": False},
        )
        # Stored differences have single precision, those of dense rows are not stored.
        assert np.abs(result.weights - expected).max() < (1e-12 if representation == "valued" else 1e-6)
        assert result.inferences == 4 * 23


@pytest.mark.parametrize("seed", [0, 10])  # with the second one, nothing but rounding is left of a bound on the duals
@pytest.mark.parametrize("m", [2, 4, 9])
@pytest.mark.parametrize(("k", "loss_scale"), [(1, 0.0), (3, 0.0), (2, 1.0)])
def test_mira_solves_one_programme_over_a_batch(m, k, loss_scale, seed):
    chains = TinyChains(m + k + seed, sentences=9, labels=3, max_length=3, integers=False)
    task = make_task(chains, "valued")
    last, _ = replay(task, 9, 2, m, lambda *batch: mira_step(*batch, k=k, loss_scale=loss_scale))
    result = train(
        task,
        algorithm="minibatch-mira",
        C=C,
        max_iter=2,
        n_threads=2,
        learner={
            "averaged": False, "k_best": k, "loss_augmented": loss_scale > 0, "qp_tolerance": 1e-10, "qp_sweeps": 10**6
        },
        engine={"batch_size": m, "shuffle": False},
    )  # fmt: skip
    assert result.updates > 4
    assert np.abs(result.weights - last).max() < 1e-4


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    ("batched", "serial", "learner"),
    [
        ("minibatch-perceptron", "averaged-perceptron", {}),
        ("minibatch-perceptron", "perceptron", {"averaged": False}),
        ("minibatch-mira", "mira", {}),
        ("minibatch-mira", "kbest-mira", {"k_best": 5, "loss_augmented": True}),
    ],
)
def test_batches_of_one_are_the_serial_engine_to_the_bit(batched, serial, learner, n_threads):
    chains = TinyChains(1, sentences=40, labels=4, max_length=6, integers=False)
    task = make_task(chains, "valued")
    options = with_effect(serial, {"C": C, "max_iter": 4, "random_state": 7, "learner": learner})
    one = train(task, algorithm=batched, n_threads=n_threads, engine={"batch_size": 1}, **options)
    other = train(task, algorithm=serial, **options)
    assert one.weights.tobytes() == other.weights.tobytes()
    assert [row["wrong"] for row in one.trace.rows] == [row["wrong"] for row in other.trace.rows]
    assert [row["training_loss"] for row in one.trace.rows] == [row["training_loss"] for row in other.trace.rows]


@pytest.mark.parametrize("representation", ["valued", "dense"])
@pytest.mark.parametrize(
    ("algorithm", "learner"), [("minibatch-perceptron", {}), ("minibatch-mira", {"k_best": 3, "loss_augmented": True})]
)
def test_any_number_of_threads_gives_the_same_bits(algorithm, learner, representation):
    chains = TinyChains(2, sentences=150, labels=4, max_length=7, integers=False)
    task = make_task(chains, representation)
    options = {"algorithm": algorithm, "learner": learner, "max_iter": 3, "engine": {"batch_size": 17}}
    options |= with_effect(algorithm, {"C": C})
    alone = train(task, n_threads=1, **options)
    for threads in (2, 3, 16):
        together = train(task, n_threads=threads, **options)
        assert together.weights.tobytes() == alone.weights.tobytes()
        assert [row["training_loss"] for row in together.trace.rows] == [
            row["training_loss"] for row in alone.trace.rows
        ]
        assert len(together.trace.rows[0]["threads"]) == threads


def test_threads_beyond_the_batch_size_are_not_started():
    task = make_task(TinyChains(2, sentences=20), "valued")
    result = train(task, algorithm="minibatch-perceptron", n_threads=8, engine={"batch_size": 3}, max_iter=2)
    assert len(result.trace.rows[0]["threads"]) == 3


def test_seed_fixes_the_batches():
    task = make_task(TinyChains(2, sentences=60), "valued")
    runs = [train(task, algorithm="minibatch-perceptron", random_state=seed).weights.tobytes() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("algorithm", ["minibatch-perceptron", "minibatch-mira"])
def test_task_in_plain_python_trains_as_the_native_one_does(algorithm):
    chains = TinyChains(3, sentences=12, max_length=3)
    native_task = make_task(chains, "indicators")
    options = {"algorithm": algorithm, "max_iter": 3, "n_threads": 3, "engine": {"batch_size": 4}}
    options |= with_effect(algorithm, {"C": C})
    native = train(native_task, **options)
    custom = train(EnumeratedChains(chains), **options)
    assert custom.updates == native.updates > 0
    assert np.abs(custom.weights - chains.from_core(native.weights, native_task.core.stride)).max() < 1e-6


def test_wrong_combinations_are_refused():
    with pytest.raises(InputError, match="batch_size must be a whole number from 1"):
        Minibatch(batch_size=0)
    for algorithm in ("sgd", "passive-aggressive"):
        with pytest.raises(
            InputError, match=f"the learner {algorithm} has no engine minibatch; its engines are: serial"
        ):
            find_algorithm(algorithm, engine=Minibatch())
    with pytest.raises(InputError, match="the learner dcd has no engine minibatch"):
        find_algorithm("dcd-ssvm", engine=Minibatch())
    assert find_algorithm("kbest-mira", engine=Minibatch(batch_size=4)).engine.batch_size == 4
