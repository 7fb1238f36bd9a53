"""One binary SVM per label: the optimum, its proof, the same bits on any number of threads, states and old files."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from marginloom import Callback, InputError, MultilabelClassifier
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.train import train

LOSSES = {"hinge": None, "squared_hinge": 1}  # with the labels that share a slack


def sets(labels=19, rows=120, features=12, seed=3):
    """Return inputs of which half the entries are 0, one row all of them, and a 0/1 matrix of noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.5)
    Y = (X @ rng.normal(size=(features, labels)) + rng.normal(size=(rows, labels)) > 0.7).astype(int)
    X[4] = 0
    return X, Y


X, Y = sets()


def task_of(loss, inputs=X, **options):
    return MultilabelTask(inputs, Y, Y.shape[1], bias=1.0, labels_per_slack=LOSSES[loss], **options)


def run(task, loss, **options):
    return train(task, **{"algorithm": "label-dcd", "loss": loss, "C": 0.5, "tol": 1e-4, "max_iter": 500, **options})


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("costs", [None, np.tile([2.0, 0.5], (19, 1))])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_other_learners(loss, costs, kind):
    task = task_of(loss, kind(X), label_costs=costs)
    result = run(task, loss)
    other = run(task, loss, algorithm="dcd-ssvm", max_iter=3000)
    assert result.stopped == other.stopped == "tolerance"
    assert result.certificate.exact
    assert result.certificate.dual <= other.certificate.primal
    assert other.certificate.dual <= result.certificate.primal
    assert result.primal == pytest.approx(other.primal, rel=3e-4)


