"""Threads: those that are asked for work, every second of theirs is counted, and none is left behind."""

import itertools
import math
import os
import time
from pathlib import Path

import pytest
from fuzz.commands import run_here
from support.chain_tasks import make_task
from support.custom_chains import Watched, at_call
from support.estimators import ESTIMATORS
from support.oracles import TinyChains
from support.pairs import GENERAL, racing, with_effect

from marginloom import InputError
from marginloom.algorithms import ALGORITHMS, engines_of
from marginloom.common.threads import available_cores, container_limit, resolve_threads
from marginloom.engines import ENGINES
from marginloom.training.train import train


def asks_in_vain(learner, engine):
    """Tell whether the learner has options that the engine does not honour; test_honoured_options.py has those."""
    return any(getattr(learner, option.name) != option.neutral for option in ENGINES[engine].loses(learner))


#: Every preset as it is, and every other engine that its learner has.
PAIRS = [
    (name, engine)
    for name, preset in ALGORITHMS.items()
    for engine in engines_of(preset.learner)
    if name in GENERAL and not ENGINES[engine].needs  # test_pipelined.py and test_binary_dcd.py have the others
    if not asks_in_vain(preset.learner, engine)
]
PARALLEL = [pair for pair in PAIRS if pair[1] not in ("serial", "subsample")]
every_pair = pytest.mark.parametrize(("algorithm", "engine"), PAIRS)


def threads_of_this_process():
    return len(list(Path("/proc/self/task").iterdir()))


@every_pair
def test_times_of_every_thread_add_up_to_the_pass(algorithm, engine):
    task = make_task(TinyChains(2, sentences=60), "valued")
    result = train(
        task, algorithm=algorithm, engine=engine, n_threads=3, max_iter=3, **with_effect(algorithm, {"tol": 1e-12})
    )
    total = 0.0
    for row in result.trace.rows:
        threads = row["threads"]
        assert len(threads) == (3 if (algorithm, engine) in PARALLEL else 1)
        assert all(seconds >= 0 for thread in threads for seconds in thread.values())
        sums = [sum(thread.values()) for thread in threads]
        assert sums == pytest.approx([sums[0]] * len(threads), rel=1e-9)
        # The times of one thread that another one waits for do not overlap with its own work.
        for thread in threads[1:] if engine in ("master-worker", "minibatch") else []:
            assert thread["waiting"] >= threads[0]["update"] - 1e-9
        total += sums[0]
    assert 0 < total <= result.trace.rows[-1]["seconds"]


@every_pair
def test_no_time_of_a_pass_is_missing(algorithm, engine):
    calls = []
    task = Watched(lambda: calls.append(time.perf_counter()))
    result = train(
        task, algorithm=algorithm, engine=engine, n_threads=3, max_iter=1, **with_effect(algorithm, {"tol": 1e9})
    )
    between = calls[result.inferences - 1] - calls[0]  # calls of the certificate follow
    for thread in result.trace.rows[0]["threads"]:
        assert sum(thread.values()) >= between


@every_pair
def test_no_thread_is_left_behind(algorithm, engine):
    task = make_task(TinyChains(2, sentences=20), "valued")
    before = threads_of_this_process()
    for _ in range(2):
        train(task, algorithm=algorithm, engine=engine, n_threads=5, max_iter=2)
    assert threads_of_this_process() == before


@pytest.mark.parametrize("n_threads", [2, 4])
@every_pair
def test_exception_in_any_thread_reaches_the_caller_with_its_text(algorithm, engine, n_threads):
    def fail():
        raise KeyError("no such word: zebra")

    options = {"algorithm": algorithm, "engine": engine, "n_threads": n_threads, "max_iter": 100}
    options |= with_effect(algorithm, {"tol": 1e-300})
    before = threads_of_this_process()
    with pytest.raises(KeyError, match="zebra") as caught:
        train(Watched(at_call(45, fail)), **options)
    assert caught.value.__notes__[0].startswith("in Watched.argmax")
    del caught
    assert threads_of_this_process() == before


@pytest.mark.parametrize("n_threads", [1, -1])
def test_decoupled_training_says_what_to_do_with_one_thread(monkeypatch, n_threads):
    monkeypatch.setattr("marginloom.common.threads.available_cores", lambda: 1)
    task = make_task(TinyChains(2, sentences=20), "valued")
    found = "1 was given" if n_threads == 1 else "this process may use only 1 core"
    message = rf"and {found}; give --threads 2 \(n_threads=2 in Python\) or more, or use dcd-ssvm"
    with pytest.raises(InputError, match=f"demi-dcd needs at least 2 threads for its engine decoupled, {message}"):
        train(task, algorithm="demi-dcd", n_threads=n_threads)
    with pytest.raises(InputError, match=f"dcd-light needs at least 2 threads for its engine decoupled, {message}"):
        train(task, algorithm="dcd-light", engine="decoupled", n_threads=n_threads)
    assert train(task, algorithm="demi-dcd", n_threads=2).certificate.gap <= 0.01


