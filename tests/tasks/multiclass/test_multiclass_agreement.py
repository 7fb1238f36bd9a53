"""Learners of the multiclass SVM end at the optimum that scipy finds, and beat liblinear's tolerance."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from support.classes import TinyClasses
from support.oracles import SLOW, WholeDual
from support.pairs import with_effect

from marginloom import Callback
from marginloom.algorithms import ALGORITHMS
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.objective import primal
from marginloom.training.train import train

C = 0.4
#: What the suite of all tasks, test_every_task.py, does not have.
CASES = [("sgd", {}, "hinge")]
CASES += [("dcd-ssvm", {"k_best": k}, loss) for k in (0, 1, 2) for loss in ("hinge", "squared_hinge")]


@pytest.fixture(scope="module", params=["sparse", "dense"])
def problem(request):
    toy = TinyClasses(4)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(toy.y))
    dual = WholeDual(toy, C * weights)
    X = sp.csr_array(toy.X) if request.param == "sparse" else toy.X
    task = MulticlassTask(X, toy.y, toy.classes, cost_matrix=toy.costs, bias=toy.bias)
    return task, weights, {loss: dual.solve(loss)[0] for loss in ("hinge", "squared_hinge")}


@pytest.mark.parametrize(("algorithm", "learner", "loss"), CASES, ids=str)
def test_learners_end_at_the_optimum_that_scipy_finds(problem, algorithm, learner, loss):
    task, weights, optimum = problem
    result = train(
        task,
        algorithm=algorithm,
        learner=learner,
        **with_effect(algorithm, {"loss": loss, "C": C, "tol": 5e-4}),
        max_iter=SLOW.get(algorithm, 1_000),
        n_threads=2,
        sample_weight=weights,
    )
    best = optimum[loss]
    assert best * (1 - 1e-5) <= result.primal <= best * 1.001
    assert result.primal == pytest.approx(primal(task, result.weights, C=C, loss=loss, sample_weight=weights), rel=1e-9)
    if ALGORITHMS[algorithm].learner.has_dual():
        assert result.stopped == "tolerance"
        assert result.certificate.dual <= best * (1 + 1e-5)


@pytest.fixture(scope="module")
def digits():
    """Return a problem with many examples at the margin, and liblinear's solution of it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.5)
    y = np.argmax(X @ rng.normal(size=(12, 6)) + rng.normal(size=(300, 6)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svm = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=100_000)
        svm.fit(X, y)
    return MulticlassTask(sp.csr_array(X), y, 6), svm.coef_


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "shrinking-dcd", "fsmo", "bcfw", "one-slack", "cpd"])
def test_the_primal_is_that_of_liblinear_with_the_same_cost(digits, algorithm):
    task, coef = digits
    theirs = primal(task, task.weights(coef), C=C, loss="hinge")
    result = train(task, algorithm=algorithm, loss="hinge", C=C, tol=1e-3, max_iter=5_000)
    assert result.certificate.gap <= 1e-3
    assert result.primal == pytest.approx(theirs, rel=1e-3)
    assert result.certificate.dual <= theirs


def test_blocks_are_solved_exactly_by_one_visit():
    """With one example the whole dual is one block: a single pass ends at the optimum."""
    toy = TinyClasses(9, examples=1, classes=8)
    toy.X[0] = [1.0, -0.5, 2.0, 0.25, 1.0]
    task = MulticlassTask(toy.X, toy.y, 8, cost_matrix=toy.costs)
    for loss in ("hinge", "squared_hinge"):
        result = train(task, algorithm="dcd-light", loss=loss, C=0.05, tol=1e-12, max_iter=1)
        assert abs(result.certificate.gap) < 1e-12


def test_rests_spare_searches_and_do_not_change_the_optimum():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 10))
    y = np.argmax(X[:, :4], axis=1)
    task = MulticlassTask(X, y, 4)
    options = {"algorithm": "dcd-ssvm", "loss": "hinge", "C": 1.0, "tol": 1e-4, "max_iter": 500}
    always = train(task, **options)
    spared = train(task, **options, learner={"rest": 15})
    assert spared.stopped == always.stopped == "tolerance"
    assert spared.primal == pytest.approx(always.primal, rel=2e-4)
    assert spared.inferences / spared.iterations < 0.7 * len(y)


class StateAfter(Callback):
    """Keeps the state after one pass."""

    def __init__(self, iteration):
        self.iteration = iteration

    def after_iteration(self, run, row):
        if run.iteration == self.iteration:
            self.state, self.inferences = run.state(), run.inferences


def test_a_run_with_rests_goes_on_from_a_state_as_if_nothing_had_happened():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6))
    task = MulticlassTask(X, np.argmax(X[:, :3], axis=1), 3)
    options = {"algorithm": "shrinking-dcd", "loss": "hinge", "C": 0.1, "tol": 1e-12}
    middle = StateAfter(3)
    whole = train(task, **options, max_iter=6, callbacks=[middle])
    rest = train(task, **options, max_iter=3, warm_start=middle.state)
    assert whole.inferences < 6 * 80
    assert rest.inferences + middle.inferences == whole.inferences
    np.testing.assert_array_equal(rest.weights, whole.weights)
