"""A second Ctrl-C breaks into methods of a user's task on every thread, also while the main one waits for them."""

import signal
import threading
import time

import numpy as np
import pytest
from support.custom_chains import Watched

from marginloom import Callback
from marginloom.algorithms import ALGORITHMS
from marginloom.training import interrupts
from marginloom.training.train import train

PATIENCE = 30.0  # of a method that nothing has broken into: the test has failed then, and goes on


class Hanging(Watched):
    """Hangs in one thread that is not the main one, once it is told to; the main one waits for that to happen.

    `in_main` and `in_other` are called when it hangs, in the main thread and in the one that hangs.
    """

    def __init__(self, in_main=lambda: None, in_other=lambda: None):
        self.in_main, self.in_other = in_main, in_other
        self.armed = False
        self.hangs = threading.Event()
        self.ended = False
        super().__init__(self.watch)

    def watch(self):
        if not self.armed:
            return
        if threading.current_thread() is threading.main_thread():
            if not self.hangs.wait(PATIENCE):
                raise AssertionError("no other thread has called a method")
            self.in_main()
        elif not self.hangs.is_set():
            self.hangs.set()
            self.in_other()
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                pass
            self.ended = True


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def twice_from_here():
    """Press Ctrl-C, and again when training has taken note of it."""
    ctrl_c()
    while not interrupts._current.requested:
        pass
    ctrl_c()


class ArmAfterPass(Callback):
    def __init__(self, task):
        self.task = task

    def after_iteration(self, run, row):
        self.task.armed = True


class ArmAfterPasses(ArmAfterPass):
    def after_iteration(self, run, row):
        pass

    def after_training(self, run):
        self.task.armed = True


@pytest.mark.parametrize("algorithm", ["ms-dcd", "demi-dcd", "shared-dcd", "minibatch-perceptron", "ipm"])
@pytest.mark.parametrize("where", ["in_main", "in_other"])
def test_second_ctrl_c_breaks_into_training_on_all_threads(algorithm, where):
    if (algorithm, where) == ("demi-dcd", "in_main"):
        where = "in_other"  # the main thread learns, and need not search
    task = Hanging(**{where: twice_from_here})
    engine = {"rounds": 1} if algorithm == "ms-dcd" else None  # the examples of one are for one thread
    result = train(task, algorithm=algorithm, engine=engine, n_threads=2, max_iter=5, **({""
    "tol": 1e-300} if "tol" in ALGORITHMS[algorithm].common else {}),
                   callbacks=[ArmAfterPass(task)], keep_state=True)  # fmt: skip
    assert task.hangs.is_set()
    assert not task.ended
    assert (result.stopped, result.certificate) == ("interrupted", None)
    assert np.isfinite(result.weights).all()
    task.armed = False
    again = train(task, algorithm=algorithm, engine=engine, n_threads=2, max_iter=1, warm_start=result.state)
    assert again.iterations == 1


@pytest.mark.parametrize("where", ["in_main", "in_other"])
def test_second_ctrl_c_breaks_into_a_certificate_on_all_threads(where):
    task = Hanging(**{where: twice_from_here})
    result = train(task, n_threads=2, algorithm="ms-dcd", max_iter=1, tol=1e-300, callbacks=[ArmAfterPasses(task)])
    assert task.hangs.is_set()
    assert not task.ended
    assert (result.stopped, result.certificate, result.iterations) == ("interrupted", None, 1)


@pytest.mark.parametrize("where", ["in_main", "in_other"])
def test_first_ctrl_c_breaks_into_prediction_on_all_threads(where):
    task = Hanging(**{where: ctrl_c})
    task.armed = True
    with pytest.raises(KeyboardInterrupt):
        task.core.predict(np.ones(3), 2)
    assert task.hangs.is_set()
    assert not task.ended
    task.armed = False
    assert len(task.core.predict(np.ones(3), 2).scores) == 20
