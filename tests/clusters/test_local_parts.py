"""Any number of parts gives what one process gives, to the bit, whatever task, learner and loss."""

import signal

import numpy as np
import pytest
from support.killing import KillAfter, Killed
from support.pairs import with_effect
from support.small_tasks import SMALL
from support.watched_parts import WatchedParts, bits

from marginloom import (
    ALGORITHMS,
    Checkpoint,
    EarlyStopping,
    InputError,
    PartError,
    ProgressBar,
    SequenceTagger,
    make_tagging,
    train,
)
from marginloom.algorithms import engines_of
from marginloom.clusters.local import LocalParts

WORDS, TAGS = make_tagging(60, seed=0)
#: Every learner on every engine that works in parts.
PAIRS = [
    *(name for name, preset in ALGORITHMS.items() if preset.engine.in_parts),
    *(
        (name, "master-worker")
        for name, preset in ALGORITHMS.items()
        if not preset.engine.in_parts and "master-worker" in engines_of(preset.learner) and not preset.engine.needs
    ),
]


def options(case, **more):
    algorithm, engine = case if isinstance(case, tuple) else (case, None)
    preset = ALGORITHMS[algorithm]
    name = engine or preset.engine.name
    given = {"name": name, "shards": 5} if name == "mixing" else {"name": name}
    learner = {"rest": 0} if getattr(preset.learner, "rest", 0) else {}
    return with_effect(algorithm, {"algorithm": algorithm, "engine": given, "learner": learner, "tol": 0.02, **more})


def trained(task, case, **more):
    return train(task, **options(case, max_iter=4, **more))


@pytest.fixture(scope="module")
def tasks():
    return {name: make() for name, make in SMALL.items()}


def possible(task, case):
    algorithm = ALGORITHMS[case[0] if isinstance(case, tuple) else case]
    return algorithm.learner.all_needs() <= set(task.core.capabilities)


