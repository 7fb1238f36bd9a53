"""The cascade: the optimum of one solution, the bits of any number of processes, and what is rejected."""

import itertools

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.oracles import TinyChains
from support.small_tasks import SMALL
from support.watched_parts import WatchedParts, bits

from marginloom import InputError, PartError
from marginloom.algorithms import ALGORITHMS
from marginloom.clusters.local import LocalParts
from marginloom.engines import ENGINES
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.train import train

TOL = 1e-3
TRAINABLE = sorted(
    kind for kind in SMALL if ALGORITHMS["fsmo"].learner.all_needs() <= {"gold", *SMALL[kind]().task.core.capabilities}
)


def fsmo(task, engine=None, **options):
    options = {"C": 0.3, "tol": TOL, "max_iter": 300, "random_state": 3, **options}
    given = {} if engine is None else {"engine": {"name": "cascade", **engine}}
    return train(task, algorithm="fsmo", loss="hinge", **given, **options)


def storages(task):
    return ["local"] if "implicit" in task.core.capabilities else ["local", "central"]


def chains(sentences=40, seed=0):
    return make_task(TinyChains(seed, sentences=sentences, max_length=5, features=8, integers=False), "valued")


def overlapping(n=300):
    random = np.random.default_rng(0)
    y = random.integers(4, size=n)
    return MulticlassTask(random.normal(size=(n, 3)) + 2 * np.eye(4, 3)[y], y, 4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TRAINABLE)
def test_every_task_reaches_the_optimum_of_one_solution_with_feedback(kind):
    task = SMALL[kind]().task
    serial = fsmo(task, max_iter=60)
    for storage in storages(task):
        for parts in range(1, 9):
            engine = {"parts": parts, "feedback": 5, "storage": storage}
            found = fsmo(task, engine, cluster=LocalParts(2), max_iter=60)
            assert found.stopped == serial.stopped
            assert found.certificate.dual == pytest.approx(serial.certificate.dual, rel=2 * TOL)
            if "exact" in task.core.capabilities:
                assert found.certificate.gap <= TOL
                assert found.certificate.primal >= serial.certificate.dual * (1 - 1e-9)
                assert found.certificate.dual <= serial.certificate.primal * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feedback", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("make", [chains, overlapping])
def test_the_gap_is_the_true_one_for_any_feedback(make, feedback):
    task = make()
    serial = fsmo(task, tol=1e-5).certificate
    for parts in (2, 4, 8):
        found = fsmo(task, {"parts": parts, "feedback": feedback}, max_iter=40)
        proof = found.certificate
        assert proof.dual <= serial.primal * (1 + 1e-9)
        assert proof.primal >= serial.dual * (1 - 1e-9)
        assert (found.stopped == "tolerance") == (proof.gap <= TOL)
        if feedback > 1:
            assert found.stopped == "tolerance"


@pytest.mark.filterwarnings("ignore")
def test_no_pass_ends_below_the_one_before():
    for feedback in (1, 3):
        rows = fsmo(overlapping(), {"parts": 8, "feedback": feedback}, max_iter=15, tol=1e-7).trace.rows
        duals = [row["dual"] for row in rows]
        assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(duals))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [chains, overlapping])
def test_threads_processes_and_storage_change_no_bit(make):
    task = make()
    for scope in ("batch", "all"):
        learner = {"scope": scope, "batch": 20}
        engine = {"parts": 5, "feedback": 2}
        alone = bits(fsmo(task, engine, learner=learner))
        assert bits(fsmo(task, engine, learner=learner, n_threads=3)) == alone
        for count in (2, 3, 8):
            for storage in storages(task):
                given = {**engine, "storage": storage}
                assert bits(fsmo(task, given, learner=learner, cluster=LocalParts(count))) == alone


