"""What `auto` chooses for sets of labels."""

import numpy as np
import pytest

from marginloom import MultilabelClassifier
from marginloom.algorithms import find_algorithm
from marginloom.core.choice import Circumstances
from marginloom.tasks.multilabel.task import MultilabelTask

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (X[:, :3] > 0.2).astype(int)


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 8, 64])
@pytest.mark.parametrize(("loss", "labels_per_slack"), [("hinge", None), ("hinge", 2), ("squared_hinge", 1)])
def test_labels_that_do_not_interact_are_binary_svms_on_any_number_of_threads(
    loss, labels_per_slack, threads, reproducible
):
    task = MultilabelTask(X, Y, 3, labels_per_slack=labels_per_slack)
    choice = task.choose(Circumstances(loss, threads, reproducible))
    assert choice.algorithm == "label-dcd"
    assert find_algorithm(choice.algorithm).engine.gives_same_bits(threads)


@pytest.mark.parametrize("options", [{"pairs": "tree"}, {"pairs": "full"}, {}])
def test_labels_that_share_what_couples_them_are_learnt_as_other_tasks_are(options):
    task = MultilabelTask(X, Y, 3, **options)
    assert task.choose(Circumstances("squared_hinge", 1)).algorithm == "dcd-ssvm"


@pytest.mark.parametrize("loss", [None, "hinge"])
def test_the_classifier_says_what_was_chosen(loss):
    classifier = MultilabelClassifier(loss=loss).fit(X, Y)
    assert classifier.algorithm_ == "label-dcd"
    assert classifier.choice_ == "label-dcd: labels that do not interact, a small problem, one thread"
    assert MultilabelClassifier(loss=loss, interactions="tree").fit(X, Y).algorithm_ == "dcd-ssvm"


@pytest.mark.parametrize(
    ("threads", "labels", "told"),
    [(2, 9, "2 threads"), (2, 8, "1 thread, since each takes 8 labels at a time"), (3, 16, "2 threads, since each")],
)
def test_the_choice_says_how_many_threads_have_labels_to_learn(threads, labels, told):
    task = MultilabelTask(np.eye(3), np.ones((3, labels), dtype=int), labels, labels_per_slack=1)
    reason = task.choose(Circumstances("hinge", threads)).reason
    assert reason.startswith(f"labels that do not interact, {told}")


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("loss", [None, "hinge"])
def test_labels_that_interact_are_searched_on_all_threads_with_the_same_result_in_every_run(
    loss, threads, reproducible
):
    choice = MultilabelTask(X, Y, 3, pairs="tree").choose(Circumstances(loss, threads, reproducible))
    assert (choice.algorithm, choice.reason) == ("ms-dcd", f"labels that interact, {threads} threads")
    assert find_algorithm(choice.algorithm).training_threads(threads) == threads
    assert find_algorithm(choice.algorithm).engine.gives_same_bits(threads)
