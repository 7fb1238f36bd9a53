"""Exceptions and interruptions of methods of a task in plain Python."""

import traceback
from collections.abc import Sequence

import numpy as np
import pytest
from support.custom_chains import Majority, votes
from support.pairs import with_effect

from marginloom import train
from marginloom.training.callbacks import Callback


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
    task = Interrupted(X, Y)
    options = with_effect(algorithm, {"algorithm": algorithm, "tol": 1e-12})
    result = train(task, keep_state=True, **options)
    assert result.stopped == "interrupted"
    assert result.iterations == 1
    assert result.weights.any()
    again = train(task, max_iter=1, warm_start=result.state, **options)
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
    task = Interrupted(X, Y)
    result = train(task, memory=1, keep_state=True, **options)
    assert result.stopped == "interrupted"
    rest = train(task, warm_start=result.state, **options)
    whole = train(Majority(X, Y), **options)
    assert rest.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-4)


def test_ctrl_c_inside_a_method_interrupts_predict():
    class Interrupted(Majority):
        def argmax(self, x, w):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted([(1, 2, 3)]).predict(np.zeros(3))
