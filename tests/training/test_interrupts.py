"""Ctrl-C at every point between the first pass and the result, in every kind of engine."""

import signal
import threading

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import Watched, at_call
from support.oracles import TinyChains
from support.pairs import with_effect

from marginloom import Callback, SequenceTagger
from marginloom.training import train as training
from marginloom.training.checkpoint import Checkpoint, Saver
from marginloom.training.interrupts import acting_as_ctrl_c, exit_code, ignore_more_signals, watch_ctrl_c
from marginloom.training.run import Run
from marginloom.training.trace import Trace
from marginloom.training.train import train

TASK = make_task(TinyChains(0, sentences=12), "valued")
#: An algorithm for every engine, with and without an objective.
ALGORITHMS = [
    "dcd-ssvm",
    "ms-dcd",
    "demi-dcd",
    "averaged-perceptron",
    "sgd",
    "minibatch-mira",
    "ipm",
    "parameter-mixing",
    "subsample",
]


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def raise_interrupt():
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def pressing(method, when):
    """Return a callback that presses Ctrl-C when its method is called for that time."""
    calls = []

    def press(self, *arguments):
        calls.append(method)
        if len(calls) == when:
            ctrl_c()
        return getattr(Callback, method)(self, *arguments)

    return type("Pressing", (Callback,), {method: press})()


def press_before(monkeypatch, owner, name, when=1):
    """Press Ctrl-C before a function of the library is called for that time."""
    original, calls = getattr(owner, name), []

    def press(*arguments, **options):
        calls.append(name)
        if len(calls) == when:
            ctrl_c()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, press)


def check_interrupted(algorithm, *, iterations, within=False, **options):
    """Train three passes at most, and check the result of an interruption.

    A pass asks every 50 ms whether to stop. One `within` which Ctrl-C falls counts only if it ends before it asks.
    """
    settings = with_effect(algorithm, {"algorithm": algorithm, "n_threads": 2, "tol": 1e-12})
    result = train(TASK, **settings, max_iter=3, keep_state=True, **options)
    assert result.stopped == "interrupted"
    assert result.iterations == len(result.trace.rows)
    assert result.iterations in ({iterations - 1, iterations} if within else {iterations})
    assert np.isfinite(result.weights).all()
    assert result.weights.any() == (iterations > 0) or (within and result.iterations == 0)
    again = train(TASK, **settings, max_iter=1, warm_start=result.state)
    assert again.stopped == "iterations"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("method", "when", "iterations"),
    [
        ("before_training", 1, 0),
        ("before_iteration", 1, 1),
        ("before_iteration", 3, 3),
        ("after_iteration", 1, 1),
        ("after_iteration", 3, 3),
        ("after_training", 1, 3),
        ("state", 2, 2),
    ],
)
def test_ctrl_c_in_a_callback_ends_training_after_the_pass(algorithm, method, when, iterations, tmp_path):
    checkpoint = tmp_path / "run" if method == "state" else None
    callbacks = [pressing(method, when)]
    within = method == "before_iteration"
    check_interrupted(algorithm, iterations=iterations, within=within, callbacks=callbacks, checkpoint=checkpoint)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ctrl_c_in_an_evaluation_lets_it_end(algorithm):
    scored = []

    def evaluate(weights):
        ctrl_c()
        scored.append(weights.size)
        return {"size": float(weights.size)}

    check_interrupted(algorithm, iterations=1, evaluations={"dev": evaluate})
    assert len(scored) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("owner", "name", "iterations"),
    [
        (Trace, "record_to", 0),
        (Trace, "append", 1),
        (Trace, "close", 3),
        (Run, "_iterate", 1),
        (Run, "certify", 3),
        (Run, "state", 1),
        (Run, "finish", 3),
        (Saver, "after_pass", 1),
        (Saver, "flush", 1),
        (training, "_certified_end", 3),
    ],
)
def test_ctrl_c_between_the_steps_of_a_run_loses_nothing(monkeypatch, tmp_path, algorithm, owner, name, iterations):
    press_before(monkeypatch, owner, name)
    files = {"trace_path": tmp_path / "trace", "checkpoint": Checkpoint(tmp_path / "run", interval=0)}
    if name == "close":  # the result has been made, so the function that is to return it raises
        with pytest.raises(KeyboardInterrupt):
            train(TASK, algorithm=algorithm, n_threads=2, max_iter=3, **files)
        return
    check_interrupted(algorithm, iterations=iterations, within=name == "_iterate", **files)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n_threads", [2, 4])
@pytest.mark.parametrize("action", [ctrl_c, raise_interrupt])
def test_ctrl_c_in_inference_ends_training_in_or_after_the_pass(algorithm, n_threads, action):
    options = with_effect(algorithm, {"algorithm": algorithm, "n_threads": n_threads, "tol": 1e-300})
    task = Watched(at_call(45, action))
    result = train(task, max_iter=10**6, keep_state=True, **options)
    assert result.stopped == "interrupted"
    assert result.weights.any() == (result.updates > 0)  # SGD first searches for the size of its steps
    assert train(task, warm_start=result.state, max_iter=1, **options).iterations == 1


