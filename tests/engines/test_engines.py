"""Engines: which ones a learner can have, native ones used as they should not be, what a certificate stands on."""

import dataclasses
import threading

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import DCD, InputError, Perceptron, SequenceTagger, find_algorithm
from marginloom.engines import Decoupled, MasterWorker, Mixing, Serial
from marginloom.engines.base import Job
from marginloom.learners.base import CommonOptions
from marginloom.training.train import train


def dual_engine(task, sentences):
    options = CommonOptions(0.5, "squared_hinge", np.ones(sentences), memory=2**60)
    learner = DCD(k_best=1, sweeps=1).build(task.core, options)
    return learner, Serial().build(job_of(task, learner, sentences))


def job_of(task, learner, sentences):
    return Job(task.core, learner, np.arange(sentences, dtype=np.uint64), n_threads=1, seed=0)


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
    assert again.primal == pytest.approx(honest.primal, rel=1e-12)
    assert again.dual == pytest.approx(honest.dual, rel=1e-12)


def test_learner_of_another_task_is_refused():
    tasks = [make_task(TinyChains(seed, sentences=20), "valued") for seed in (0, 1)]
    learner, _ = dual_engine(tasks[0], 20)
    with pytest.raises(ValueError, match="another task"):
        Serial().build(job_of(tasks[1], learner, 20))


def test_engine_at_work_refuses_a_second_caller():
    task = make_task(TinyChains(0, sentences=3000, max_length=9, labels=5), "valued")
    _, engine = dual_engine(task, 3000)
    started = threading.Event()

    refusals = set()

    def passes():
        started.set()
        for _ in range(1000):  # until the other thread has had a core
            engine.run_pass()
            if refusals:
                return

    worker = threading.Thread(target=passes)
    worker.start()
    started.wait()
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


def test_engine_is_chosen_by_name_with_its_usual_parameters():
    assert find_algorithm("bcfw", engine="master-worker").engine == MasterWorker()
    assert find_algorithm("kbest-mira", engine={"name": "mixing", "shards": 3}).engine == Mixing(shards=3)
    assert find_algorithm("dcd-ssvm", engine=Decoupled(rho_updates=7)).engine.rho_updates == 7


def test_learners_on_master_worker_need_blocks_of_their_own_and_threads():
    task = make_task(TinyChains(2, sentences=30), "valued")
    found = find_algorithm("ms-dcd", engine={"learners": 2}).engine
    assert not found.gives_same_bits(2)
    assert MasterWorker().gives_same_bits(16)
    message = r"MasterWorker\(.*learners=2\) needs steps that concern one block .* which the learner cpd does not offer"
    with pytest.raises(InputError, match=message):
        find_algorithm("cpd", engine={"name": "master-worker", "learners": 2})
    with pytest.raises(InputError, match="ms-dcd needs at least 2 threads for its engine master-worker"):
        train(task, algorithm="ms-dcd", engine={"learners": 2})
    with pytest.raises(InputError, match="reproducible"):
        train(task, algorithm="ms-dcd", engine={"learners": 2}, n_threads=2, reproducible=True)
    for loss in ("hinge", "squared_hinge"):
        result = train(task, algorithm="ms-dcd", loss=loss, engine={"learners": 2, "rounds": 3}, n_threads=3, tol=1e-3)
        assert result.stopped == "tolerance"


@pytest.mark.parametrize("preset", ["ms-dcd", "bcfw", "n-slack"])
def test_rounds_change_training_and_not_its_end(preset):
    task = make_task(TinyChains(2, sentences=30), "valued")
    options = {"algorithm": preset, "loss": "hinge", "tol": 1e-3, "max_iter": 3000}
    results = [train(task, **options, engine={"name": "master-worker", "rounds": rounds}) for rounds in (1, 4, 30)]
    assert len({result.weights.tobytes() for result in results}) == 3
    for result in results:
        assert result.stopped == "tolerance"
        assert result.primal == pytest.approx(results[0].primal, rel=2e-3)
    serial = train(task, **options, engine="serial")
    assert serial.weights.tobytes() == results[-1].weights.tobytes()


def test_name_of_the_presets_own_engine_keeps_its_parameters():
    own = find_algorithm("parameter-mixing").engine
    assert own.inner_epochs == 0
    assert find_algorithm("parameter-mixing", engine="mixing").engine == own
    given = find_algorithm("parameter-mixing", engine={"name": "mixing", "shards": 3}).engine
    assert given == dataclasses.replace(own, shards=3)


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("decoupled", "the learner frank-wolfe has no engine decoupled; its engines are: serial, master-worker"),
        ("masterworker", r"no engine 'masterworker' \(did you mean 'master-worker'\?\); there are: serial, minibatch"),
        ({"name": 3}, "no engine 3; there are"),
        ({"name": ["serial"]}, r"no engine \['serial'\]"),
        ({"name": "master-worker", "shards": 2}, "bcfw on the engine master-worker has no parameter 'shards'"),
        ({"shards": 2}, "bcfw has no parameter 'shards'"),
        (7, "engine must be a name, a dict of parameters or a ready engine, not 7"),
    ],
)
def test_engine_that_does_not_fit_is_refused(engine, message):
    with pytest.raises(InputError, match=message):
        find_algorithm("bcfw", engine=engine)


def test_estimator_keeps_the_engine_in_its_file(tmp_path):
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    tagger = SequenceTagger("bcfw", features="words", engine="master-worker", max_iter=2).fit(X, y)
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.engine == "master-worker"
    again = loaded.fit(X, y)
    assert again.tagger_.settings["engine"] == tagger.tagger_.settings["engine"]
    assert again.tagger_.weights.tobytes() == tagger.tagger_.weights.tobytes()
