"""Sets of labels against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.label_sets import TinySets

from marginloom import InputError, _core
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.train import train

KINDS = ["sparse", "dense"]


def forest(seed, labels):
    """Random pairs without a cycle."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(labels)
    return [(int(order[rng.integers(0, n)]), int(order[n])) for n in range(1, labels) if rng.random() < 0.8]


def cyclic(seed, labels):
    """Random pairs with at least one cycle."""
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(range(labels), 2))
    chosen = [pair for pair in every if rng.random() < 0.6]
    return sorted({*chosen, (0, 1), (0, 2), (1, 2)})


GRAPHS = {"independent": lambda seed, labels: [], "forest": forest, "cyclic": cyclic}

problems = st.tuples(
    st.integers(0, 2**31),
    st.integers(1, 6),
    st.sampled_from([0.0, 1.0, 0.5]),
    st.booleans(),
)


def build(problem, graph, kind="sparse", **options):
    seed, labels, bias, costs = problem
    labels = max(labels, 3) if graph == "cyclic" else labels
    sets = TinySets(seed, labels=labels, bias=bias, costs=costs, pairs=GRAPHS[graph](seed, labels))
    task = sets.task(kind, **options)
    w = np.round(np.random.default_rng(seed + 1).normal(size=sets.dimension), 3)
    return sets, task, w, sets.to_core(w, task)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("graph", GRAPHS)
@given(problem=problems)
@settings(max_examples=60, deadline=None)
def test_prediction_has_the_highest_score_of_all_sets(graph, kind, problem):
    sets, task, w, weights = build(problem, graph, kind)
    assert "exact" in task.core.capabilities
    packed, scores, _ = task.predict_k_best(weights, 1)
    for i in range(len(sets.X)):
        best = max(float(w @ sets.phi(i, y)) for y in sets.outputs(i))
        assert scores[i] == pytest.approx(best, abs=1e-5)
        assert float(w @ sets.phi(i, sets.decode(packed[i].tobytes()))) == pytest.approx(best, abs=1e-5)


def check_candidate(sets, task, i, candidate):
    y = sets.decode(candidate.output)
    assert y.tolist() != sets.y[i].tolist()
    assert candidate.loss == pytest.approx(sets.loss(i, y))
    difference = sets.phi(i, sets.y[i]) - sets.phi(i, y)
    assert candidate.squared_norm == pytest.approx(float(difference @ difference), abs=1e-4)
    assert task.core.candidate(i, candidate.output).squared_norm == candidate.squared_norm
    return y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("graph", GRAPHS)
