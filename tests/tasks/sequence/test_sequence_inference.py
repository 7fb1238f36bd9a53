"""Viterbi against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import _core
from marginloom.features import MatrixFeatures
from marginloom.tasks.sequence.task import SequenceTask

REPRESENTATIONS = ["dense", "valued", "indicators"]


problems = st.builds(
    lambda seed, labels, length, start_end, costs: (seed, labels, length, start_end, costs),
    st.integers(0, 2**31),
    st.integers(1, 5),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)


def build(problem, representation):
    seed, labels, length, start_end, costs = problem
    chains = TinyChains(
        seed,
        labels=labels,
        max_length=length,
        start_end=start_end,
        integers=representation == "indicators",
    )
    rng = np.random.default_rng(seed + 1)
    if costs:
        chains.label_costs = np.round(rng.uniform(0, 3, size=labels), 2)
    task = make_task(chains, representation)
    w = np.round(rng.normal(size=chains.dimension), 3)
    return chains, task, w, chains.to_core(w, task.core.stride)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@given(problem=problems)
@settings(max_examples=60, deadline=None)
def test_prediction_has_the_highest_score_of_all_outputs(representation, problem):
    chains, task, w, weights = build(problem, representation)
    found = task.core.predict(weights, 1)
    assert found.example_bounds.tolist() == list(range(len(chains.X) + 1))
    for i in range(len(chains.X)):
        predicted = found.outputs[int(found.output_bounds[i]) : int(found.output_bounds[i + 1])]
        best = max(float(w @ chains.phi(i, y)) for y in chains.outputs(i))
        assert found.scores[i] == pytest.approx(best, abs=1e-5)
        assert float(w @ chains.phi(i, predicted)) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@given(problem=problems, loss_scale=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_found_candidate_is_the_most_violated_output(representation, problem, loss_scale):
    chains, task, w, weights = build(problem, representation)
    for i in range(len(chains.X)):
        gold = chains.phi(i, chains.y[i])

        def violation(y, i=i, gold=gold):
            return loss_scale * chains.loss(i, y) - float(w @ (gold - chains.phi(i, y)))

        worst = max(violation(y) for y in chains.outputs(i))
        search = task.core.find(i, weights, loss_scale)
        bound, candidates = search.bound, search.candidates
        assert bound == pytest.approx(max(worst, 0), abs=1e-5)
        for candidate in candidates:
            y = list(candidate.output)
            assert violation(y) == pytest.approx(worst, abs=1e-5)
            assert candidate.loss == pytest.approx(chains.loss(i, y))
            difference = gold - chains.phi(i, y)
            assert candidate.squared_norm == pytest.approx(float(difference @ difference), abs=1e-4)
            if not candidate.implicit:
                stored = np.zeros(task.core.dimension)
                stored[candidate.indices] = candidate.values
                assert chains.from_core(stored, task.core.stride) == pytest.approx(difference, abs=1e-5)
            if representation != "dense":
                assert task.core.candidate(i, candidate.output).values.tolist() == candidate.values.tolist()


def test_all_instruction_sets_predict_the_same_bits():
    chains = TinyChains(7, sentences=30, labels=5, max_length=12, integers=False, features=9)
    selected = _core.simd_selected()
    try:
        results = []
        for name in _core.simd_available():
            assert _core.simd_select(name)
            task = make_task(chains, "dense")
            w = chains.to_core(np.random.default_rng(3).normal(size=chains.dimension), task.core.stride)
            found = task.core.predict(w, 1)
            results.append((found.outputs.tobytes(), found.scores.tobytes()))
        assert len(set(results)) == 1
    finally:
        _core.simd_select(selected)


def test_long_sentences_and_single_tokens():
    labels = 4
    rng = np.random.default_rng(0)
    lengths = [5000, 1, 0, 3]
    X = rng.normal(size=(sum(lengths), 6))
    task = SequenceTask(MatrixFeatures().fit((X, lengths)), None, labels)
    stride = task.core.stride
    rows = np.zeros((labels + 2 + 6, stride))
    rows[:, :labels] = rng.normal(size=(labels + 2 + 6, labels))
    numbers = task.predict(rows.ravel())
    single = X.astype(np.float32).astype(float) @ rows[labels + 2 :, :labels]
    delta = single[0]
    for t in range(1, 5000):
        delta = single[t] + (delta[:, None] + rows[:labels, :labels]).max(axis=0)
    scores = task.core.predict(rows.ravel(), 1).scores
    assert scores[0] == pytest.approx(delta.max(), rel=1e-12)
    assert numbers[5000] == single[5000].argmax()
    assert numbers.size == sum(lengths)
    assert scores[2] == 0


def test_number_of_threads_does_not_change_predictions():
    chains = TinyChains(5, sentences=300, labels=5, max_length=9)
    task = make_task(chains, "indicators")
    w = chains.to_core(np.random.default_rng(1).normal(size=chains.dimension), task.core.stride)
    assert task.predict(w, 1).tolist() == task.predict(w, 4).tolist()
