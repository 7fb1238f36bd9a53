"""Trees that are found against all trees there are, and features of arcs against the templates' definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recomputed import Enumeration
from support.rooms import MB, set_room
from support.small_tasks import taught_trees
from support.treebanks import TinyTrees, all_trees, nearest_sibling

from marginloom import InputError, _core
from marginloom.tasks.parse.task import ParseTask, TreeOptions, Trees
from marginloom.training.train import train

#: Those whose search is exact: order, projective, one root, labels.
EXACT = [
    (order, projective, one_root, labels)
    for order, projective, one_root, labels in itertools.product((1, 2), (True, False), (True, False), (0, 3))
    if projective or order == 1
]
INEXACT = [(2, False, one_root, labels) for one_root, labels in itertools.product((True, False), (0, 3))]
seeds = st.integers(0, 2**31)
every_kind = pytest.mark.parametrize(("order", "projective", "one_root", "labels"), EXACT)


def bank(seed, order, projective, one_root, labels, lengths=None):
    lengths = lengths or ((1, 2, 3) if labels else (0, 1, 3, 4))
    trees = TinyTrees(seed, lengths=lengths, order=order, projective=projective, one_root=one_root, labels=labels)
    rng = np.random.default_rng(seed)
    for i in range(len(lengths)):
        every = list(trees.outputs(i))
        trees.y[i] = every[rng.integers(len(every))]
    trees.learn()
    return trees, rng


def weights_for(trees, task, rng):
    """Return weights in both layouts; small multiples of 1/8 have ties among them and add up without rounding."""
    w = rng.integers(-8, 9, size=trees.dimension) / 8
    return w, trees.to_core(w, task)


def outputs_of(trees, found):
    bounds = found.output_bounds.astype(int)
    return [trees.decode(found.outputs[start:end].tobytes()) for start, end in itertools.pairwise(bounds)]


@pytest.mark.parametrize("one_root", [True, False])
def test_numbers_of_trees_are_the_known_ones(one_root):
    lengths = range(1, 6)
    # Rooted labelled trees and forests (OEIS A000169, A000272), and projective ones (A006013, A001764).
    any_trees, projective = (
        ([1, 2, 9, 64, 625], [1, 2, 7, 30, 143]) if one_root else ([1, 3, 16, 125, 1296], [1, 3, 12, 55, 273])
    )
    assert [len(all_trees(n, projective=False, one_root=one_root)) for n in lengths] == any_trees
    assert [len(all_trees(n, one_root=one_root)) for n in lengths] == projective


@pytest.mark.parametrize(("order", "projective", "one_root", "labels"), [*EXACT, *INEXACT])
@given(seed=seeds)
@settings(max_examples=5)
def test_features_of_right_arcs_are_those_that_templates_describe(order, projective, one_root, labels, seed):
    trees, _ = bank(seed, order, projective, one_root, labels)
    features = trees.feature_set()
    found = [[names.name(k) for k in range(len(names))] for names in features._vocabularies]
    assert found == [list(names) for names in trees.names]
    assert features.counts == dict(zip(("arcs", "siblings", "labels"), map(len, found), strict=True))


@every_kind
@given(seed=seeds)
@settings(max_examples=6)
def test_prediction_has_the_highest_score_of_all_trees(order, projective, one_root, labels, seed):
    trees, rng = bank(seed, order, projective, one_root, labels)
    task = trees.task(gold=False)
    w, weights = weights_for(trees, task, rng)
    found = task.core.predict(weights, 1)
    for i, y in enumerate(outputs_of(trees, found)):
        assert y in set(trees.outputs(i))
        best = max(float(w @ trees.phi(i, other)) for other in trees.outputs(i))
        assert found.scores[i] == pytest.approx(best, abs=1e-9)
        assert float(w @ trees.phi(i, y)) == pytest.approx(best, abs=1e-9)
    predicted = task.predict(weights)
    assert predicted.heads.tolist() == [
        head for i, y in enumerate(outputs_of(trees, found)) for head in trees.apart(i, y)[0]
    ]


@every_kind
def test_best_tree_of_five_words_is_the_best_of_all(order, projective, one_root, labels):
    trees, rng = bank(5, order, projective, one_root, labels and 2, lengths=(5,))
    task = trees.task(gold=False)
    w, weights = weights_for(trees, task, rng)
    found = task.core.predict(weights, 1)
    scores = {y: float(w @ trees.phi(0, y)) for y in trees.outputs(0)}
    (y,) = outputs_of(trees, found)
    assert found.scores[0] == pytest.approx(scores[y], abs=1e-9) == max(scores.values())


@every_kind
@given(seed=seeds, loss_scale=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=6)
def test_found_candidate_is_the_most_violated_tree(order, projective, one_root, labels, seed, loss_scale):
    trees, rng = bank(seed, order, projective, one_root, labels)
    task = trees.task()
    w, weights = weights_for(trees, task, rng)
    for i in range(len(trees.X)):
        gold = trees.phi(i, trees.y[i])

        def violation(y, i=i, gold=gold):
            return loss_scale * trees.loss(i, y) - float(w @ (gold - trees.phi(i, y)))

        worst = max(violation(y) for y in trees.outputs(i))
        search = task.core.find(i, weights, loss_scale)
        assert search.bound == pytest.approx(max(worst, 0), abs=1e-9)
        for candidate in search.candidates:
            y = check_candidate(trees, task, i, candidate)
            assert violation(y) == pytest.approx(worst, abs=1e-9)


def check_candidate(trees, task, i, candidate):
    """Check everything that a candidate says of its tree, and return the tree."""
    y = trees.decode(candidate.output)
    assert y != tuple(trees.y[i])
    assert candidate.loss == trees.loss(i, y)
    stored = np.zeros(task.core.dimension)
    stored[candidate.indices] = candidate.values
    difference = trees.phi(i, trees.y[i]) - trees.phi(i, y)
    assert trees.from_core(stored, task).tolist() == difference.tolist()
    assert np.count_nonzero(stored) == np.count_nonzero(difference) == len(candidate.indices)
    assert candidate.squared_norm == float(difference @ difference)
    assert task.core.candidate(i, candidate.output).values.tolist() == candidate.values.tolist()
    return y


@pytest.mark.parametrize(("order", "projective", "one_root", "labels"), INEXACT)
@given(seed=seeds)
@settings(max_examples=6)
def test_a_search_that_is_not_exact_finds_trees_and_never_claims_too_much(order, projective, one_root, labels, seed):
    trees, rng = bank(seed, order, projective, one_root, labels)
    task = trees.task()
    assert not {"exact", "bounded", "k-best"} & set(task.core.capabilities)
    w, weights = weights_for(trees, task, rng)
    found = task.core.predict(weights, 1)
    for i, y in enumerate(outputs_of(trees, found)):
        scores = {other: float(w @ trees.phi(i, other)) for other in trees.outputs(i)}
        assert found.scores[i] == pytest.approx(scores[y], abs=1e-9)
        heads, _ = trees.apart(i, y)
        projective_ones = set(all_trees(len(heads), one_root=one_root))
        assert scores[y] >= max(score for other, score in scores.items() if other[: len(heads)] in projective_ones)
        search = task.core.find(i, weights, 1.0)
        for candidate in search.candidates:
            other = check_candidate(trees, task, i, candidate)
            gained = trees.loss(i, other) + scores[other] - scores[tuple(trees.y[i])]
            assert search.bound == pytest.approx(max(gained, 0), abs=1e-9)


def test_a_search_that_is_not_exact_finds_crossing_arcs():
    trees = TinyTrees(0, lengths=(4,), order=2, projective=False)
    trees.X, trees.y = [[("a", "N"), ("b", "V"), ("c", "P"), ("d", "Q")]], [(3, 4, 0, 3)]
    trees.templates = "word[h] word[m]\nword[h] word[s] word[m]"
    trees.learn()
    task = trees.task()
    assert outputs_of(trees, task.core.predict(trees.to_core(np.ones(trees.dimension), task), 1)) == trees.y


@every_kind
@pytest.mark.parametrize("k", [2, 7, 10_000])
def test_k_best_trees_are_the_k_best_each_with_its_best_labels(order, projective, one_root, labels, k):
    trees, rng = bank(k, order, projective, one_root, labels)
    task = trees.task(gold=False)
    w = rng.normal(size=trees.dimension)
    found = task.predict_k_best(trees.to_core(w, task), k)
    for i, (start, end) in enumerate(itertools.pairwise(found.bounds.astype(int))):
        best = {}
        for y in trees.outputs(i):
            heads, score = trees.apart(i, y)[0], float(w @ trees.phi(i, y))
            best[heads] = max(score, best.get(heads, -np.inf))
        expected = sorted(best.values(), reverse=True)[:k]
        assert found.scores[start:end] == pytest.approx(expected, abs=1e-9)
        for tree, score in zip(found.trees[start:end], found.scores[start:end], strict=True):
            heads = tuple(tree.heads.tolist())
            assert best.pop(heads) == pytest.approx(score, abs=1e-9)  # and no tree comes twice
            y = (*heads, *([] if tree.labels is None else tree.labels.tolist()))
            assert float(w @ trees.phi(i, y)) == pytest.approx(score, abs=1e-9)


@every_kind
def test_k_candidates_are_violated_and_come_in_order(order, projective, one_root, labels):
    trees, rng = bank(3, order, projective, one_root, labels)
    task = trees.task()
    w, weights = weights_for(trees, task, rng)
    for i in range(len(trees.X)):
        search = task.core.find(i, weights, 1.0, 5, 0.25)
        gained = []
        for candidate in search.candidates:
            y = check_candidate(trees, task, i, candidate)
            gained.append(trees.loss(i, y) + float(w @ (trees.phi(i, y) - trees.phi(i, trees.y[i]))))
        assert gained == sorted(gained, reverse=True)
        assert all(gain >= 0.25 - 1e-9 for gain in gained)
        assert len(gained) <= 5


@every_kind
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_certificates_are_the_objectives_of_enumerated_trees(order, projective, one_root, labels, loss):
    trees = taught_trees(5, order=order, projective=projective, one_root=one_root, labels=labels)
    task = trees.task()
    result = train(task, loss=loss, C=0.4, tol=1e-3, max_iter=300)
    assert result.stopped == "tolerance"

    class Problem:
        oracle = trees

    found = Enumeration(Problem, np.full(len(trees.X), 0.4), loss)
    assert result.certificate.primal == pytest.approx(found.primal(trees.from_core(result.weights, task)), rel=1e-9)
    assert result.certificate.dual <= found.solve() * (1 + 1e-6)


def test_kept_features_give_the_same_bits():
    for kind in [*EXACT, *INEXACT]:
        trees, rng = bank(4, *kind)
        for memory in (60, 10**6):
            plain, kept = trees.task(), trees.task(cache=memory)
            assert 0 < kept.core.kept_bytes <= memory
            weights = rng.normal(size=plain.core.dimension)
            one, other = (task.core.predict(weights, 1) for task in (plain, kept))
            assert one.outputs.tobytes() == other.outputs.tobytes()
            assert one.scores.tobytes() == other.scores.tobytes()
            for i in range(len(trees.X)):
                assert plain.core.find(i, weights, 1.0).bound == kept.core.find(i, weights, 1.0).bound


def test_all_instruction_sets_predict_the_same_bits():
    trees, rng = bank(6, 2, True, True, 3)
    task = trees.task()
    weights = rng.normal(size=task.core.dimension)
    selected = _core.simd_selected()
    results = set()
    try:
        for name in _core.simd_available():
            assert _core.simd_select(name)
            found = task.core.predict(weights, 1)
            results.add((found.outputs.tobytes(), found.scores.tobytes()))
    finally:
        _core.simd_select(selected)
    assert len(results) == 1


@pytest.mark.parametrize(("order", "projective"), [(1, True), (1, False), (2, True), (2, False)])
def test_long_sentences_have_trees(order, projective):
    trees = TinyTrees(7, lengths=(3, 3, 3), order=order, projective=projective, labels=3)
    features = trees.feature_set()
    words = [word for sentence in trees.X for word in sentence]
    sentence = [words[k] for k in np.random.default_rng(0).integers(len(words), size=300)]
    task = ParseTask(
        np.array([0, 300, 300, 301], np.uint64),
        features.values([sentence, [], sentence[:1]]),
        features.core,
        trees.tree_options(),
    )
    found = task.predict(np.random.default_rng(1).normal(size=task.core.dimension))
    heads = found.heads[:300].tolist()
    assert found.heads[300] == 0
    assert heads.count(0) == 1
    for word in range(1, 301):
        for _ in range(300):
            word = heads[word - 1] if word else 0
        assert word == 0
    assert set(found.labels[found.heads > 0].tolist()) <= {1, 2}


def test_a_text_that_is_one_sentence_is_refused_before_the_memory_is_taken(monkeypatch):
    trees = TinyTrees(7, lengths=(3,))
    features = trees.feature_set()
    bounds = np.array([0, 1200], np.uint64)
    task = ParseTask(bounds, features.values([trees.X[0] * 400]), features.core, trees.tree_options())
    set_room(monkeypatch, 40 * MB)
    with pytest.raises(InputError, match=r"parsing a sentence of 1,200 words needs .* split it, with a blank line"):
        task.predict(np.zeros(task.core.dimension))


def test_weights_of_zero_give_some_tree():
    for kind in [*EXACT, *INEXACT]:
        trees, _ = bank(8, *kind)
        task = trees.task(gold=False)
        for i, y in enumerate(outputs_of(trees, task.core.predict(np.zeros(task.core.dimension), 1))):
            assert y in set(trees.outputs(i))


@pytest.mark.parametrize(
    ("heads", "labels", "options", "message"),
    [
        ([2, 1], None, TreeOptions(), "the heads of sentence 0 are not a tree"),
        ([0, 3], None, TreeOptions(), "the heads of sentence 0 are not a tree"),
        ([0, 0], None, TreeOptions(), "the heads of sentence 0 are not a tree"),
        ([0], None, TreeOptions(), "one head per word"),
        ([2, 0], None, TreeOptions(1, True, "one", 2, (0,), (1,)), "the right ones are missing"),
        ([2, 0], [1], TreeOptions(1, True, "one", 2, (0,), (1,)), "one label per word"),
        ([2, 0], [0, 1], TreeOptions(1, True, "one", 2, (0,), (1,)), "a label that it may not have"),
        ([2, 0], [1, 0], TreeOptions(1, True, "one", 2, (0,), (2,)), "beyond the number of labels"),
        ([2, 0], [1, 0], TreeOptions(1, True, "one", 2, (0,), ()), "need a label that they may have"),
        ([2, 0], [1, 0], TreeOptions(1, True, "one", 65_537, (0,), (1,)), "at most 65,536 labels"),
    ],
)
def test_contradictions_are_refused(heads, labels, options, message):
    trees = TinyTrees(0, lengths=(2,), labels=options.label_count and 3)
    features = trees.feature_set()
    gold = Trees(np.array(heads, np.uint16), None if labels is None else np.array(labels, np.uint16))
    with pytest.raises(InputError, match=message):
        ParseTask(np.array([0, 2], np.uint64), features.values(trees.X), features.core, options, gold)


def test_more_than_256_labels_take_two_bytes():
    trees = TinyTrees(9, lengths=(2, 3))
    trees.y = [(2, 0), (2, 0, 2)]
    count = 300
    trees.labels, trees.root_labels, trees.other_labels = count, [7], [5, 299]
    trees.y = [(2, 0, 299, 7), (2, 0, 2, 5, 7, 299)]
    trees.learn()
    task = trees.task()
    assert task.core.bytes_per_label == 2
    result = train(task, C=10.0, max_iter=50)
    assert task.predict(result.weights).labels.tolist() == [299, 7, 5, 7, 299]


def test_nearest_siblings_are_on_the_way_to_the_head():
    assert [nearest_sibling((2, 0, 2, 2, 4), word) for word in range(1, 6)] == [0, 0, 0, 3, 0]