@pytest.mark.parametrize("case", PAIRS, ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_parts_give_the_bits_of_one_process(tasks, name, case):
    task = tasks[name].task
    if not possible(task, case):
        with pytest.raises(InputError, match="needs"):
            trained(task, case, cluster=LocalParts(2))
        return
    alone = bits(trained(task, case))
    assert {bits(trained(task, case, cluster=LocalParts(parts))) for parts in (2, 3)} == {alone}
    assert bits(trained(task, case, cluster=LocalParts(4), n_threads=2)) == alone


@pytest.mark.parametrize("shares", [[0, 1], [0.2, 0.5, 0.3], [0, *[1] * 9], [3, 1, 1, 5, 0, 1]])
@pytest.mark.parametrize("name", ["sequence", "multiclass"])
def test_shares_of_the_work_change_no_bit(tasks, name, shares):
    task = tasks[name].task
    for case in ("ms-dcd", ("bcfw", "master-worker"), ("one-slack", "master-worker")):
        assert bits(trained(task, case, cluster=LocalParts(2, shares))) == bits(trained(task, case))


@pytest.mark.parametrize("name", ["sequence", "multiclass"])
def test_several_threads_learn_from_answers_that_come_one_by_one(tasks, name):
    for rounds in (1, 8):
        engine = {"learners": 2, "rounds": rounds}
        options = {"algorithm": "ms-dcd", "engine": engine, "n_threads": 2, "tol": 1e-3}
        result = train(tasks[name].task, **options, cluster=LocalParts(2, [0.1, 0.4, 0.3, 0.2]))
        assert result.certificate.gap <= 1e-3


def test_rounds_send_what_has_changed_in_the_weights():
    """A pass begins with all weights; its other rounds send few of them."""
    rows = []
    for rounds in (1, 20):
        tagger = SequenceTagger("ms-dcd", engine={"rounds": rounds}, max_iter=3, cluster=LocalParts(2), tol=1e-9)
        rows.append(tagger.fit(WORDS, TAGS).history_[-1]["world"])
    once, often = rows
    assert (once["questions"], often["questions"]) == (1, 20)
    assert often["sent"] < 0.4 * 20 * once["sent"]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_both_losses_are_certified_alike(tasks, loss):
    task = tasks["sequence"].task
    results = [
        train(task, algorithm="ms-dcd", loss=loss, cluster=cluster, tol=1e-4)
        for cluster in (None, LocalParts(2), LocalParts(7))
    ]
    assert len({bits(result) for result in results}) == 1
    assert results[0].certificate.gap <= 1e-4


def test_more_parts_than_examples(tasks):
    task = tasks["custom"].task
    assert bits(trained(task, "ms-dcd", cluster=LocalParts(20))) == bits(trained(task, "ms-dcd"))
    assert bits(trained(task, "ipm", cluster=LocalParts(20))) == bits(trained(task, "ipm"))


def test_weights_of_examples_count_in_parts(tasks):
    task = tasks["sequence"].task
    weights = np.linspace(0, 2, task.example_count)
    assert bits(trained(task, "ms-dcd", sample_weight=weights, cluster=LocalParts(3))) == bits(
        trained(task, "ms-dcd", sample_weight=weights)
    )


@pytest.mark.parametrize("case", ["ms-dcd", "ipm", "parameter-mixing"])
@pytest.mark.parametrize("question", range(2, 6))
def test_a_run_that_fails_in_a_round_goes_on_anywhere(tasks, tmp_path, case, question):
    """Alone, with another number of parts, and what was begun alone goes on in parts."""
    task = tasks["sequence"].task
    whole = bits(train(task, **options(case, tol=1e-7, max_iter=9)))

    def fail(asked, place):
        if place == question:
            raise PartError("the rank is gone")

    asked = options(case, tol=1e-7, max_iter=9, checkpoint=Checkpoint(tmp_path / "run", interval=0), resume=True)
    with pytest.raises(PartError, match="the rank is gone"):
        train(task, **asked, cluster=WatchedParts(3, before=fail))
    with pytest.raises(Killed):
        train(task, **asked, callbacks=[KillAfter(6)])
    with pytest.raises(Killed):
        train(task, **asked, cluster=LocalParts(2), callbacks=[KillAfter(8)])
    assert bits(train(task, **asked)) == whole


def test_a_failure_says_where_the_run_can_go_on(tasks, tmp_path):
    def fail(asked, place):
        if place == 6:
            raise PartError("the rank is gone")

    cluster = WatchedParts(2, before=fail)
    task = tasks["sequence"].task
    with pytest.raises(PartError, match=r"the rank is gone; a run with a checkpoint \(--checkpoint DIR\) can go on"):
        train(task, algorithm="ipm", max_iter=20, cluster=cluster)
    cluster = WatchedParts(2, before=fail)
    with pytest.raises(PartError, match=r"the rank is gone; --resume .* goes on after pass 4"):
        train(task, algorithm="ipm", max_iter=20, cluster=cluster, checkpoint=tmp_path / "run")


def test_ctrl_c_within_a_round_leaves_a_usable_model(tasks, tmp_path):
    def interrupt(question, place):
        if place == 4:
            signal.raise_signal(signal.SIGINT)

    cluster = WatchedParts(3, before=interrupt)
    whole = {"algorithm": "ms-dcd", "engine": {"rounds": 1}, "tol": 1e-5}
    asked = {**whole, "checkpoint": Checkpoint(tmp_path / "run"), "resume": True}
    task = tasks["sequence"].task
    result = train(task, **asked, cluster=cluster)
    assert result.stopped == "interrupted"
    assert result.iterations > 0
    assert np.isfinite(result.weights).all()
    assert bits(train(task, **asked, cluster=LocalParts(2))) == bits(train(task, **whole))


def test_ctrl_c_within_a_certificate_leaves_none(tasks):
    def interrupt(question, place):
        if question == "slacks":
            signal.raise_signal(signal.SIGINT)

    result = train(tasks["sequence"].task, algorithm="ms-dcd", max_iter=2, cluster=WatchedParts(2, before=interrupt))
    assert result.stopped == "interrupted"
    assert result.certificate is None


def test_rows_say_what_questions_have_cost(tasks):
    result = trained(tasks["sequence"].task, "ms-dcd", cluster=LocalParts(3))
    for row in result.trace.rows:
        asked = row["world"]
        assert asked["parts"] == len(asked["work"]) == len(asked["waiting"]) == 3
        assert asked["questions"] >= 1
        assert asked["sent"] >= 3 * result.weights.nbytes
        assert asked["received"] > 0
        assert asked["asked_again"] == 0
        assert asked["seconds"] > 0
        assert all(0 <= seconds <= asked["seconds"] for seconds in (*asked["work"], *asked["waiting"]))
    assert result.asked["questions"] == 2 + sum(row["world"]["questions"] for row in result.trace.rows)  # hello, slacks
    assert all("world" not in row for row in trained(tasks["sequence"].task, "ms-dcd").trace.rows)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answers_are_checked_like_files(tasks, value):
    def change(question, part, answer):
        if question == "slacks" and part == 1:
            return {
                name: np.full_like(array, value) if array.dtype == np.float64 and name != "seconds" else array
                for name, array in answer.items()
            }
        return answer

    with pytest.raises(ValueError, match="part 1"):
        trained(tasks["sequence"].task, "ms-dcd", cluster=WatchedParts(2, change=change))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("nothing", "the answer of part 1 is str, not arrays by name"),
        ({"found": np.zeros((2, 2))}, "the answer of part 1 has 'found' with 2 dimensions, not 1"),
        ({"found": np.zeros(2, dtype=object)}, "of type object"),
        ({"found": [1.0]}, "no array"),
    ],
)
def test_what_cannot_be_an_answer_is_none(tasks, answer, message):
    def change(question, part, given):
        return answer if part == 1 and question == "search" else given

    class Spoiling(WatchedParts):
        def changed(self, question, part, given):
            return change(question, part, given)

    with pytest.raises(PartError, match=message):
        trained(tasks["sequence"].task, "ms-dcd", cluster=Spoiling(2))