@given(problem=problems, loss_scale=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_found_candidate_is_the_most_violated_set(graph, kind, problem, loss_scale):
    sets, task, w, weights = build(problem, graph, kind)
    for i in range(len(sets.X)):
        violations = violations_of(sets, w, i, loss_scale)
        worst = max(violations.values())
        search = task.core.find(i, weights, loss_scale)
        bound, candidates = search.bound, search.candidates
        assert bound == pytest.approx(max(worst, 0), abs=1e-5)
        for candidate in candidates:
            y = check_candidate(sets, task, i, candidate)
            assert violations[tuple(y)] == pytest.approx(worst, abs=1e-5)
        if worst > 1e-5:
            assert len(candidates) == 1


def violations_of(sets, w, i, loss_scale=1.0):
    gold = sets.phi(i, sets.y[i])
    return {y: loss_scale * sets.loss(i, y) - float(w @ (gold - sets.phi(i, y))) for y in sets.outputs(i)}


@pytest.mark.parametrize("graph", GRAPHS)
@given(problem=problems, k=st.integers(2, 70))
@settings(max_examples=100, deadline=None)
def test_k_best_are_the_best_in_order_and_different(graph, problem, k):
    sets, task, w, weights = build(problem, graph)
    packed, scores, bounds = task.predict_k_best(weights, k)
    for i in range(len(sets.X)):
        every = sorted((float(w @ sets.phi(i, y)) for y in sets.outputs(i)), reverse=True)
        own = slice(int(bounds[i]), int(bounds[i + 1]))
        assert scores[own] == pytest.approx(every[:k], abs=1e-5)
        found = [tuple(sets.decode(row.tobytes())) for row in packed[own]]
        assert len(set(found)) == len(found) == min(k, len(every))
        assert [float(w @ sets.phi(i, y)) for y in found] == pytest.approx(every[:k], abs=1e-5)
        violations = violations_of(sets, w, i)
        candidates = task.core.find(i, weights, 1.0, k).candidates
        best = sorted(violations, key=violations.get, reverse=True)[:k]
        expected = [violations[y] for y in best if y != tuple(sets.y[i])]
        gotten = [violations[tuple(check_candidate(sets, task, i, c))] for c in candidates]
        assert gotten == pytest.approx(expected, abs=1e-5)


def test_a_relaxed_search_has_no_k_best_and_says_so_to_learners_and_callers():
    task = build((0, 4, 0.0, False), "cyclic", inference="relaxed")[1]
    with pytest.raises(InputError, match="no k best sets where the pairs of more than 16 labels that interact have cy"):
        task.predict_k_best(np.zeros(task.core.dimension), 2)
    for algorithm, learner in (("kbest-mira", None), ("dcd-ssvm", {"k_best": 3})):
        with pytest.raises(InputError, match=f"{algorithm} needs k-best inference, and the task multilabel has none"):
            train(task, algorithm=algorithm, learner=learner)


@given(problem=problems, sweeps=st.sampled_from([1, 3, 30]))
@settings(max_examples=150, deadline=None)
def test_a_relaxed_search_brackets_the_most_violated_set(problem, sweeps):
    sets, task, w, weights = build(problem, "cyclic", inference="relaxed", sweeps=sweeps)
    assert "exact" not in task.core.capabilities
    assert "bounded" in task.core.capabilities
    for i in range(len(sets.X)):
        violations = violations_of(sets, w, i)
        worst = max(violations.values())
        search = task.core.find(i, weights)
        bound, candidates = search.bound, search.candidates
        assert bound >= worst - 1e-6
        for candidate in candidates:
            y = check_candidate(sets, task, i, candidate)
            assert violations[tuple(y)] <= bound + 1e-6


def test_a_relaxed_search_mostly_finds_the_best_set_and_proves_it():
    found = proved = total = 0
    for seed in range(100):
        sets, task, w, weights = build((seed, 6, 0.0, False), "cyclic", inference="relaxed")
        for i in range(len(sets.X)):
            violations = violations_of(sets, w, i)
            worst = max(violations.values())
            search = task.core.find(i, weights)
            bound, candidates = search.bound, search.candidates
            reached = max([violations[tuple(sets.decode(c.output))] for c in candidates], default=0.0)
            found += reached >= worst - 1e-6
            proved += bound <= worst + 1e-6
            total += 1
    assert found > 0.97 * total
    assert proved > 0.7 * total


@pytest.mark.parametrize("attraction", [1.0, -1.0])
def test_a_relaxation_of_a_graph_whose_pairs_attract_is_tight(attraction):
    tight = 0
    for seed in range(50):
        sets, task, w, weights = build((seed, 6, 0.0, False), "cyclic", inference="relaxed", sweeps=300)
        w[: len(sets.pairs)] = attraction * np.abs(w[: len(sets.pairs)])
        weights = sets.to_core(w, task)
        worst = max(violations_of(sets, w, 0).values())
        tight += task.core.find(0, weights).bound <= worst + 1e-3
    assert tight >= 49 if attraction > 0 else tight < 49


@given(problem=problems, graph=st.sampled_from(sorted(GRAPHS)))
@settings(max_examples=100, deadline=None)
def test_learners_move_weights_along_the_difference(problem, graph):
    """A perceptron's first step from 0 is the difference itself, whatever the layout."""
    sets, task, _, _ = build(problem, graph)
    result = train(
        task,
        algorithm="perceptron",
        learner={"averaged": False},
        engine={"shuffle": False},
        max_iter=1,
        sample_weight=[1.0, *[0.0] * (len(sets.X) - 1)],
    )
    empty = np.zeros(sets.labels, dtype=int)  # all scores are 0, so nothing is predicted
    expected = sets.phi(0, sets.y[0]) - sets.phi(0, empty)
    assert sets.from_core(result.weights, task) == pytest.approx(expected, abs=1e-6)


def test_many_labels_cross_the_words_and_blocks_of_the_native_code():
    labels = 203
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 4)).astype(np.float32).astype(float)
    gold = (rng.random((5, labels)) < 0.3).astype(int)
    task = MultilabelTask(X, gold, labels)
    rows = rng.normal(size=(4, labels))
    weights = np.zeros(task.core.dimension)
    task.label_weights(weights)[:] = rows
    scores = X @ rows
    packed = task.predict(weights)
    assert (np.unpackbits(packed, axis=1, count=labels, bitorder="little") == (scores > 0)).all()
    for i in range(5):
        search = task.core.find(i, weights)
        bound, (candidate,) = search.bound, search.candidates
        signs = 2 * gold[i] - 1
        assert bound == pytest.approx(np.maximum(1 - signs * scores[i], 0).sum(), rel=1e-12)
        assert candidate.loss == (1 - signs * scores[i] > 0).sum()


