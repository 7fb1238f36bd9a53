"""A real scheduler with three workers: what is lost or hangs is asked of others, and the bits stay the same."""

import os
import re
import signal
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from support import dask_hooks
from support.program import last_json, names_in, run

import marginloom
from marginloom import (
    Checkpoint,
    ClusterWarning,
    Dask,
    InputError,
    PartError,
    SequenceTagger,
    make_tagging,
    train_files,
)
from marginloom.clusters import dask as dask_module
from marginloom.clusters import dask_tasks
from marginloom.clusters.dask_tasks import Tasks, workers_of
from marginloom.clusters.dask_world import DaskWorld
from marginloom.tasks.sequence.datasets import write_conll

pytestmark = pytest.mark.xdist_group("dask")  # one cluster for all

SENTENCES = 60
CASES = {
    "ms-dcd": {"tol": 0.02, "rounds": 1},
    "ipm": {"shards": 6},
    "fsmo": {"tol": 0.02, "engine": "cascade", "parts": 3, "feedback": 2, "rounds": 2, "batch": 40},
}


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=3, memory_limit=0, silence_logs=60, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def workers(client):
    """The client of three workers that are as usual."""
    client.wait_for_workers(3)
    yield client
    client.run(dask_hooks.disarm, on_error="ignore")  # one may be about to end


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "train.conll"
    write_conll(path, *make_tagging(SENTENCES, seed=0))
    return path


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory):
    """What one process gives, by algorithm."""
    folder = tmp_path_factory.mktemp("alone")
    return {name: bits(trained(corpus, folder / name, algorithm=name)) for name in CASES}


def trained(corpus, model, algorithm="ms-dcd", **options):
    return train_files(
        "tag", corpus, model=model, algorithm=algorithm, features="words", **{**CASES[algorithm], **options}
    )


def bits(tagger):
    return tagger.model_.weights.tobytes(), tagger.certificate_, tagger.n_iter_


def be_impatient(monkeypatch, seconds):
    """Wait only so long for an answer, once all workers have read the files: that takes as long as it takes."""
    usual = DaskWorld.greet_all

    def greet_all(self):
        usual(self)
        self._answer_timeout = self._workers.answer_timeout = seconds

    monkeypatch.setattr(DaskWorld, "greet_all", greet_all)


@pytest.mark.parametrize("algorithm", CASES)
def test_workers_give_the_bits_of_one_process(workers, corpus, alone, tmp_path, algorithm):
    cluster = Dask(workers)
    assert bits(trained(corpus, tmp_path / "m", algorithm, cluster=cluster)) == alone[algorithm]
    assert names_in(tmp_path) == ["m"]


@pytest.mark.parametrize("place", ["reading", "search", "slacks"])
def test_a_worker_is_killed(workers, corpus, alone, tmp_path, place):
    workers.run(dask_hooks.strike_at, place, 2 if place == "search" else 1, str(tmp_path / "flag"))
    with pytest.warns(ClusterWarning, match="was lost") if place != "reading" else warnings.catch_warnings():
        warnings.simplefilter("always")
        tagger = trained(corpus, tmp_path / "m", cluster=Dask(workers), trace=tmp_path / "trace")
    assert (tmp_path / "flag.pid").exists()
    assert bits(tagger) == alone["ms-dcd"]


def test_a_worker_is_killed_while_it_solves(workers, corpus, alone, tmp_path):
    workers.run(dask_hooks.strike_at, "solve", 2, str(tmp_path / "flag"))
    with pytest.warns(ClusterWarning, match="was lost"):
        tagger = trained(corpus, tmp_path / "m", "fsmo", cluster=Dask(workers))
    assert (tmp_path / "flag.pid").exists()
    assert bits(tagger) == alone["fsmo"]


def test_the_holder_of_the_weights_is_killed(workers, corpus, alone, tmp_path, monkeypatch):
    numbers = workers.run(os.getpid)
    usual, killed = Tasks.placed, []

    def placed(self, message, worker, timeout):
        found = usual(self, message, worker, timeout)
        if found is not message:
            placed.times += 1
            if placed.times == 2:
                os.kill(numbers[worker], signal.SIGKILL)
                killed.append(worker)
        return found

    placed.times = 0
    monkeypatch.setattr(Tasks, "placed", placed)
    monkeypatch.setattr(dask_tasks, "_LARGE", 20_000)  # weights are, here as in earnest
    with pytest.warns(ClusterWarning, match="was lost"):
        tagger = trained(corpus, tmp_path / "m", cluster=Dask(workers))
    assert killed
    assert bits(tagger) == alone["ms-dcd"]


def test_a_worker_hangs(workers, corpus, alone, tmp_path, monkeypatch):
    be_impatient(monkeypatch, 1)
    workers.run(dask_hooks.strike_at, "search", 2, str(tmp_path / "flag"), signal.SIGSTOP)
    try:
        with pytest.warns(ClusterWarning, match="has not answered for .* s; another is asked too"):
            tagger = trained(corpus, tmp_path / "m", cluster=Dask(workers))
    finally:
        os.kill(int(Path(tmp_path / "flag.pid").read_text()), signal.SIGKILL)
    assert bits(tagger) == alone["ms-dcd"]


