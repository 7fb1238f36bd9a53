"""How many threads train if nobody says: all cores with auto, one for small problems, Python and named algorithms."""

import inspect

import numpy as np
import pytest
from support.custom_chains import EnumeratedChains
from support.oracles import TinyChains
from support.program import run

from marginloom import (
    CustomEstimator,
    DependencyParser,
    InputError,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    OptionWarning,
    SequenceTagger,
    make_tagging,
    train,
)
from marginloom.common.threads import resolve_threads
from marginloom.core.choice import SMALL_PASS, Choice
from marginloom.tasks.multiclass.auto_rule import Size, choose
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.plan import circumstances, make_plan
from marginloom.training.spec import RunSpec, training_threads

ESTIMATORS = [
    CustomEstimator,
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
]


@pytest.fixture(autouse=True)
def five_cores(monkeypatch):
    monkeypatch.setattr("marginloom.common.threads.available_cores", lambda: 5)


@pytest.fixture
def task():
    return SequenceTask.from_lists([[[0], [1]], [[1], [1]]], [[0, 1], [1, 1]], feature_count=2, label_count=2)


@pytest.fixture
def large_task(task, monkeypatch):
    monkeypatch.setattr(SequenceTask, "pass_work", SMALL_PASS + 1)
    return task


@pytest.mark.parametrize("door", [*ESTIMATORS, train, RunSpec], ids=lambda door: door.__name__)
def test_every_door_leaves_the_number_of_threads_open(door):
    assert inspect.signature(door).parameters["n_threads"].default is None


@pytest.mark.parametrize(
    ("options", "threads"),
    [
        ({}, 5),
        ({"n_threads": -1}, 5),
        ({"n_threads": 2}, 2),
        ({"algorithm": "dcd-ssvm"}, 1),
        ({"algorithm": "dcd-ssvm", "n_threads": -1}, 5),
        ({"algorithm": "ms-dcd"}, 1),
    ],
)
def test_a_large_problem_is_trained_on(large_task, options, threads):
    assert make_plan(large_task, RunSpec(**options)).n_threads == threads
    assert resolve_threads(training_threads(options.get("algorithm", "auto"), options.get("n_threads"))) == threads


def test_a_small_problem_is_trained_on_one_thread_and_says_so(task):
    plan = make_plan(task, RunSpec())
    assert (plan.n_threads, plan.algorithm.name, plan.choice.reason) == (1, "dcd-ssvm", "a small problem, one thread")
    assert make_plan(task, RunSpec(n_threads=-1)).algorithm.name == "shared-dcd"
    assert make_plan(task, RunSpec(n_threads=1)).choice.reason == "one thread"


def test_python_is_trained_on_one_thread_and_says_so(monkeypatch):
    monkeypatch.setattr(EnumeratedChains, "pass_work", SMALL_PASS + 1)
    plan = make_plan(EnumeratedChains(TinyChains(2, sentences=5)), RunSpec())
    assert (plan.n_threads, plan.choice.reason) == (1, "one thread, since only one at a time can run Python")


def test_a_named_algorithm_that_needs_threads_says_where_its_one_comes_from(task):
    with pytest.raises(InputError, match=r"needs at least 2 threads .* and a named algorithm has one by default; give"):
        train(task, algorithm="demi-dcd")


@pytest.mark.parametrize("threads", [2, 7])
def test_classes_that_have_no_use_for_threads_say_so(threads):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    with pytest.warns(OptionWarning) as warned:
        classifier = MulticlassClassifier(n_threads=threads).fit(X, y)
    reason = f"classes, one thread, since {threads} are not faster"
    assert classifier.choice_ == f"{classifier.algorithm_}: {reason}"
    (said,) = (str(warning.message) for warning in warned)
    assert said == f"training uses 1 of {threads} threads: auto chose {classifier.algorithm_} ({reason})"


@pytest.mark.parametrize("options", [{}, {"n_threads": 1}, {"n_threads": 2, "verbose": True}])
def test_one_thread_is_no_warning_where_it_was_asked_for_or_is_told(options, recwarn):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    MulticlassClassifier(**options).fit(X, y)
    assert not [warning for warning in recwarn if warning.category is OptionWarning]


def test_a_program_that_trains_on_several_threads_or_one_says_which(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{k % 3} {1 + k % 3}:1 {4 + k % 5}:0.5\n" for k in range(60)))
    done = run("train", "classify", path, "--model", tmp_path / "m", "--threads", "2")
    assert done.stderr.count("one thread, since 2 are not faster") == 1
    assert " on 1 thread;" in done.stdout


def test_a_named_algorithm_is_no_choice():
    X, y = make_tagging(5)
    assert SequenceTagger("dcd-ssvm", features="words").fit(X, y).choice_ is None


def test_predictions_are_the_same_on_any_number_of_threads_and_take_all_cores_by_default(monkeypatch):
    X, y = make_tagging(40)
    tagger = SequenceTagger("dcd-ssvm", features="words").fit(X, y)
    asked = []
    predict = SequenceTask.predict
    monkeypatch.setattr(
        SequenceTask, "predict", lambda task, w, n_threads=1: asked.append(n_threads) or predict(task, w, n_threads)
    )
    expected = tagger.set_params(n_threads=1).predict(X)
    assert tagger.set_params(n_threads=None).predict(X) == expected
    assert asked == [1, 5]


def test_predictions_of_python_take_one_thread_by_default(monkeypatch):
    task = EnumeratedChains(TinyChains(2, sentences=5))
    asked = []

    class Core:
        capabilities = task.core.capabilities

        def predict(self, weights, threads, k):
            asked.append(threads)
            raise ZeroDivisionError

    monkeypatch.setattr(task, "core", Core())
    for n_threads in (None, 3):
        with pytest.raises(ZeroDivisionError):
            task.predict(np.zeros(task.dimension), n_threads)
    assert asked == [1, 3]


def test_where_a_problem_stops_being_small(monkeypatch):
    task = MulticlassTask(np.ones((10, 4)), np.arange(10) % 2, 2)
    assert task.pass_work == 80
    monkeypatch.setattr("marginloom.training.plan.SMALL_PASS", 79)
    assert circumstances(task, RunSpec()).n_threads == 5
    monkeypatch.setattr("marginloom.training.plan.SMALL_PASS", 80)
    assert circumstances(task, RunSpec()).n_threads == 1


def test_a_choice_says_more_than_the_number_of_threads():
    found = choose(Size(10**6, 5, 100, 10**8), circumstances(MulticlassTask(np.ones((2, 1)), [0, 1], 2), RunSpec()))
    assert isinstance(found, Choice)
    assert found.reason == "classes, a small problem, one thread"
