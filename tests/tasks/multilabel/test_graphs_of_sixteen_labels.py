"""All pairs of up to 16 labels: every set is looked at, so the best ones are the best."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginloom.tasks.multilabel.label_sets import unpack
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.train import train

ROWS = 3


def random_graph(seed, labels, **options):
    """Return a task over all pairs with random weights, and the parts of the score of a set."""
    rng = np.random.default_rng(seed)
    X = np.eye(ROWS)
    gold = (rng.random((ROWS, labels)) < 0.4).astype(int)
    task = MultilabelTask(X, gold, labels, pairs="full", **options)
    weights = np.zeros(task.core.dimension)
    task.label_weights(weights)[:] = rng.normal(size=(ROWS, labels))
    task.pair_weights(weights)[:] = rng.normal(size=len(task.pairs)) * rng.choice([0.1, 1.0, 3.0])
    return task, weights, gold


def every_score(task, weights, row):
    """Score all sets of a row by their definition, as a product of matrices."""
    sets = np.array(list(itertools.product((0, 1), repeat=task.n_labels)))[:, ::-1]  # in the order of their bits
    pairs = np.zeros((task.n_labels, task.n_labels))
    for (a, b), weight in zip(task.pairs, task.pair_weights(weights), strict=True):
        pairs[a, b] = weight
    return sets, sets @ task.label_weights(weights)[row] + ((sets @ pairs) * sets).sum(axis=1)


@given(seed=st.integers(0, 2**31), labels=st.integers(3, 9), k=st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_the_best_sets_are_those_of_enumeration(seed, labels, k):
    task, weights, _ = random_graph(seed, labels)
    packed, scores, bounds = task.predict_k_best(weights, k)
    for row in range(ROWS):
        best = np.sort(every_score(task, weights, row)[1])[::-1][:k]
        own = slice(int(bounds[row]), int(bounds[row + 1]))
        assert scores[own] == pytest.approx(best, abs=1e-9)
        assert len({bytes(one) for one in packed[own]}) == len(best)


@pytest.mark.parametrize("labels", [15, 16])
def test_sixteen_labels_are_searched_exactly_with_and_without_the_loss(labels):
    task, weights, gold = random_graph(labels, labels)
    assert {"exact", "k-best"} <= set(task.core.capabilities)
    predicted = unpack(task.predict(weights), labels)
    for row in range(ROWS):
        sets, scores = every_score(task, weights, row)
        assert (predicted[row] == sets[scores.argmax()]).all()
        right = scores[(sets == gold[row]).all(axis=1)][0]
        violations = (sets != gold[row]).sum(axis=1) + scores - right
        search = task.core.find(row, weights, 1.0, 5)
        assert search.bound == pytest.approx(violations.max())
        outputs = [np.frombuffer(candidate.output, np.uint8) for candidate in search.candidates]
        found = [np.unpackbits(output, count=labels, bitorder="little") for output in outputs]
        worst = np.sort(violations[(sets != gold[row]).any(axis=1)])[::-1]
        assert [violations[(sets == one).all(axis=1)][0] for one in found] == pytest.approx(worst[: len(found)])


def test_no_set_of_sixteen_labels_exceeds_the_bound_of_the_relaxation():
    for seed in range(20):
        exact, weights, _ = random_graph(seed, 16)
        relaxed, _, _ = random_graph(seed, 16, inference="relaxed")
        for row in range(ROWS):
            best, bound = exact.core.find(row, weights).bound, relaxed.core.find(row, weights).bound
            assert best <= bound + 1e-9


def test_seventeen_labels_are_relaxed():
    task, _, _ = random_graph(0, 17)
    assert "exact" not in task.core.capabilities
    assert "bounded" in task.core.capabilities


def test_training_over_all_pairs_of_few_labels_is_certified_exactly():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    y = (X @ rng.normal(size=(4, 6)) > 0.3).astype(int)
    result = train(MultilabelTask(X, y, 6, pairs="full", inference="exact"), C=0.3, loss="hinge", tol=0.01)
    assert result.certificate.exact
    assert result.stopped == "tolerance"
