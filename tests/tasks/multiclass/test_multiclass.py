"""The multiclass task against its definition, with all kinds of inputs."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from marginloom.errors import InputError
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.train import train

KINDS = {
    "dense 64": lambda X: X,
    "dense 32": lambda X: X.astype(np.float32),
    "sparse 64": sp.csr_array,
    "sparse 32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


class Toy:
    """A random problem whose numbers are eighths, so that every sum is exact and ties are real."""

    def __init__(self, seed, *, examples=9, features=5, classes=4, costs=False, bias=0.0, kind="dense 64"):
        rng = np.random.default_rng(seed)
        self.X = rng.integers(-8, 9, size=(examples, features)) / 8 * (rng.random((examples, features)) < 0.6)
        self.y = rng.integers(0, classes, size=examples)
        self.costs = rng.integers(1, 9, size=(classes, classes)) / 4 if costs else np.ones((classes, classes))
        np.fill_diagonal(self.costs, 0)
        self.bias = bias
        self.task = MulticlassTask(
            KINDS[kind](self.X), self.y, classes, cost_matrix=self.costs if costs else None, bias=bias
        )
        self.coef = rng.integers(-8, 9, size=(classes, features)) / 8
        self.intercept = rng.integers(-8, 9, size=classes) / 8 * bias
        self.weights = self.task.weights(self.coef, self.intercept)

    @property
    def scores(self):
        return self.X @ self.coef.T + self.intercept

    def difference(self, i, y):
        """Return phi(gold) - phi(y), as the rows and columns of the task's weights."""
        x = np.append(self.X[i], self.bias) if self.bias else self.X[i]
        rows = np.zeros((len(x), self.task.core.stride))
        rows[:, self.y[i]] += x
        rows[:, y] -= x
        return rows.ravel()


toys = st.builds(
    Toy,
    st.integers(0, 10_000),
    examples=st.integers(1, 12),
    features=st.integers(1, 9),
    classes=st.sampled_from([1, 2, 3, 8, 9, 20]),
    costs=st.booleans(),
    bias=st.sampled_from([0.0, 1.0, -2.0]),
    kind=st.sampled_from(sorted(KINDS)),
)


def as_class(candidate):
    return int(np.frombuffer(candidate.output, dtype=np.uint32)[0])


@settings(max_examples=60, deadline=None)
@given(toys)
def test_prediction_is_the_highest_score_and_ties_go_to_the_lowest_class(toy):
    scores = toy.scores
    np.testing.assert_array_equal(toy.task.scores(toy.weights), scores)
    np.testing.assert_array_equal(toy.task.predict(toy.weights), scores.argmax(axis=1))
    best = np.argsort(-scores, axis=1, kind="stable")
    for k in (2, 5, 50):
        classes, values = toy.task.predict_k_best(toy.weights, k)
        np.testing.assert_array_equal(classes, best[:, :k])
        np.testing.assert_array_equal(values, np.take_along_axis(scores, best, axis=1)[:, :k])


@settings(max_examples=60, deadline=None)
@given(toys, st.sampled_from([0.0, 1.0, 0.5]), st.sampled_from([-np.inf, -0.5, 0.0, 1.0]))
def test_search_brings_the_violated_classes_in_order(toy, loss_scale, least):
    classes = toy.task.n_classes
    for i, gold in enumerate(toy.y):
        violations = loss_scale * toy.costs[gold] + toy.scores[i] - toy.scores[i, gold]
        order = np.argsort(-violations, kind="stable")
        wanted = [y for y in order if violations[y] >= least]
        for k in (1, 2, 3, classes):
            search = toy.task.core.find(i, toy.weights, loss_scale, k, least)
            bound, found = search.bound, search.candidates
            assert bound == violations.max()
            assert [as_class(one) for one in found] == [y for y in wanted[:k] if y != gold]
        search = toy.task.core.find(i, toy.weights, loss_scale, 100, least)
        bound, found = search.bound, search.candidates
        assert bound == violations.max()
        assert [as_class(one) for one in found] == [y for y in wanted if y != gold]
        for one in found:
            difference = toy.difference(i, as_class(one))
            assert one.implicit
            assert one.loss == toy.costs[gold, as_class(one)]
            assert one.squared_norm == difference @ difference


