"""`auto` chooses by a fixed rule, says what it chose, and leaves what was asked for alone."""

import numpy as np
import pytest
from support.pairs import racing

from marginloom import (
    InputError,
    MulticlassClassifier,
    ObjectDetector,
    SequenceTagger,
    make_digit_detection,
    make_tagging,
    train,
)
from marginloom.algorithms import find_algorithm
from marginloom.core.choice import Circumstances, usual_choice
from marginloom.engines import ENGINES
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.tasks.sequence.task import SequenceTask


@pytest.fixture
def task():
    return SequenceTask.from_lists(
        [[[0], [1]], [[1], [1]], [[0], [0]]], [[0, 1], [1, 1], [0, 1]], feature_count=2, label_count=2
    )


@pytest.mark.parametrize(
    ("circumstances", "expected"),
    [
        (Circumstances(), "dcd-ssvm"),
        (Circumstances(n_threads=2), "shared-dcd"),
        (Circumstances(n_threads=2, reproducible=True), "dcd-ssvm"),
        (Circumstances(n_threads=16, reproducible=True), "ms-dcd"),
        (Circumstances(loss="hinge", n_threads=16), "shared-dcd"),
    ],
)
def test_the_usual_rule(task, circumstances, expected):
    assert task.choose(circumstances).algorithm == expected


def test_every_usual_choice_keeps_its_promises():
    for threads in (1, 2, 8, 64):
        for reproducible in (False, True):
            choice = usual_choice({"loss-augmented"}, Circumstances(None, threads, reproducible))
            engine = find_algorithm(choice.algorithm, choice.learner, choice.engine).engine
            assert engine.least_threads() <= threads
            assert engine.gives_same_bits(threads) or not reproducible


def test_a_task_that_python_computes_is_trained_on_one_thread():
    choice = usual_choice({"loss-augmented", "needs-GIL"}, Circumstances(n_threads=8))
    assert choice.algorithm == "shrinking-dcd"
    assert choice.reason == "one thread, since only one at a time can run Python"


def test_a_task_without_loss_augmented_inference_gets_a_perceptron():
    assert usual_choice(set(), Circumstances(n_threads=8)).algorithm == "averaged-perceptron"


def test_the_choice_is_in_the_result_the_settings_and_the_estimator(tmp_path):
    X, y = make_tagging(30)
    tagger = SequenceTagger(features="words", n_threads=2, tol=0.1).fit(X, y)
    assert tagger.algorithm == "auto"
    assert tagger.algorithm_ == "shared-dcd"
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    assert (loaded.algorithm, loaded.algorithm_) == ("auto", "shared-dcd")
    assert loaded.model_.settings["auto"] == "2 threads"


def label_sets(**options):
    return MultilabelTask(np.eye(3), [[0], [1, 2], []], 3, **options)


@pytest.mark.parametrize(
    ("labels", "circumstances", "expected"),
    [
        ({}, Circumstances("hinge", 7), "label-dcd"),
        ({}, Circumstances("squared_hinge", 7), "ms-dcd"),
        ({"labels_per_slack": 1}, Circumstances("squared_hinge", 7, reproducible=True), "label-dcd"),
        ({"pairs": "tree"}, Circumstances("hinge", 7), "ms-dcd"),
        ({"pairs": "tree"}, Circumstances("hinge", 7, reproducible=True), "ms-dcd"),
    ],
    ids=str,
)
def test_sets_of_labels_take_a_binary_svm_for_every_label_where_there_is_one(labels, circumstances, expected):
    assert label_sets(**labels).choose(circumstances).algorithm == expected


@pytest.mark.parametrize(
    ("threads", "reason"), [(1, "images, one thread"), (3, "images, one thread, since 3 are not faster")]
)
def test_images_say_how_many_threads_train(threads, reason):
    made = make_digit_detection(6, seed=0)
    detector = ObjectDetector(max_iter=2, tol=0.9, n_threads=threads).fit(made.images, made.targets)
    assert detector.choice_ == f"shrinking-dcd: {reason}"


def test_one_thread_and_one_seed_give_the_same_bits(task):
    first, second = (train(task, tol=1e-6).weights for _ in range(2))
    assert np.array_equal(first, second)


def test_reproducible_runs_have_the_same_bits_with_many_threads(task):
    results = [train(task, tol=1e-6, n_threads=9, reproducible=True) for _ in range(2)]
    assert results[0].algorithm.name == "ms-dcd"
    assert np.array_equal(results[0].weights, results[1].weights)


def test_parameters_that_are_given_come_before_what_was_chosen(task):
    result = train(task, learner={"inner_passes": 1}, engine="master-worker")
    assert result.algorithm.name == "dcd-ssvm"
    assert result.algorithm.learner.inner_passes == 1
    assert result.algorithm.engine.name == "master-worker"


def test_a_named_algorithm_stays_what_it_is(task):
    result = train(task, algorithm="dcd-light", n_threads=2)
    assert result.algorithm == find_algorithm("dcd-light")
    assert result.trace.settings["auto"] is None


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("algorithm", racing(2))
def test_a_named_algorithm_that_cannot_repeat_itself_is_refused_where_it_must(task, algorithm, threads):
    with pytest.raises(InputError, match=f"{algorithm} on the engine .* does not give the same bits with {threads}"):
        train(task, algorithm=algorithm, n_threads=threads, reproducible=True)


def test_a_wrong_loss_is_told_before_anything_is_chosen(task):
    with pytest.raises(InputError, match="loss must be 'hinge' or 'squared_hinge', not 'log'"):
        train(task, loss="log")


def test_auto_is_no_algorithm_without_a_task():
    with pytest.raises(InputError, match="auto chooses when there is a task"):
        find_algorithm("auto")


def test_every_engine_says_whether_it_repeats_itself():
    assert {name for name, engine in ENGINES.items() if not engine().gives_same_bits(4)} == {
        "shared",
        "decoupled",
        "cascade",  # unless the number of parts is given
    }


def test_classes_are_trained_by_auto_too():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert MulticlassClassifier(C=10.0).fit(X, [0, 1, 2]).algorithm_ != "auto"


def test_images_are_trained_by_what_averages_weights():
    made = make_digit_detection(6, seed=0)
    detector = ObjectDetector(max_iter=2, tol=0.9, n_threads=2).fit(made.images, made.targets)
    assert detector.algorithm_ == "shrinking-dcd"
