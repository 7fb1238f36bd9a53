"""Beam search against all derivations, and its updates against a search over prefixes in plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.derivations import (
    FAR_TEMPLATES,
    SHIFT,
    TEMPLATES,
    TinyDerivations,
    all_derivations,
    gold_actions,
    heads_of,
    prefix_loss,
)
from support.treebanks import all_trees

from marginloom.core.prefixes import UPDATES

UNBOUNDED = 4096
seeds = st.integers(0, 2**31)
both_ways = pytest.mark.parametrize("merging", [True, False])
with_and_without_labels = pytest.mark.parametrize("labels", [0, 3])


def bank(seed, lengths, **options):
    """Return derivations with random gold trees, and random weights in both layouts, without rounding."""
    trees = TinyDerivations(seed, lengths=lengths, **options)
    rng = np.random.default_rng(seed)
    for i in range(len(lengths)):
        every = list(trees.outputs(i))
        trees.y[i] = every[rng.integers(len(every))]
    trees.learn()
    task = trees.task()
    w = rng.integers(-8, 9, size=trees.dimension) / 8
    return trees, task, w, trees.to_core(w, task)


def score(trees, i, actions, w):
    """Return the score of a derivation or its beginning with the best labels, and these labels."""
    labels = trees.best_labels(i, actions, w) if trees.labels else ()
    return float(w @ trees.derivation_phi(i, actions, labels)), labels


def gold_labels(trees, i, actions):
    heads, labels = trees.apart(i, trees.y[i])
    made = heads_of(actions, len(heads))
    return tuple(label if head is not None else 0 for head, label in zip(made, labels, strict=True)) if labels else ()


def gold_score(trees, i, actions, w):
    return float(w @ trees.derivation_phi(i, actions, gold_labels(trees, i, actions)))


@pytest.mark.parametrize("length", range(1, 7))
def test_the_gold_derivation_gives_back_every_projective_tree(length):
    for heads in all_trees(length):
        actions = gold_actions(heads)
        assert len(actions) == 2 * length - 1
        assert heads_of(actions, length) == heads


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_the_library_derives_gold_trees_by_reducing_as_early_as_possible(length):
    trees = TinyDerivations(0, lengths=(length,))
    for heads in all_trees(length):
        trees.y[0] = heads
        task = trees.task()
        found = task.core.find(0, np.zeros(task.core.dimension), 0.0)
        output = bytes(gold_actions(heads))
        candidate = task.core.candidate(0, output)
        assert (candidate.loss, len(candidate.indices)) == (0, 0)
        assert all(bytes(other.output) != output for other in found.candidates)


@both_ways
@with_and_without_labels
@pytest.mark.parametrize("templates", [TEMPLATES, FAR_TEMPLATES])
@given(seed=seeds)
@settings(max_examples=2)
def test_an_unbounded_beam_finds_the_best_of_all_derivations(merging, labels, templates, seed):
    lengths = (0, 1, 2, 3, 4)
    options = {"beam": UNBOUNDED, "merging": merging, "labels": labels, "templates": templates}
    trees, task, w, weights = bank(seed, lengths, **options)
    found = task.core.predict(weights, 1)
    bounds = found.output_bounds.astype(int)
    for i, (start, end) in enumerate(itertools.pairwise(bounds)):
        actions, own = trees.actions_and_labels(found.outputs[start:end], lengths[i])
        best = max(score(trees, i, other, w)[0] for other in all_derivations(lengths[i]))
        assert found.scores[i] == best
        assert float(w @ trees.derivation_phi(i, actions, own)) == best


@both_ways
@pytest.mark.parametrize("templates", [TEMPLATES, FAR_TEMPLATES])
def test_an_unbounded_beam_finds_the_best_derivation_of_five_words(merging, templates):
    for seed in range(3):
        trees, task, w, weights = bank(seed, (5,), beam=UNBOUNDED, merging=merging, templates=templates)
        found = task.core.predict(weights, 1)
        assert found.scores[0] == max(score(trees, 0, other, w)[0] for other in all_derivations(5))


def prefixes(length, steps):
    return sorted({actions[:steps] for actions in all_derivations(length)})


@both_ways
@with_and_without_labels
@pytest.mark.parametrize("update", UPDATES)
@given(seed=seeds)
@settings(max_examples=2)
def test_an_update_is_that_of_a_search_over_all_prefixes(merging, labels, update, seed):
    lengths = (0, 1, 2, 3, 4) if not labels else (1, 2, 3)
    options = {"beam": UNBOUNDED, "merging": merging, "labels": labels, "update": update}
    trees, task, w, weights = bank(seed, lengths, **options)
    for i, length in enumerate(lengths):
        steps = max(2 * length - 1, 0)
        gold = gold_actions(trees.apart(i, trees.y[i])[0])
        best = [max(score(trees, i, other, w)[0] for other in prefixes(length, j)) for j in range(1, steps + 1)]
        violations = [high - gold_score(trees, i, gold[:j], w) for j, high in enumerate(best, 1)]
        with_gold = [
            trees.best_labels(i, gold[:j], w) == gold_labels(trees, i, gold[:j]) if labels else True
            for j in range(1, steps + 1)
        ]
        chosen = steps
        if update == "max-violation" and steps:
            chosen = max(range(1, steps + 1), key=lambda j: (violations[j - 1], j))
        elif update == "early" and not all(with_gold):
            chosen = 1 + with_gold.index(False)
            if violations[chosen - 1] == 0:  # gold was left in a tie
                chosen = max(j for j in range(chosen, steps + 1) if violations[j - 1] == 0)
        found = task.core.find(i, weights, 0.0)
        if not steps:
            assert (found.bound, found.candidates) == (0, [])
            continue
        assert found.bound == max(violations[chosen - 1], 0)
        for candidate in found.candidates:
            actions, _ = check_candidate(trees, task, i, candidate)
            assert len(actions) == chosen
            assert -float(weights[candidate.indices] @ candidate.values) == violations[chosen - 1]
        if violations[chosen - 1] > 0:
            assert len(found.candidates) == 1


def check_candidate(trees, task, i, candidate):
    """Check everything that a candidate says of its prefix, and return its actions and labels."""
    heads, labels = trees.apart(i, trees.y[i])
    actions, own = trees.actions_and_labels(candidate.output, len(heads))
    assert candidate.loss == prefix_loss(actions, heads, own, labels)
    gold = gold_actions(heads)[: len(actions)]
    right = trees.derivation_phi(i, gold, gold_labels(trees, i, gold))
    difference = right - trees.derivation_phi(i, actions, own)
    stored = np.zeros(task.core.dimension)
    stored[candidate.indices] = candidate.values
    assert trees.from_core(stored, task).tolist() == difference.tolist()
    assert np.count_nonzero(stored) == np.count_nonzero(difference) == len(candidate.indices)
    assert candidate.squared_norm == float(difference @ difference)
    again = task.core.candidate(i, candidate.output)
    assert (again.loss, again.values.tolist()) == (candidate.loss, candidate.values.tolist())
    return actions, own


@given(seed=seeds)
@settings(max_examples=3)
def test_a_small_beam_without_merging_is_that_of_a_plain_search(seed):
    for update, beam in itertools.product(UPDATES, (1, 2, 3)):
        trees, task, w, weights = bank(seed, (3, 4, 5), beam=beam, merging=False, update=update)
        w = w + np.random.default_rng(seed).normal(size=w.size)  # no two derivations score alike
        weights = trees.to_core(w, task)
        for i, length in enumerate((3, 4, 5)):
            gold = gold_actions(trees.y[i])
            kept, violations, left = [()], [], None
            for step in range(1, 2 * length):
                longer = [one for one in prefixes(length, step) if one[:-1] in kept]
                kept = sorted(longer, key=lambda one, i=i: -score(trees, i, one, w)[0])[:beam]
                violations.append(score(trees, i, kept[0], w)[0] - score(trees, i, gold[:step], w)[0])
                left = left or (step if gold[:step] not in kept else None)
            chosen = {
                "max-violation": 1 + int(np.argmax(violations)),
                "early": left or len(violations),
                "standard": len(violations),
            }[update]
            found = task.core.find(i, weights, 0.0)
            wrong = heads_of(kept[0], length) != trees.y[i]
            if wrong or violations[chosen - 1] > 1e-9:
                (candidate,) = found.candidates
                assert len(check_candidate(trees, task, i, candidate)[0]) in (chosen, len(violations))
                assert found.bound == pytest.approx(max(violations[chosen - 1], 0), abs=1e-9)
            else:
                assert not found.candidates
            predicted = task.core.predict(weights, 1)
            assert predicted.scores[i] == pytest.approx(score(trees, i, kept[0], w)[0], abs=1e-9)


@given(seed=seeds)
@settings(max_examples=5)
def test_a_wider_beam_with_merging_scores_no_less_than_one_without(seed):
    """With so few words, each merged state stands for all that a beam without merging would hold in its place."""
    _, task, _, weights = bank(seed, (4, 5), beam=UNBOUNDED)
    _, plain, _, _ = bank(seed, (4, 5), beam=4, merging=False)
    assert (task.core.predict(weights, 1).scores >= plain.core.predict(weights, 1).scores).all()


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_the_loss_of_a_prefix_counts_the_words_that_no_whole_tree_after_it_gets_right(length):
    trees = TinyDerivations(0, lengths=(length,))
    whole = all_derivations(length)
    made = {actions: heads_of(actions, length) for actions in whole}
    rng = np.random.default_rng(length)
    every = all_trees(length)
    for heads in every if length < 4 else [every[k] for k in rng.choice(len(every), 8, replace=False)]:
        trees.y[0] = heads
        task = trees.task()
        for steps in range(1, 2 * length):
            for prefix in prefixes(length, steps):
                reachable = [made[actions] for actions in whole if actions[:steps] == prefix]
                lost = sum(all(other[m] != heads[m] for other in reachable) for m in range(length))
                loss = task.core.candidate(0, bytes(prefix)).loss
                assert loss == lost == prefix_loss(prefix, heads)
                best = min(sum(a != b for a, b in zip(other, heads, strict=True)) for other in reachable)
                assert loss <= best
                assert loss == best or steps < 2 * length - 1


def test_at_weights_of_zero_the_candidate_is_a_whole_tree():
    for update in UPDATES:
        trees, task, _, _ = bank(3, (4, 5), update=update, beam=UNBOUNDED)
        for i in range(2):
            for candidate in task.core.find(i, np.zeros(task.core.dimension), 0.0).candidates:
                assert len(candidate.output) == 2 * len(trees.X[i]) - 1
                assert candidate.loss > 0


def test_a_right_tree_by_another_derivation_is_no_candidate_unless_it_is_violated():
    trees = TinyDerivations(0, lengths=(3,), beam=UNBOUNDED)
    trees.y = [(2, 0, 2)]  # gold reduces 1 first; the other derivation shifts all words
    trees.learn()
    task = trees.task()
    other = (SHIFT, SHIFT, SHIFT, 2, 1)
    assert heads_of(other, 3) == (2, 0, 2)
    candidate = task.core.candidate(0, bytes(other))
    assert candidate.loss == 0
    against = np.zeros(task.core.dimension)
    against[candidate.indices] = -candidate.values
    found = task.core.find(0, against, 0.0)
    assert found.bound > 0
    assert len(found.candidates) == 1
    assert not task.core.find(0, -against, 0.0).candidates


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (b"", "no action"),
        (b"\x03", "action 3"),
        (b"\x01", "impossible"),
        (b"\x00\x01", "impossible"),
        (b"\x00\x00\x01\x00", "the wrong length"),
    ],
)
def test_damaged_outputs_are_rejected(output, what):
    trees = TinyDerivations(0, lengths=(2,))
    with pytest.raises(ValueError, match=what):
        trees.task().core.candidate(0, output)


def test_damaged_labels_are_rejected():
    trees = TinyDerivations(0, lengths=(2,), labels=3)
    task = trees.task()
    for output, what in ((b"\x00\x00\x01", "half a label"), (b"\x00\x00\x01\x07\x00", "label 7")):
        with pytest.raises(ValueError, match=what):
            task.core.candidate(0, output)
    assert task.core.candidate(0, b"\x00\x00\x01\x00\x00") is None  # a label of roots
    assert task.core.candidate(0, b"\x00\x00\x01\x01\x00").loss >= 0


@pytest.mark.parametrize("length", [300, 5000])
@both_ways
def test_long_sentences_are_parsed_and_learnt_from(length, merging):
    trees = TinyDerivations(1, lengths=(2,), beam=4, merging=merging)
    words = trees.X[0]
    trees.X = [[words[k % 2] for k in range(length)], [], words[:1]]
    trees.y = [tuple(range(length)), (), (0,)]
    task = trees.task(hash_bits=8)
    weights = np.random.default_rng(0).normal(size=task.core.dimension)
    assert sorted(task.predict(weights).heads.tolist())[0] == 0
    assert task.core.find(0, weights, 0.0).bound >= 0


def test_the_searches_asked_for_are_timed_one_by_one():
    trees = TinyDerivations(1, lengths=(2,))
    trees.X, trees.y = [trees.X[0], trees.X[0] * 150], [trees.y[0], tuple(range(300))]
    task = trees.task(hash_bits=8)
    weights = np.zeros(task.core.dimension)
    seconds = task.core.search_seconds(weights, np.array([0, 1, 0], dtype=np.uint64), 0.0)
    assert seconds.shape == (3,)
    assert (seconds > 0).all()
    with pytest.raises(IndexError, match="no such example"):
        task.core.search_seconds(weights, np.array([2], dtype=np.uint64), 0.0)