def test_candidates_are_rebuilt_from_their_bytes_and_other_bytes_are_refused():
    toy = Toy(3, costs=True)
    wrong = (int(toy.y[0]) + 1) % 4
    rebuilt = toy.task.core.candidate(0, np.uint32(wrong).tobytes())
    assert as_class(rebuilt) == wrong
    assert rebuilt.loss == toy.costs[toy.y[0], wrong]
    for output, message in ((b"\0", "length"), (np.uint32(4).tobytes(), "class 4 of 4")):
        with pytest.raises(ValueError, match=message):
            toy.task.core.candidate(0, output)


@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_all_kinds_of_inputs_give_the_same_model(bias):
    toys_of_all_kinds = [Toy(5, examples=40, bias=bias, costs=True, kind=kind) for kind in KINDS]
    for loss, algorithm in itertools.product(("hinge", "squared_hinge"), ("dcd-ssvm", "cpd")):
        models = [train(toy.task, algorithm=algorithm, loss=loss, C=0.7, tol=1e-3).weights for toy in toys_of_all_kinds]
        for model in models[1:]:
            np.testing.assert_allclose(model, models[0], rtol=1e-9, atol=1e-12)


def test_coefficients_and_weights_are_two_views_of_one_model():
    toy = Toy(7, bias=2.0)
    coef, intercept = toy.task.coefficients(toy.weights)
    np.testing.assert_array_equal(coef, toy.coef)
    np.testing.assert_array_equal(intercept, toy.intercept)
    np.testing.assert_array_equal(toy.task.weights(coef, intercept), toy.weights)


def test_inputs_are_not_copied_where_they_need_not_be():
    dense = np.zeros((50, 20), dtype=np.float32)
    sparse = sp.random_array((50, 20), density=0.3, format="csr", rng=0)
    assert np.shares_memory(MulticlassTask(dense, None, 3)._inputs.singles, dense)
    inputs = MulticlassTask(sparse, None, 3)._inputs
    assert np.shares_memory(inputs.doubles, sparse.data)
    assert np.shares_memory(inputs.indices, sparse.indices)


def test_unsorted_and_repeated_entries_are_summed_in_a_copy():
    messy = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    task = MulticlassTask(messy, [0], 2)
    np.testing.assert_array_equal(task.scores(task.weights([[1, 0], [0, 1]])), [[2, 5]])
    np.testing.assert_array_equal(messy.indices, [1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gold": [0, 3]}, "gold must be from 0 to 2, and is 3 for example 1"),
        ({"gold": [0, -1]}, "is -1 for example 1"),
        ({"gold": [0]}, "one class for each of the 2 examples"),
        ({"gold": [0.0, 1.0]}, "number the classes first"),
        ({"X": np.array([[1.0], [np.nan]])}, "NaN or infinite"),
        ({"X": np.array([[1.0], [1e200]])}, "example 1 are beyond the range"),
        ({"X": np.zeros(3)}, "two dimensions"),
        ({"X": [["a"], ["b"]]}, "matrix of numbers"),
        ({"n_classes": 0}, "n_classes"),
        ({"cost_matrix": np.ones((3, 3))}, "0 on the diagonal"),
        ({"cost_matrix": np.zeros((2, 2))}, r"shape \(3, 3\)"),
        ({"cost_matrix": np.eye(3) - 1}, "not negative"),
        ({"bias": np.inf}, "bias must be finite"),
    ],
)
def test_contradictions_are_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        MulticlassTask(**{"X": np.ones((2, 1)), "gold": [0, 1], "n_classes": 3, **arguments})


def test_intercepts_need_a_bias():
    with pytest.raises(InputError, match=r"give bias=1\.0"):
        Toy(1).task.weights(np.zeros((4, 5)), np.ones(4))


def test_many_classes_take_memory_for_the_active_ones_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200))  # 1,600 bytes a row
    task = MulticlassTask(X, rng.integers(0, 40, size=300), 40)
    result = train(task, algorithm="dcd-ssvm", loss="hinge", C=0.01, tol=0.01)
    assert result.active > 300
    assert result.working_set_mb * 2**20 < 100 * (len(X) + result.active)