def test_one_thread_a_process_and_a_part_each_give_the_bits_of_one_process():
    task = chains()
    world = fsmo(task, {"feedback": 2}, cluster=LocalParts(4))
    assert bits(world) == bits(fsmo(task, {"parts": 4, "feedback": 2}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [chains, overlapping])
def test_threads_inside_of_a_part_share_its_weights_and_reach_the_optimum(make):
    task = make()
    serial = fsmo(task).certificate
    for count in (2, 5):
        found = fsmo(task, {"feedback": 3}, n_threads=3, cluster=LocalParts(count))
        assert found.stopped == "tolerance"
        assert found.certificate.dual == pytest.approx(serial.dual, rel=2 * TOL)


@pytest.mark.filterwarnings("ignore")
def test_a_tiny_dense_problem_where_every_example_has_every_weight():
    random = np.random.default_rng(1)
    task = MulticlassTask(random.normal(size=(40, 2)), random.integers(2, size=40), 2)
    serial = fsmo(task, C=10.0).certificate
    for engine, options in (
        ({"parts": 8, "feedback": 10}, {}),
        ({"feedback": 10}, {"n_threads": 4}),
        ({"feedback": 10}, {"n_threads": 4, "cluster": LocalParts(2)}),
    ):
        found = fsmo(task, engine, C=10.0, **options)
        assert found.stopped == "tolerance"
        assert found.certificate.dual == pytest.approx(serial.dual, rel=2 * TOL)


@pytest.mark.parametrize("sentences", [1, 3])
def test_more_parts_than_examples(sentences):
    task = chains(sentences)
    found = fsmo(task, {"parts": 8, "feedback": 2}, cluster=LocalParts(8))
    assert found.certificate.gap <= TOL
    assert bits(found) == bits(fsmo(task, {"parts": 8, "feedback": 2}))


@pytest.mark.filterwarnings("ignore")
def test_the_published_variant_is_solved_in_parts_too():
    found = fsmo(chains(), {"parts": 3}, learner={"variant": "as-published"}, max_iter=20)
    assert found.certificate.dual <= found.certificate.primal


@pytest.mark.parametrize("memory", ["1K", "20K"])
def test_memory_changes_no_bit(memory):
    task, engine = chains(), {"parts": 3, "feedback": 2}
    assert bits(fsmo(task, engine, memory=memory)) == bits(fsmo(task, engine))


def test_the_trace_counts_layers_and_bytes():
    task = chains()
    sent = {}
    for storage in ("local", "central"):
        found = fsmo(task, {"parts": 4, "storage": storage}, max_iter=3, tol=1e-9, cluster=LocalParts(4))
        rows = [row["cascade"] for row in found.trace.rows]
        assert all(row["solutions"] < row["layers"] <= 3 * row["solutions"] for row in rows)
        assert all(row["runs"] == row["solutions"] for row in rows)
        assert all(0 < row["support_vectors"] <= row["candidates"] for row in rows)
        assert all(row["sent"] <= whole["world"]["sent"] for row, whole in zip(rows, found.trace.rows, strict=True))
        sent[storage] = sum(row["sent"] for row in rows)
    assert 0 < sent["local"] < sent["central"]
    assert "cascade" not in fsmo(task).trace.rows[0]
    assert fsmo(task, {"parts": 4}).trace.rows[0]["cascade"]["sent"] == 0


def test_an_answer_follows_from_the_question_alone():
    task, answers = chains(), {}

    def change(question, part, answer):
        if question == "solve":
            answers.setdefault(part, []).append(answer["duals"].tobytes())
        return answer

    first, second = (fsmo(task, {"parts": 4}, cluster=WatchedParts(2, change=change), max_iter=2) for _ in range(2))
    assert bits(first) == bits(second)
    for found in answers.values():
        assert found[: len(found) // 2] == found[len(found) // 2 :]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("duals", lambda array: array[:-1], "there are fewer duals than candidates"),
        ("duals", lambda array: np.append(array, 0.1), "there are duals of no candidate"),
        ("duals", lambda array: array - 1, "a dual is negative"),
        ("duals", lambda array: array + 1, "the duals of an example exceed its bound"),
        ("duals", lambda array: array * np.nan, "not finite"),
        ("gains", lambda array: array[:0], "'gains' has 0 values"),
    ],
)
def test_answers_that_cannot_be_are_rejected(name, damage, message):
    def change(question, part, answer):
        spoiled = question == "solve" and part == 1
        return {**answer, name: damage(answer[name])} if spoiled else answer

    with pytest.raises((PartError, ValueError), match=message):
        fsmo(chains(), {"parts": 2}, cluster=WatchedParts(2, change=change))