@pytest.mark.parametrize("C", [0.01, 30.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_are_one_binary_svm_each(loss, C):
    options = {"loss": loss, "C": C, "tol": 1e-6, "max_iter": 3000, "label_costs": None, "normalize": False}
    classifier = MultilabelClassifier("label-dcd", **options).fit(X, Y)
    for label in range(0, 19, 6):
        svm = LinearSVC(loss=loss, C=C, tol=1e-9, max_iter=1_000_000, dual=True).fit(X, Y[:, label])
        assert classifier.coef_[label] == pytest.approx(svm.coef_[0], abs=0.02)
        assert classifier.intercept_[label] == pytest.approx(svm.intercept_[0], abs=0.02)


def defined_primal(weights, loss, costs, inputs=None):
    """Return the objective of weights for costs of rows, from its definition."""
    inputs = np.column_stack([X, np.ones(120)]) if inputs is None else inputs
    w = weights.reshape(inputs.shape[1], -1)[:, :19]
    slack = np.maximum(0, 1 - (2 * Y - 1) * (inputs @ w))
    return 0.5 * (w**2).sum() + (costs[:, None] * (slack if loss == "hinge" else slack**2)).sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_is_what_the_definition_says(loss):
    result = run(task_of(loss), loss, max_iter=2, sample_weight=np.arange(120) % 3)
    primal = defined_primal(result.weights, loss, 0.5 * (np.arange(120) % 3))
    assert result.certificate.primal == pytest.approx(primal)
    assert result.certificate.dual < primal


@pytest.mark.parametrize("length", [1e-8, 1e-20, 1e-160, 1e-170])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_next_to_no_length_are_learnt_to_the_tolerance(loss, length):
    inputs = np.where(np.arange(120)[:, None] % 2 == 0, X, length * X)
    task = MultilabelTask(inputs, Y, 19, bias=0.0, labels_per_slack=LOSSES[loss])
    result = run(task, loss)
    assert result.stopped == "tolerance"
    assert result.certificate.dual <= result.certificate.primal
    primal = defined_primal(result.weights, loss, np.full(120, 0.5), inputs)
    assert result.certificate.primal == pytest.approx(primal)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_gives_the_same_bits(loss, averaged):
    options = {"max_iter": 3, "learner": {"inner_passes": 4, "averaged": averaged}, "tol": 1e-9}
    alone, pair, many = (run(task_of(loss), loss, n_threads=threads, **options) for threads in (1, 2, 5))
    assert (alone.weights == pair.weights).all()
    assert (alone.weights == many.weights).all()
    assert alone.certificate == pair.certificate == many.certificate


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_that_goes_on_from_its_state_repeats_an_uninterrupted_one(loss):
    class Keep(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                self.state = run.state()

    keep = Keep()
    whole = run(task_of(loss), loss, max_iter=4, tol=1e-9, callbacks=[keep])
    rest = run(task_of(loss), loss, max_iter=2, tol=1e-9, warm_start=keep.state)
    assert (rest.weights == whole.weights).all()


@pytest.mark.parametrize(("first", "second"), [("label-dcd", "dcd-ssvm"), ("dcd-ssvm", "label-dcd")])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_state_is_understood_by_dual_coordinate_descent_and_its_states_here(loss, first, second):
    before = run(task_of(loss), loss, algorithm=first, max_iter=3000, keep_state=True)
    after = run(task_of(loss), loss, algorithm=second, max_iter=1, warm_start=before.state)
    assert after.certificate.dual >= before.certificate.dual * (1 - 1e-9)
    assert after.certificate.gap <= 1e-2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_state_of_a_larger_c_becomes_one_of_a_smaller(loss):
    state = run(task_of(loss), loss, keep_state=True).state
    result = run(task_of(loss), loss, C=0.1, warm_start=state)
    assert result.stopped == "tolerance"
    assert result.primal == pytest.approx(run(task_of(loss), loss, C=0.1).primal, rel=3e-4)


@pytest.mark.parametrize("algorithm", ["label-dcd", "dcd-ssvm"])  # whose states have numbers of decisions, or none
@pytest.mark.parametrize("loss", LOSSES)
def test_duals_of_rows_that_are_dropped_do_not_count(loss, algorithm):
    kept = (np.arange(120) >= 40).astype(float)
    state = run(task_of(loss), loss, algorithm=algorithm, keep_state=True).state
    once = run(task_of(loss), loss, max_iter=1, tol=1e-9, sample_weight=kept, warm_start=state, keep_state=True)
    cold = run(task_of(loss), loss, sample_weight=kept)
    decisions = once.state.arrays["decisions"].reshape(len(kept), -1)  # a bit for every dual that is not 0
    assert not decisions[:40].any()
    assert decisions[40:].any()
    assert once.certificate.primal == pytest.approx(defined_primal(once.weights, loss, 0.5 * kept))
    assert cold.certificate.dual <= once.certificate.primal
    assert once.certificate.dual <= cold.certificate.primal


def test_what_it_cannot_learn_is_refused():
    shared = MultilabelTask(X, Y, 19)
    with pytest.raises(InputError, match=r"^label-dcd needs a slack of its own for every decision"):
        run(shared, "squared_hinge")
    tree = MultilabelTask(X, Y, 19, pairs=[(0, 1)])
    with pytest.raises(InputError, match=r"needs outputs of independent yes-or-no .*here labels interact"):
        run(tree, "hinge")
    with pytest.raises(InputError, match=r"^label-dcd has no parameter 'shrinking'.*has: inner_passes, averaged$"):
        run(task_of("hinge"), "hinge", learner={"shrinking": 0.1})


def test_a_broken_state_is_refused():
    state = run(task_of("hinge"), "hinge", max_iter=1, keep_state=True).state
    state.arrays["decision_duals"] = state.arrays["decision_duals"][:-1]
    with pytest.raises(InputError, match="'decision_duals' of the state does not fit 'decisions'"):
        run(task_of("hinge"), "hinge", warm_start=state)


def test_a_state_of_another_learner_is_refused_by_its_name():
    state = run(task_of("hinge"), "hinge", algorithm="bcfw", max_iter=2, keep_state=True).state
    with pytest.raises(InputError, match="is one of the learner frank-wolfe, not of binary-dcd"):
        run(task_of("hinge"), "hinge", warm_start=state)
