"""Training on sets of labels: optima, slacks of labels, trees of co-occurrence."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score
from sklearn.svm import LinearSVC
from support.label_sets import TinySets
from support.oracles import WholeDual

from marginloom import InputError
from marginloom.tasks.multilabel.label_pairs import co_occurrence_tree
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.objective import primal
from marginloom.training.train import train

CYCLE = [(0, 1), (1, 2), (0, 2)]


def random_problem(rows=60, labels=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    y = (X @ rng.normal(size=(4, labels)) + 0.7 * rng.normal(size=(rows, labels)) > 0.3).astype(int)
    return X, y


@pytest.mark.parametrize("labels_per_slack", [None, 1, 2, 3, 5])
def test_with_the_hinge_the_optimum_is_that_of_a_binary_svm_per_label(labels_per_slack):
    X, y = random_problem()
    task = MultilabelTask(X, y, 5, bias=1.0, labels_per_slack=labels_per_slack)
    result = train(task, C=0.3, loss="hinge", tol=1e-4, max_iter=3000)
    expected = 0.0
    for label in range(5):
        signs = 2 * y[:, label] - 1
        svm = LinearSVC(loss="hinge", C=0.3, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, signs)
        w = np.append(svm.coef_[0], svm.intercept_[0])
        expected += 0.5 * w @ w + 0.3 * np.maximum(1 - signs * svm.decision_function(X), 0).sum()
    assert result.certificate.primal == pytest.approx(expected, rel=2e-4)
    assert result.certificate.dual <= expected * (1 + 1e-6)
    whole = MultilabelTask(X, y, 5, bias=1.0)
    assert primal(whole, result.weights, C=0.3, loss="hinge") == pytest.approx(result.certificate.primal, rel=1e-9)


def test_weights_of_rows_hold_for_all_their_labels():
    X, y = random_problem(20)
    weights = np.arange(20) % 3
    kept = np.flatnonzero(weights)
    options = {"C": 0.3, "loss": "hinge", "tol": 1e-9, "max_iter": 5, "engine": {"shuffle": False}}
    whole = train(MultilabelTask(X, y, 5, labels_per_slack=2), sample_weight=weights, **options)
    part = train(MultilabelTask(X[kept], y[kept], 5, labels_per_slack=2), sample_weight=weights[kept], **options)
    assert np.abs(whole.weights).max() > 0
    assert whole.weights.tobytes() == part.weights.tobytes()
    with pytest.raises(InputError, match="one number per example, 20"):
        train(MultilabelTask(X, y, 5, labels_per_slack=2), sample_weight=[1.0])


def test_certificates_of_a_relaxed_search_hold():
    """The primal that is reported bounds the true one from above, and the dual stays below the optimum."""
    sets = TinySets(8, rows=6, labels=4, pairs=[*CYCLE, (2, 3), (0, 3), (1, 3)], bias=1.0)
    optimum, _ = WholeDual(sets, np.full(6, 1.0)).solve("hinge")
    task = sets.task(inference="relaxed", sweeps=2)
    result = train(task, C=1.0, loss="hinge", tol=1e-3, max_iter=200)
    assert (result.certificate.bounded, result.certificate.exact) == (True, False)
    assert (result.bounded, result.exact) == (True, False)
    assert result.trace.rows[-1]["certified"]
    assert str(result.certificate).startswith(f"primal at most {result.primal:.6g}, dual")
    assert str(result.certificate).endswith("certified by bounds of an inexact inference")
    w = sets.from_core(result.weights, task)
    slack = sum(
        max(sets.loss(i, y) - w @ (sets.phi(i, sets.y[i]) - sets.phi(i, y)) for y in sets.outputs(i)) for i in range(6)
    )
    assert result.certificate.dual <= optimum * (1 + 1e-6)
    assert result.certificate.primal >= 0.5 * w @ w + slack - 1e-6


@given(seed=st.integers(0, 2**31), labels=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_the_tree_of_co_occurrence_has_the_most_mutual_information(seed, labels):
    rng = np.random.default_rng(seed)
    y = (rng.random((30, labels)) < rng.random(labels)).astype(int)
    y[:, -1] |= y[:, 0]
    information = {(a, b): mutual_info_score(y[:, a], y[:, b]) for a, b in itertools.combinations(range(labels), 2)}

    def is_forest(pairs):
        group = list(range(labels))
        for a, b in pairs:
            if group[a] == group[b]:
                return False
            group = [group[a] if g == group[b] else g for g in group]
        return True

    best = max(
        sum(information[pair] for pair in pairs)
        for count in range(labels)
        for pairs in itertools.combinations(information, count)
        if is_forest(pairs)
    )
    tree = co_occurrence_tree(y)
    assert is_forest(tree)
    assert sum(information[pair] for pair in tree) == pytest.approx(best, abs=1e-9)


def test_a_tree_learns_what_labels_alone_cannot_say():
    """The second label follows the first, and x says nothing of it but through the first."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    first = X[:, 0] > 0
    y = np.column_stack([first, first & (rng.random(300) < 0.9), rng.random(300) < 0.5]).astype(int)
    task = MultilabelTask(X, y, 3, pairs="tree", bias=1.0)
    assert (0, 1) in task.pairs
    result = train(task, C=1.0, tol=0.02, max_iter=500)
    assert task.pair_weights(result.weights)[task.pairs.index((0, 1))] > 0.1


def test_outputs_of_parts_cannot_be_predicted():
    X, y = random_problem()
    task = MultilabelTask(X, y, 5, labels_per_slack=2)
    with pytest.raises(InputError, match="for training"):
        task.predict(np.zeros(task.core.dimension))
    with pytest.raises(InputError, match="share their slack"):
        MultilabelTask(X, y, 5, labels_per_slack=2, pairs="tree")
