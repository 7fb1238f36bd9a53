"""Classes in their hundreds: searches bring some of them, and the optimum is that of all."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from marginloom.core.choice import Circumstances
from marginloom.tasks.multiclass.auto_rule import Size, choose
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.train import train

CLASSES, EXAMPLES, FEATURES = 100, 200, 12


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    y = np.arange(EXAMPLES) % CLASSES
    return random.normal(size=(CLASSES, FEATURES))[y] + random.normal(size=(EXAMPLES, FEATURES)), y


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "shrinking-dcd", "fastssvm"])
def test_a_search_brings_at_most_32_of_the_violated_classes(data, algorithm):
    task = MulticlassTask(*data, CLASSES)
    row = train(task, algorithm=algorithm, C=0.1, max_iter=1).trace.rows[0]
    assert 20 * EXAMPLES < row["candidates"]["found"] <= 32 * EXAMPLES


def test_as_many_as_are_asked_for_come_at_once(data):
    task = MulticlassTask(*data, CLASSES)
    row = train(task, algorithm="dcd-ssvm", learner={"k_best": CLASSES}, C=0.1, max_iter=1).trace.rows[0]
    assert row["candidates"]["found"] > 32 * EXAMPLES


def test_the_optimum_is_that_of_liblinear(data):
    X, y = data
    result = train(MulticlassTask(X, y, CLASSES), algorithm="dcd-ssvm", loss="hinge", C=0.1, tol=1e-5, max_iter=1000)
    svm = LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-9, fit_intercept=False, max_iter=100_000).fit(X, y)
    scores = X @ svm.coef_.T
    violations = scores - scores[np.arange(EXAMPLES), y][:, None] + 1
    violations[np.arange(EXAMPLES), y] = 0
    assert result.certificate.gap <= 1e-5
    expected = 0.5 * (svm.coef_**2).sum() + 0.1 * violations.max(axis=1).sum()
    assert result.certificate.primal == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("size", "threads", "expected"),
    [
        (Size(178, 3, 14, 2_314), 1, ("shrinking-dcd", None)),
        (Size(15_000, 26, 17, 240_000), 7, ("shrinking-dcd", None)),
        (Size(60_000, 10, 780, 9_000_000), 7, ("shrinking-dcd", None)),
        (Size(60_000, 10, 780, 9_000_000), 8, ("shrinking-dcd", "pipelined")),
        (Size(60_000, 65, 780, 9_000_000), 8, ("shrinking-dcd", None)),
        (Size(5_001, 1_000, 1_000, 5_000_000), 1, ("shrinking-dcd", None)),
        (Size(5_000, 1_000, 1_000, 5_000_000), 1, ("dcd-ssvm", None)),
        (Size(5_000, 10, 1_000, 5_000_000), 8, ("shrinking-dcd", "pipelined")),
        (Size(6_000_000, 2, 500_001, 6_000_000), 8, ("dcd-ssvm", None)),
    ],
)
def test_auto_looks_at_the_size_and_the_threads(size, threads, expected):
    for loss in (None, "hinge", "squared_hinge"):
        for reproducible in (False, True):
            choice = choose(size, Circumstances(loss, threads, reproducible))
            assert (choice.algorithm, choice.engine) == expected
            assert choice.learner == ({"inner_passes": 2} if expected[0] == "dcd-ssvm" else {})


@pytest.mark.parametrize(
    ("size", "passes", "may_turn"),
    [
        (Size(15_000, 26, 17, 240_000), 1000, True),  # few weights
        (Size(200, 300, 13, 2_400), 1000, False),  # a short pass
        (Size(60_000, 10, 780, 9_000_000), None, False),
    ],
)
def test_problems_with_short_passes_or_few_weights_may_take_more_passes(size, passes, may_turn):
    choice = choose(size, Circumstances())
    assert choice.max_iter == passes
    assert (choice.newton_passes < 100) == may_turn