@pytest.mark.parametrize("algorithm", [name for name, preset in ALGORITHMS.items() if not preset.engine.in_parts])
def test_engines_that_cannot_are_rejected_in_one_sentence(tasks, algorithm):
    with pytest.raises(
        InputError, match=r"does not train on a cluster, .* engines that work in many: mixing, master-worker and "
    ):
        train(tasks["sequence"].task, algorithm=algorithm, cluster=LocalParts(2))


def test_auto_takes_what_works_in_parts(tasks):
    result = train(tasks["sequence"].task, cluster=LocalParts(2), tol=0.1)
    assert result.algorithm.name == "ms-dcd"
    assert result.trace.settings["auto"] == "training on a cluster"


def test_auto_on_another_engine_is_rejected(tasks):
    with pytest.raises(InputError, match="ms-dcd on the engine shared does not train on a cluster"):
        train(tasks["sequence"].task, engine="shared", cluster=LocalParts(2))


def test_the_progress_bar_says_how_many_answer(tasks, capsys, monkeypatch):
    monkeypatch.setattr(ProgressBar, "seconds_between_lines", 0.0)
    train(tasks["sequence"].task, cluster=LocalParts(3), tol=0.1, callbacks=[ProgressBar()])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "auto chose ms-dcd (training on a cluster)"
    assert all("  3 processes  " in line for line in said if "pass" in line)


def test_shards_are_as_many_as_all_threads(tasks):
    result = train(tasks["sequence"].task, algorithm="ipm", cluster=LocalParts(3), n_threads=2, max_iter=1)
    assert result.algorithm.engine.shards == 6


def test_early_stopping_goes_back_as_alone():
    def fitted(cluster):
        tagger = SequenceTagger("ms-dcd", tol=1e-6, max_iter=12, cluster=cluster)
        return tagger.fit(WORDS, TAGS, eval_set=make_tagging(20, seed=1), callbacks=[EarlyStopping(2)])

    alone, parts = fitted(None), fitted(LocalParts(3))
    assert parts.model_.weights.tobytes() == alone.model_.weights.tobytes()
    assert [row["scores"] for row in parts.history_] == [row["scores"] for row in alone.history_]


def test_what_is_no_cluster_is_rejected(tasks):
    with pytest.raises(InputError, match=r"cluster must be marginloom.MPI\(\) or marginloom.Dask\(...\), not 'mpi'"):
        train(tasks["sequence"].task, cluster="mpi")
    with pytest.raises(InputError, match="cluster must be"):
        SequenceTagger(cluster=3).fit(WORDS, TAGS)