@pytest.mark.parametrize("question", ["search", "solve"])
def test_an_interrupted_question_leaves_a_run_that_goes_on_with_other_processes(tmp_path, question):
    task = chains()
    engine = {"parts": 4, "feedback": 2}
    whole = fsmo(task, engine, tol=1e-6)
    assert whole.iterations > 2
    seen = []

    def before(asked, place):
        seen.append(asked)
        if asked == question and seen.count("slacks") == 0 and len(seen) > 60:
            raise KeyboardInterrupt

    place = tmp_path / "run"
    first = fsmo(task, engine, tol=1e-6, cluster=WatchedParts(3, before=before), checkpoint=place)
    assert first.stopped == "interrupted"
    for cluster in (None, LocalParts(2)):
        again = fsmo(task, engine, tol=1e-6, cluster=cluster, checkpoint=place, resume=True)
        assert bits(again) == bits(whole)


def test_without_a_number_of_parts_a_run_goes_on_with_as_many_as_there_are(tmp_path):
    task, seen = chains(), []

    def before(asked, place):
        seen.append(asked)
        if seen.count("slacks") == 1:
            raise KeyboardInterrupt

    options = {"tol": 1e-6, "checkpoint": tmp_path / "run"}
    assert fsmo(task, {"feedback": 5}, cluster=WatchedParts(3, before=before), **options).stopped == "interrupted"
    again = fsmo(task, {"feedback": 5}, cluster=LocalParts(2), resume=True, **options)
    assert again.certificate.gap <= 1e-6


def test_what_the_cascade_does_not_do_is_rejected_in_a_sentence():
    task = chains(5)
    for algorithm in ("dcd-ssvm", "n-slack", "bcfw", "one-slack", "perceptron"):
        with pytest.raises(InputError, match="has no engine cascade"):
            train(task, algorithm=algorithm, engine="cascade")
    with pytest.raises(InputError, match="the learner fsmo has the loss hinge, not squared_hinge"):
        train(task, algorithm="fsmo", engine="cascade", loss="squared_hinge")
    for engine in ("serial", "shared"):
        for option in ({"feedback": 2}, {"storage": "local"}):
            with pytest.raises(InputError, match=f"no parameter '{next(iter(option))}'"):
                train(task, algorithm="fsmo", engine={"name": engine, **option})
    for value in (0, -1, 1.5):
        with pytest.raises(InputError, match="feedback must be"):
            fsmo(task, {"feedback": value})
    with pytest.raises(InputError, match="storage must be"):
        fsmo(task, {"storage": "nowhere"})
    with pytest.raises(InputError, match="the engine cascade does not train the task multiclass: storage=central"):
        fsmo(overlapping(10), {"storage": "central"})
    assert ENGINES["cascade"].in_parts
    assert ALGORITHMS["fastssvm"].engine.name == "shared"


def test_reproducible_runs_need_a_number_of_parts():
    task = chains(10)
    with pytest.raises(InputError, match="does not give the same bits with 2 threads"):
        fsmo(task, {}, n_threads=2, reproducible=True)
    fsmo(task, {"parts": 2}, n_threads=2, reproducible=True)


def test_the_weights_of_examples_bound_their_duals():
    task = chains(20)
    weights = np.where(np.arange(20) % 3 == 0, 0.0, 1.0 + np.arange(20) / 10)
    serial = fsmo(task, sample_weight=weights)
    found = fsmo(task, {"parts": 4, "feedback": 3}, sample_weight=weights, cluster=LocalParts(2))
    assert found.certificate.dual == pytest.approx(serial.certificate.dual, rel=2 * TOL)
    assert found.certificate.gap <= TOL