def test_all_instruction_sets_predict_the_same_bits():
    sets = TinySets(3, rows=30, features=9, labels=13, bias=1.0, pairs=cyclic(3, 13))
    task = sets.task("dense")
    weights = sets.to_core(np.random.default_rng(3).normal(size=sets.dimension), task)
    selected = _core.simd_selected()
    try:
        results = set()
        for name in _core.simd_available():
            assert _core.simd_select(name)
            packed, scores, _ = task.predict_k_best(weights, 1)
            results.add((packed.tobytes(), scores.tobytes()))
        assert len(results) == 1
    finally:
        _core.simd_select(selected)


@pytest.mark.parametrize("output", [b"", b"\x00\x00", b"\x10"])
def test_bytes_that_are_no_set_are_refused(output):
    task = TinySets(0, labels=4).task()
    with pytest.raises(ValueError, match="not a set of 4 labels"):
        task.core.candidate(0, output)


def test_what_does_not_fit_is_named():
    X = np.eye(3)
    with pytest.raises(InputError, match="3 rows, and gold has 2"):
        MultilabelTask(X, [[0], [1]], 2)
    with pytest.raises(InputError, match="number 2; there are 2 labels"):
        MultilabelTask(X, [[0], [1], [2]], 2)
    with pytest.raises(InputError, match="0/1 matrix, and has the value 2"):
        MultilabelTask(X, np.full((3, 2), 2), 2)
    with pytest.raises(InputError, match="a column for each of 4"):
        MultilabelTask(X, np.zeros((3, 2)), 4)
    with pytest.raises(InputError, match="is there twice"):
        MultilabelTask(X, None, 3, pairs=[(0, 1), (1, 0)])
    with pytest.raises(InputError, match="two different labels"):
        MultilabelTask(X, None, 3, pairs=[(1, 1)])
    with pytest.raises(InputError, match="not negative"):
        MultilabelTask(X, None, 2, label_costs=[1, -1])
    with pytest.raises(InputError, match="the shape"):
        MultilabelTask(X, None, 2, label_costs=[1, 1, 1])
    with pytest.raises(InputError, match="NaN"):
        MultilabelTask(np.full((1, 1), np.nan), None, 1)
    with pytest.raises(InputError, match="learns from gold labels"):
        MultilabelTask(X, None, 2, pairs="tree")
    with pytest.raises(InputError, match="at most 16 labels or pairs without cycles"):
        MultilabelTask(X, None, 17, pairs="full", inference="exact")
    with pytest.raises(InputError, match="inference must be 'auto', 'exact' or 'relaxed'"):
        MultilabelTask(X, None, 3, inference="approximate")
