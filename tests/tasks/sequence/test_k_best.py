"""k-best Viterbi and constraints against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import InputError, SequenceTagger, _core, make_tagging
from marginloom.features import MatrixFeatures
from marginloom.tasks.sequence.constraints import BOUNDARY, forbidden_pairs
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.train import train


def problem(seed, labels=3, length=4, forbidden=()):
    """Random chains whose gold labels respect the forbidden pairs, with weights."""
    chains = TinyChains(seed, labels=labels, max_length=length, integers=False)
    chains.y = [np.array(next(y for y in chains.outputs(i) if allowed(y, forbidden))) for i in range(len(chains.X))]
    encoded = MatrixFeatures().fit((np.vstack(chains.X), chains.lengths))
    gold = np.concatenate(chains.y).astype(np.uint16)
    task = SequenceTask(encoded, gold, labels, forbidden=forbidden)
    w = np.round(np.random.default_rng(seed).normal(size=chains.dimension), 3)
    return chains, task, w, chains.to_core(w, task.core.stride)


def allowed(y, forbidden):
    steps = zip((BOUNDARY, *y), (*y, BOUNDARY), strict=True)
    return not any(tuple(map(int, step)) in set(forbidden) for step in steps)


def outputs_of(task, weights, k):
    labels, scores, labellings = task.predict_k_best(weights, k)
    lengths = np.diff(task._encoded.sentences.astype(int))
    place = 0
    for i, length in enumerate(lengths):
        found = []
        for rank in range(int(labellings[i]), int(labellings[i + 1])):
            found.append((tuple(labels[place : place + length].tolist()), scores[rank]))
            place += length
        yield found


@given(seed=st.integers(0, 2**31), labels=st.integers(1, 4), length=st.integers(1, 4), k=st.integers(1, 30))
@settings(max_examples=80, deadline=None)
def test_k_best_are_the_best_in_order_and_different(seed, labels, length, k):
    chains, task, w, weights = problem(seed, labels, length)
    for i, found in enumerate(outputs_of(task, weights, k)):
        every = sorted((float(w @ chains.phi(i, y)) for y in chains.outputs(i)), reverse=True)
        assert len(found) == min(k, len(every))
        assert len({y for y, _ in found}) == len(found)
        assert [score for _, score in found] == pytest.approx(every[:k], abs=1e-5)
        assert [float(w @ chains.phi(i, y)) for y, _ in found] == pytest.approx(every[:k], abs=1e-5)


@given(seed=st.integers(0, 2**31), labels=st.integers(1, 4), length=st.integers(1, 4), k=st.integers(2, 300))
@settings(max_examples=60, deadline=None)
def test_ties_go_to_the_lowest_label_from_the_end_and_the_first_is_the_1_best(seed, labels, length, k):
    chains = TinyChains(seed, labels=labels, max_length=length)
    task = make_task(chains, "indicators")
    w = np.random.default_rng(seed).integers(0, 2, size=chains.dimension).astype(float)
    weights = chains.to_core(w, task.core.stride)
    first = outputs_of(task, weights, 1)
    for i, found in enumerate(outputs_of(task, weights, k)):
        every = [(-float(w @ chains.phi(i, y)), y[::-1]) for y in chains.outputs(i)]
        assert found == [(y[::-1], -score) for score, y in sorted(every)[:k]]
        assert found[:1] == next(first)


def test_all_instruction_sets_find_the_same_k_best_to_the_bit():
    chains = TinyChains(7, sentences=30, labels=5, max_length=12, integers=False, features=9)
    task = make_task(chains, "dense")
    w = chains.to_core(np.random.default_rng(3).normal(size=chains.dimension), task.core.stride)
    selected = _core.simd_selected()
    try:
        results = set()
        for name in _core.simd_available():
            assert _core.simd_select(name)
            results.add(tuple(array.tobytes() for array in task.predict_k_best(w, 20)))
        assert len(results) == 1
    finally:
        _core.simd_select(selected)


@given(seed=st.integers(0, 2**31), k=st.integers(2, 12), loss_scale=st.sampled_from([0.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_loss_augmented_k_best_are_the_most_violated_outputs(seed, k, loss_scale):
    chains, task, w, weights = problem(seed)
    for i in range(len(chains.X)):
        gold = chains.phi(i, chains.y[i])
        violations = {
            y: loss_scale * chains.loss(i, y) - float(w @ (gold - chains.phi(i, y))) for y in chains.outputs(i)
        }
        best = sorted(violations, key=violations.get, reverse=True)[:k]
        expected = [violations[y] for y in best if y != tuple(chains.y[i])]
        candidates = task.core.find(i, weights, loss_scale, k).candidates
        assert [violations[tuple(c.output)] for c in candidates] == pytest.approx(expected, abs=1e-5)


@given(
    seed=st.integers(0, 2**31),
    k=st.integers(1, 9),
    forbidden=st.sets(
        st.tuples(st.sampled_from([0, 1, 2, BOUNDARY]), st.sampled_from([0, 1, 2, BOUNDARY])).filter(
            lambda pair: pair != (BOUNDARY, BOUNDARY) and 0 not in pair  # label 0 may stand anywhere
        ),
        min_size=1,
        max_size=6,
    ),
)
@settings(max_examples=80, deadline=None)
def test_constrained_outputs_are_the_best_of_those_allowed(seed, k, forbidden):
    chains, task, w, weights = problem(seed, forbidden=sorted(forbidden))
    for i, found in enumerate(outputs_of(task, weights, k)):
        every = [y for y in chains.outputs(i) if allowed(y, forbidden)]
        scores = sorted((float(w @ chains.phi(i, y)) for y in every), reverse=True)
        assert all(allowed(y, forbidden) for y, _ in found)
        assert [score for _, score in found] == pytest.approx(scores[:k], abs=1e-5)
        gold = chains.phi(i, chains.y[i])
        worst = max(chains.loss(i, y) - float(w @ (gold - chains.phi(i, y))) for y in every)
        assert task.core.find(i, weights).bound == pytest.approx(max(worst, 0), abs=1e-5)


def test_contradictory_constraints_are_an_error():
    chains = TinyChains(0, labels=2)
    encoded = MatrixFeatures().fit((np.vstack(chains.X), chains.lengths))
    task = SequenceTask(encoded, None, 2, forbidden=[(BOUNDARY, 0), (BOUNDARY, 1)])
    with pytest.raises(InputError, match="no labelling of sentence"):
        task.predict(np.zeros(task.core.dimension))


@pytest.mark.parametrize(
    ("scheme", "labels", "good", "bad"),
    [
        (
            "bio",
            ["B-X", "B-Y", "I-X", "I-Y", "O"],
            ["B-X I-X O", "O B-X B-X I-X", "B-X I-X I-X B-Y I-Y"],
            ["I-X", "O I-X", "B-X I-Y", "B-X O I-X"],
        ),
        (
            "bioes",
            ["B-X", "E-X", "E-Y", "I-X", "O", "S-X"],
            ["S-X O B-X E-X", "B-X I-X I-X E-X S-X"],
            ["B-X", "B-X I-X", "E-X", "O I-X E-X", "B-X O", "B-X E-Y", "B-X S-X", "S-X E-X"],
        ),
    ],
)
def test_schemes_allow_what_is_well_formed_and_nothing_else(scheme, labels, good, bad):
    pairs = forbidden_pairs(scheme, labels)
    for text in good:
        assert allowed([labels.index(label) for label in text.split()], pairs)
    for text in bad:
        assert not allowed([labels.index(label) for label in text.split()], pairs)


def test_constraints_refuse_labels_that_do_not_fit():
    with pytest.raises(InputError, match="need labels O"):
        forbidden_pairs("bio", ["NOUN", "O"])
    with pytest.raises(InputError, match="not a label"):
        forbidden_pairs([("A", "Z")], ["A", "B"])
    with pytest.raises(InputError, match="none, bio, bioes"):
        forbidden_pairs("iob", ["O"])


def test_predictions_of_a_constrained_tagger_are_well_formed():
    words, tags = make_tagging(200)
    y = [[f"B-{tag}" if t % 3 == 0 else "O" for t, tag in enumerate(sentence)] for sentence in tags]
    y = [[f"I-{s[t - 1][2:]}" if t and s[t - 1].startswith("B-") else label for t, label in enumerate(s)] for s in y]
    tagger = SequenceTagger(features="words", constraints="bio", C=0.01, max_iter=2).fit(words, y)
    assert any(label.startswith("I-") for sentence in tagger.predict(words) for label in sentence)
    for labellings in tagger.predict_k_best(words[:40], k=4):
        assert [score for _, score in labellings] == sorted((score for _, score in labellings), reverse=True)
        for sentence, _ in labellings:
            for before, label in zip(["O", *sentence], sentence, strict=False):
                assert not label.startswith("I-") or before[2:] == label[2:]


def test_gold_that_breaks_the_constraints_is_named():
    with pytest.raises(InputError, match=r"sentence 1, token 0: I-X after <s>; sentence 1, token 2: I-X after O"):
        SequenceTagger(features="words", constraints="bio").fit([["a"], ["b", "c", "d"]], [["O"], ["I-X", "O", "I-X"]])


def test_constrained_training_reaches_the_constrained_optimum():
    forbidden = [(0, 1), (BOUNDARY, 2)]
    chains, task, _, _ = problem(3, forbidden=forbidden)
    free = make_task(chains, "dense")
    constrained = train(task, C=1.0, tol=1e-4, max_iter=500)
    assert constrained.certificate.gap <= 1e-4
    w = chains.from_core(constrained.weights, task.core.stride)
    slacks = [
        max(
            chains.loss(i, y) - w @ (chains.phi(i, chains.y[i]) - chains.phi(i, y))
            for y in chains.outputs(i)
            if allowed(y, forbidden)
        )
        for i in range(len(chains.X))
    ]
    assert 0.5 * w @ w + sum(max(s, 0) ** 2 for s in slacks) == pytest.approx(constrained.certificate.primal, rel=1e-5)
    assert constrained.certificate.primal < train(free, C=1.0, tol=1e-4, max_iter=500).certificate.dual
