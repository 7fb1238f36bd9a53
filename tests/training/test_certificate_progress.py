"""A certificate that takes long shows how far it is, and can be interrupted without a trace of it."""

import io
import signal
import sys
import time

import pytest
from support.custom_chains import Watched

from marginloom import Callback
from marginloom.training import callbacks
from marginloom.training.callbacks import ProgressBar
from marginloom.training.run import Run
from marginloom.training.train import train


class Clock:
    """Stands in for `time` in the progress bar."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(callbacks, "time", clock)
    return clock


@pytest.fixture
def run():
    """A run that has done a pass."""
    seen = []

    class Keep(Callback):
        def before_training(self, run):
            seen.append(run)

    train(Watched(lambda: None), max_iter=1, tol=1e-12, callbacks=[Keep()])
    return seen[0]


class Slow(Watched):
    """Takes longer for an inference than work goes on without looking for signals, once it is told to."""

    def __init__(self):
        self.slow = False
        super().__init__(self.wait)

    def wait(self):
        end = time.monotonic() + 0.06
        while self.slow and time.monotonic() < end:
            pass


class Telling(Callback):
    """Notes what it is told, and does something when it is told for the first time of a certificate at the end."""

    def __init__(self, task, action=lambda: None):
        self.task, self.action, self.calls = task, action, []

    def after_training(self, run):
        self.calls.append("training has ended")
        self.task.slow = True

    def during_certificate(self, run, done, total):
        if self.task.slow and not isinstance(self.calls[-1], tuple):
            self.action()
        self.calls.append((done, total))

    def after_certificate(self, run):
        if self.task.slow:
            self.calls.append("certificate has ended")


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "sgd"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_callbacks_are_told_how_many_examples_are_done(algorithm, n_threads):
    task = Slow()
    telling = Telling(task)
    train(
        task,
        algorithm=algorithm,
        max_iter=1,
        n_threads=n_threads,
        **({"tol": 1e-12} if algorithm != "sgd" else {}),
        callbacks=[telling],
    )
    assert [call for call in telling.calls if not isinstance(call, tuple)] == [
        "training has ended", "certificate has ended",
    ]  # fmt: skip
    told = [call for call in telling.calls if isinstance(call, tuple)]
    assert told == sorted(told)
    assert {total for _, total in told} == {20}
    assert told[-1][0] > 0


def test_interrupted_certificate_is_none_and_the_model_stays():
    task = Slow()
    telling = Telling(task, lambda: signal.raise_signal(signal.SIGINT))
    result = train(task, max_iter=1, tol=1e-12, callbacks=[telling], keep_state=True)
    assert (result.stopped, result.certificate, result.iterations) == ("interrupted", None, 1)
    assert not any(row["certified"] for row in result.trace.rows)
    assert result.weights.any()
    assert telling.calls[-1] == "certificate has ended"
    task.slow = False
    assert train(task, max_iter=1, warm_start=result.state).certificate is not None


def test_error_of_a_callback_ends_the_certificate():
    def fail():
        raise LookupError("no such bar")

    task = Slow()
    telling = Telling(task, fail)
    with pytest.raises(LookupError, match="no such bar"):
        train(task, max_iter=1, tol=1e-12, callbacks=[telling])
    assert telling.calls[-1] == "certificate has ended"


def test_short_certificates_say_nothing_without_a_terminal(run, clock, capfd):
    bar = ProgressBar(choice=False)
    bar.before_training(run)
    bar.after_training(run)
    bar.during_certificate(run, 0, 5000)
    clock.now += 1.9
    bar.during_certificate(run, 4000, 5000)
    bar.after_certificate(run)
    assert capfd.readouterr().err == ""


def test_long_certificates_say_every_two_seconds_how_far_they_are(run, clock, capfd):
    bar = ProgressBar(choice=False)
    bar.before_training(run)
    bar.after_training(run)
    bar.during_certificate(run, 0, 5000)
    for done in (0, 1000, 1250, 2500):
        clock.now += 2.0 if done != 1250 else 0.5
        bar.during_certificate(run, done, 5000)
    bar.after_certificate(run)
    assert capfd.readouterr().err.splitlines() == [
        "certificate  0 of 5,000 examples  2.0 s elapsed",
        "certificate  1,000 of 5,000 examples  4.0 s elapsed, about 16 s remaining",
        "certificate  2,500 of 5,000 examples  6.5 s elapsed, about 6 s remaining",
    ]


@pytest.mark.parametrize("while_training", [True, False])
def test_a_terminal_gets_a_bar(run, monkeypatch, while_training):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    bar = ProgressBar(choice=False)
    bar.before_training(run)
    if not while_training:
        bar.after_training(run)
    bar.during_certificate(run, 20, 5000)
    bar._certificate[0].refresh()
    assert "certificate  20 of 5,000 examples" in terminal.getvalue()
    assert "elapsed" in terminal.getvalue()
    bar.after_certificate(run)
    if while_training:
        bar.after_iteration(run, run.trace.rows[0])  # goes on
        bar.after_training(run)
    assert bar._certificate is None
    assert bar._bar is None


def test_run_certifies_within_training_with_the_bar_shown(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    certified = []
    original = Run._certify

    def slow(run):
        run.task.slow = True
        certified.append(original(run))
        run.task.slow = False
        return certified[-1]

    monkeypatch.setattr(Run, "_certify", slow)
    train(Slow(), tol=0.5, callbacks=[ProgressBar(choice=False)])
    assert certified
    assert "of 20 examples" in terminal.getvalue()