def test_second_ctrl_c_breaks_into_a_callback_and_training_still_ends_well():
    class Hanging(Callback):
        def after_iteration(self, run, row):
            ctrl_c()
            ctrl_c()
            raise AssertionError("not reached")

    check_interrupted("dcd-ssvm", iterations=1, callbacks=[Hanging()])


def test_estimator_is_fitted_before_a_late_ctrl_c_is_raised(monkeypatch):
    press_before(monkeypatch, training, "Result")  # after the run has been asked for the last time
    tagger = SequenceTagger(features="words")
    with pytest.raises(KeyboardInterrupt):
        tagger.fit([["a", "b"]], [["A", "B"]])
    assert tagger.stopped_ == "tolerance"
    assert tagger.predict([["b"]]) == [["B"]]


def test_ctrl_c_before_training_is_raised_at_once():
    for _ in range(2):
        with watch_ctrl_c(), pytest.raises(KeyboardInterrupt):
            ctrl_c()


def test_requests_are_counted_once_deferred():
    with watch_ctrl_c() as interrupts:
        interrupts.defer()
        assert not interrupts.requested
        ctrl_c()
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        assert interrupts.answer()


def test_request_that_nobody_answers_is_raised_in_the_end():
    @watch_ctrl_c()
    def work():
        with watch_ctrl_c() as interrupts:
            interrupts.defer()
        ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        work()


def test_blocks_within_a_block_are_part_of_it():
    with watch_ctrl_c() as outer:
        with watch_ctrl_c() as inner:
            inner.defer()
        ctrl_c()
        assert inner is outer
        assert outer.answer()


def test_handlers_of_others_stay():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with watch_ctrl_c() as interrupts:
            interrupts.defer()
            ctrl_c()
        assert seen == [signal.SIGINT]
        assert not interrupts.requested
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_train_without_taking_the_signal():
    found = []

    def work():
        with watch_ctrl_c():
            found.append(signal.getsignal(signal.SIGINT))
        found.append(train(TASK, max_iter=1, tol=1e-12).stopped)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler, "iterations"]


def test_fit_in_a_loop_ends_with_ctrl_c():
    taggers = [SequenceTagger(features="words", tol=1e-12) for _ in range(3)]

    def fit_all():
        for tagger in taggers:
            tagger.fit([["a", "b"]], [["A", "B"]], callbacks=[pressing("after_iteration", 1)])

    with pytest.raises(KeyboardInterrupt, match="interrupted after 1 iteration; the estimator is fitted"):
        fit_all()
    assert [hasattr(tagger, "model_") for tagger in taggers] == [True, False, False]
    first = taggers[0]
    assert (first.stopped_, first.n_iter_, len(first.history_)) == ("interrupted", 1, 1)
    assert first.certificate_ is None
    assert first.predict([["b"]]) == [["B"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_act_as_ctrl_c_where_that_is_wished(number, monkeypatch):
    with acting_as_ctrl_c(signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert exit_code() == 128 + number
        signal.raise_signal(number)  # within a second: it is the same wish, and must not disturb the tidying up
        monkeypatch.setattr("marginloom.training.interrupts._SAME_WISH", -1.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        with watch_ctrl_c() as interrupts:
            interrupts.defer()
            signal.raise_signal(number)
            assert interrupts.requested
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            assert interrupts.answer()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize(("first", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_exit_code_is_that_of_the_first_signal(first, code):
    with acting_as_ctrl_c(signal.SIGTERM, signal.SIGHUP), watch_ctrl_c() as interrupts:
        interrupts.defer()
        signal.raise_signal(first)
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(other)
        assert exit_code() == code
        assert interrupts.answer()


@pytest.mark.parametrize("handler", [signal.SIG_IGN, print])
def test_signal_that_is_ignored_or_handled_stays_so(handler):
    before = signal.signal(signal.SIGHUP, handler)
    try:
        with acting_as_ctrl_c(signal.SIGTERM, signal.SIGHUP), watch_ctrl_c() as interrupts:
            interrupts.defer()
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == handler
            assert not interrupts.requested
        assert signal.getsignal(signal.SIGHUP) == handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_signals_are_requests_also_where_ctrl_c_is_ignored():
    """As of a program that a shell script has put in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with acting_as_ctrl_c(signal.SIGTERM), watch_ctrl_c() as interrupts:
            interrupts.defer()
            ctrl_c()
            assert not interrupts.requested
            signal.raise_signal(signal.SIGTERM)
            assert interrupts.answer()
    finally:
        signal.signal(signal.SIGINT, before)


def test_interrupted_program_can_ignore_what_comes_while_it_ends():
    before = signal.getsignal(signal.SIGINT)
    try:
        with acting_as_ctrl_c(signal.SIGTERM):
            ignore_more_signals()
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_IGN  # nothing has come yet
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            ignore_more_signals()
        for number in (signal.SIGTERM, signal.SIGINT):
            assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, before)