def test_a_worker_that_differs_is_named(workers, corpus, tmp_path):
    workers.run(dask_hooks.spoil_identity, "build of marginloom")
    with pytest.raises(PartError, match=r"the worker tcp://127.0.0.1:\d+ has build of marginloom = another, and this"):
        trained(corpus, tmp_path / "m", cluster=Dask(workers))
    assert names_in(tmp_path) == []


def test_a_file_that_workers_cannot_read(workers, corpus, tmp_path):
    with corpus.open() as file:
        mine = f"/proc/self/fd/{file.fileno()}"
        with pytest.raises(PartError, match=rf"the worker tcp://127.0.0.1:\d+: cannot read '{mine}'"):
            trained(mine, tmp_path / "m", cluster=Dask(workers))


def test_ctrl_c_ends_a_round_and_the_run_goes_on_anywhere(workers, corpus, alone, tmp_path, monkeypatch):
    usual = Tasks.put

    def put(self, question, *given):
        put.times += question == "search"
        if put.times == 10:
            signal.raise_signal(signal.SIGINT)
        return usual(self, question, *given)

    put.times = 0
    monkeypatch.setattr(Tasks, "put", put)
    run = {"checkpoint": tmp_path / "run", "resume": True}
    with pytest.raises(KeyboardInterrupt):
        trained(corpus, tmp_path / "m", cluster=Dask(workers), **run)
    monkeypatch.undo()
    assert marginloom.load(tmp_path / "m").stopped_ == "interrupted"
    assert Checkpoint(tmp_path / "run").exists()
    assert bits(trained(corpus, tmp_path / "m", **run)) == alone["ms-dcd"]
    assert not Checkpoint(tmp_path / "run").exists()


def test_no_worker_for_too_long(corpus, tmp_path, alone, monkeypatch):
    """The last one goes in the middle; the checkpoint is there, and another cluster goes on."""
    from distributed import Client, LocalCluster

    run = {"checkpoint": tmp_path / "run", "resume": True, "checkpoint_interval": 0}
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, silence_logs=60, **options) as cluster, Client(cluster) as client:
        usual = Tasks.put

        def put(self, question, *given):
            put.times += question == "search"
            if put.times == 5:
                cluster.scale(0)
                while workers_of(client):
                    client.retire_workers(close_workers=True)
            return usual(self, question, *given)

        put.times = 0
        monkeypatch.setattr(Tasks, "put", put)
        be_impatient(monkeypatch, 0.5)
        with pytest.warns(ClusterWarning, match="was lost"), pytest.raises(PartError) as error:
            trained(corpus, tmp_path / "m", cluster=Dask(client), **run)
        address = re.escape(client.scheduler.address)
        assert re.match(
            rf"no worker of the scheduler at {address} has answered for 0.5 s; --resume .* goes on after pass [1-9]",
            str(error.value),
        )
    assert bits(trained(corpus, tmp_path / "m", **run)) == alone["ms-dcd"]


def test_a_scheduler_that_does_not_answer(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_module, "_CONNECT_TIMEOUT", 0.2)
    with pytest.raises(InputError, match=r"the scheduler at tcp://127.0.0.1:1 did not answer within 0.2 s"):
        trained(corpus, tmp_path / "m", cluster=Dask("tcp://127.0.0.1:1"))


def test_examples_in_memory_are_rejected():
    with pytest.raises(InputError, match=r"Dask trains from files, .*: call marginloom.train_files, or train on"):
        SequenceTagger(cluster=Dask(workers=1)).fit(*make_tagging(3, seed=0))


def test_the_program_with_workers_of_its_own(corpus, alone, tmp_path):
    done = run(
        "train", "tag", corpus, "--model", "m", "--algorithm", "ms-dcd", "--rounds", "1", "--tol", "0.02",
        "--features", "words", "--cluster", "dask", "--workers", "1", "--quiet", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert last_json(done)["world"]["parts"] == 1
    assert bits(marginloom.load(tmp_path / "m"))[0] == alone["ms-dcd"][0]
    assert names_in(tmp_path) == ["m"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs the address of its scheduler"),
        ({"scheduler": "tcp://a:1", "workers": 2}, "and not both"),
        ({"scheduler": "somewhere"}, "must be an address with a port, such as tcp://10.0.0.1:8786, not 'somewhere'"),
        ({"workers": 0}, "workers must be a whole number from 1"),
        ({"workers": 1, "answer_timeout": 0}, "answer_timeout must be a positive number"),
        ({"scheduler": "tls://a:1"}, "'tls://a:1' needs certificates"),
        ({"scheduler": "tcp://a:1", "tls_ca": "ca"}, "'tcp://a:1' does not begin with tls://"),
        ({"scheduler": "tls://a:1", "tls_ca": "ca"}, "TLS needs all of tls_ca, tls_cert and tls_key"),
        ({"workers": 1, "tls_key": "key"}, "tls_key is for the address of a scheduler"),
    ],
)
def test_what_makes_no_cluster(options, message):
    with pytest.raises(InputError, match=message):
        Dask(**options)


def test_an_address_without_encryption_is_warned_of_once():
    with pytest.warns(ClusterWarning, match="nothing is encrypted .* at tcp://10.1.2.3:8786"):
        dask_module._warn_of_plain_text("tcp://10.1.2.3:8786")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for address in ("tcp://10.1.2.3:8786", "tls://10.1.2.4:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"):
            dask_module._warn_of_plain_text(address)
    with suppress(KeyError):
        dask_module._warned_of.remove("tcp://10.1.2.3:8786")
