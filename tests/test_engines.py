"""Native engines used as they should not be, and what a certificate stands on."""

import threading

import numpy as np
import pytest
from oracles import TinyChains
from test_inference import make_task

from marginloom import DCD, InputError, Perceptron, _core, find_algorithm
from marginloom.training import train


def dual_engine(task, sentences):
    learner = _core.Dcd(task.core, np.full(sentences, 0.5), "squared_hinge", 0.01, 1, 5, 0.0, 2**60)
    return learner, _core.SerialDual(task.core, learner, np.arange(sentences, dtype=np.uint64), 0, True)


def test_certificate_recomputes_the_weights_from_the_duals():
    chains = TinyChains(0, sentences=20)
    _, engine = dual_engine(make_task(chains, "valued"), 20)
    for _ in range(5):
        engine.run_pass()
    before = engine.weights.copy()
    honest = engine.certify(1)
    engine.weights[:] += 1.0
    again = engine.certify(1)
    assert np.abs(engine.weights - before).max() < 1e-9
    assert again["primal"] == pytest.approx(honest["primal"], rel=1e-12)
    assert again["dual"] == pytest.approx(honest["dual"], rel=1e-12)


def test_learner_of_another_task_is_refused():
    tasks = [make_task(TinyChains(seed, sentences=20), "valued") for seed in (0, 1)]
    learner, _ = dual_engine(tasks[0], 20)
    with pytest.raises(ValueError, match="another task"):
        _core.SerialDual(tasks[1].core, learner, np.arange(20, dtype=np.uint64), 0, True)


def test_engine_at_work_refuses_a_second_caller():
    task = make_task(TinyChains(0, sentences=3000, max_length=9, labels=5), "valued")
    _, engine = dual_engine(task, 3000)
    started = threading.Event()

    def passes():
        started.set()
        for _ in range(5):
            engine.run_pass()

    worker = threading.Thread(target=passes)
    worker.start()
    started.wait()
    refusals = set()
    while worker.is_alive():
        try:
            engine.export_state()
        except RuntimeError as error:
            refusals.add(str(error))
    worker.join()
    assert engine.export_state()["duals"].size > 0
    assert refusals == {"this engine is at work in another thread"}


def test_ready_learner_must_be_the_algorithms_own():
    assert find_algorithm("dcd-ssvm", learner=DCD(inner_passes=1)).learner.inner_passes == 1
    with pytest.raises(InputError, match="dcd-ssvm has the learner dcd, not perceptron"):
        find_algorithm("dcd-ssvm", learner=Perceptron())


def test_last_row_of_the_trace_is_the_final_certificate(tmp_path):
    task = make_task(TinyChains(0, sentences=20), "valued")
    result = train(task, C=0.5, tol=1e-9, max_iter=4, trace_path=tmp_path / "t")
    row = result.trace.rows[-1]
    assert row["certified"]
    assert (row["primal"], row["dual"], row["gap"]) == (
        result.certificate.primal,
        result.certificate.dual,
        result.certificate.gap,
    )
    assert len((tmp_path / "t").read_text().splitlines()) == 5


def test_restoring_a_state_forgets_the_certificate():
    task = make_task(TinyChains(0, sentences=20), "valued")
    early = train(task, C=0.5, tol=1e-9, max_iter=1, keep_state=True)
    late = train(task, C=0.5, tol=1e-9, max_iter=1, warm_start=early.state)
    assert late.certificate.dual > early.certificate.dual


def test_learning_continues_until_the_tolerance_although_estimates_are_odd():
    for seed in range(4):
        task = make_task(TinyChains(seed, sentences=3, labels=2, max_length=2), "indicators")
        result = train(task, C=10.0, tol=1e-8, max_iter=20000)
        assert result.stopped == "tolerance"