def test_several_learners_need_a_thread_that_searches():
    task = make_task(TinyChains(2, sentences=20), "valued")
    message = r"demi-dcd needs at least 4 threads for its engine decoupled, and 3 was given; give --threads 4"
    with pytest.raises(InputError, match=message):
        train(task, algorithm="demi-dcd", engine={"learners": 3}, n_threads=3)
    result = train(task, algorithm="demi-dcd", engine={"learners": 3}, n_threads=4)
    assert result.stopped == "tolerance"
    assert all(row["weights_age"] == 0 for row in result.trace.rows)


#: With half of the threads as learners, where an engine has another kind of threads too.
RACING = [
    (name, {"learners": 8} if hasattr(ALGORITHMS[name].engine, "learners") else {}) for name in [*racing(16), "ms-dcd"]
]


@pytest.mark.parametrize(
    ("algorithm", "engine", "loss"),
    [(name, engine, loss) for name, engine in RACING for loss in ALGORITHMS[name].learner.losses],
    ids=str,
)
def test_the_dual_of_racing_threads_never_falls(algorithm, engine, loss):
    task = make_task(TinyChains(3, sentences=40), "valued")
    result = train(task, algorithm=algorithm, engine=engine, loss=loss, n_threads=16, tol=1e-3, max_iter=2000)
    assert result.stopped == "tolerance"
    duals = [row["dual"] for row in result.trace.rows]
    assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(duals))
    assert result.certificate.dual >= duals[-1] * (1 - 1e-9)


def check_counts(call):
    """Check that a call with any wrong number of threads is an error that says what a number of threads is."""
    for count in (0, -2, 1.5, "two", True, 10**30):
        said = f"n_threads must be (-1 \\(all cores\\) or a whole number from 1|at most .*), not {count!r}$"
        with pytest.raises(InputError, match=said):
            call(count)


@pytest.mark.parametrize("algorithm", ["auto", "dcd-ssvm"])
def test_wrong_numbers_of_threads_are_errors_in_train(algorithm):
    task = make_task(TinyChains(2, sentences=5), "valued")
    check_counts(lambda count: train(task, algorithm=algorithm, n_threads=count))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_wrong_numbers_of_threads_are_errors_in_estimators(name):
    check_counts(lambda count: ESTIMATORS[name].fit(n_threads=count))
    fitted = ESTIMATORS[name].fit(max_iter=1)
    check_counts(lambda count: fitted.set_params(n_threads=count).predict(ESTIMATORS[name].X))


@pytest.mark.parametrize("count", ["0", "-2", "1.5", "two", "True"])
def test_wrong_numbers_of_threads_are_errors_on_the_command_line(count, tmp_path):
    (tmp_path / "train.svm").write_text("1 1:1\n2 2:1\n")
    model = tmp_path / "model"
    code, _, said = run_here(["train", "classify", tmp_path / "train.svm", "--model", model, "--threads", count])
    assert code == 2
    assert "Invalid value for '--threads'" in said
    assert "whole number from 1, not " + count in said or "valid integer" in said
    assert not model.exists()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_all_cores_are_those_that_affinity_leaves():
    allowed = os.sched_getaffinity(0)
    task = make_task(TinyChains(2, sentences=20), "valued")
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert available_cores() == resolve_threads(-1) == 1
        assert len(train(task, algorithm="ms-dcd", n_threads=-1).trace.rows[0]["threads"]) == 1
        assert resolve_threads(3) == 3
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/jobs/7\n", {"jobs/7/cpu.max": "400000 100000\n", "jobs/cpu.max": "300000 100000\n"}, 3),
        ("0::/jobs/7\n", {"jobs/7/cpu.max": "200000 100000\n", "jobs/cpu.max": "max 100000\n"}, 2),
        ("0::/of-the-host/7\n", {"cpu.max": "200000 100000\n"}, 2),
        ("3:cpu,cpuacct:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("3:cpu,cpuacct:/7\n", {"cpu/7/cpu.cfs_quota_us": "50000\n", "cpu/7/cpu.cfs_period_us": "100000\n"}, 0.5),
        ("3:memory:/7\n", {"cpu/7/cpu.cfs_quota_us": "50000\n", "cpu/7/cpu.cfs_period_us": "100000\n"}, math.inf),
        (None, {"cpu.max": "200000 100000\n"}, 2),
        (None, {}, math.inf),
        ("0::/\n", {"cpu.max": "nonsense\n"}, math.inf),
    ],
)
def testcontainer_limits_are_found(tmp_path, membership, files, limit):
    if membership is not None:
        (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert container_limit(tmp_path / "groups", tmp_path / "membership") == limit


@pytest.mark.parametrize(("limit", "cores"), [(0.5, 1), (1.5, 2), (math.inf, 4), (64, 4)])
def test_all_cores_are_those_that_the_container_leaves(monkeypatch, limit, cores):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: range(4), raising=False)
    monkeypatch.setattr("marginloom.common.threads.container_limit", lambda: limit)
    assert available_cores() == resolve_threads(-1) == cores
