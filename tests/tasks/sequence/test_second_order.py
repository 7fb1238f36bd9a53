"""Exact search of order 2 against enumeration."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chain_tasks import ObservedChains, make_task
from support.rooms import MB, set_room

from marginloom import InputError, InputWarning, SequenceTagger, make_tagging
from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.tasks.sequence import searches
from marginloom.tasks.sequence.constraints import BOUNDARY

REACHES = [BEFORE, BEFORE_THAT, BOTH, BOTH]

problems = st.tuples(
    st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 5), st.integers(0, 4), st.booleans(), st.booleans()
)


def build(problem, representation="indicators", whole=False, **options):
    seed, labels, length, observations, start_end, costs = problem
    chains = ObservedChains(
        seed,
        labels=labels,
        max_length=length,
        start_end=start_end,
        integers=representation == "indicators",
        reaches=REACHES[:observations],
        triples=True,
    )
    rng = np.random.default_rng(seed)
    if costs:
        chains.label_costs = np.round(rng.uniform(0, 3, size=labels), 2)
    task = make_task(chains, representation, order=2, **options)
    w = rng.integers(-2, 3, size=chains.dimension) / 2 if whole else np.round(rng.normal(size=chains.dimension), 3)
    return chains, task, w, chains.to_core(w, task.core.stride)


def outputs(chains, task, weights):
    return np.split(task.predict(weights), np.cumsum(chains.lengths)[:-1])


@pytest.mark.parametrize("representation", ["indicators", "valued", "dense"])
@given(problem=problems)
@settings(max_examples=80, deadline=None)
def test_predictions_are_the_best_outputs(representation, problem):
    if representation == "dense":
        problem = (*problem[:3], 0, *problem[4:])
    chains, task, w, weights = build(problem, representation)
    scores = task.core.predict(weights, 1).scores
    for i, y in enumerate(outputs(chains, task, weights)):
        best = max(float(w @ chains.phi(i, other)) for other in chains.outputs(i))
        assert scores[i] == pytest.approx(best, abs=1e-5)
        assert float(w @ chains.phi(i, y)) == pytest.approx(best, abs=1e-5)


@given(problem=problems)
@settings(max_examples=80, deadline=None)
def test_ties_go_to_the_lowest_label_from_the_end(problem):
    chains, task, w, weights = build(problem, whole=True)
    for i, y in enumerate(outputs(chains, task, weights)):
        every = [(-float(w @ chains.phi(i, other)), other[::-1]) for other in chains.outputs(i)]
        assert tuple(y.tolist()) == min(every)[1][::-1]


@pytest.mark.parametrize("representation", ["indicators", "dense"])
@given(problem=problems, loss_scale=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_found_candidate_is_the_most_violated_output(representation, problem, loss_scale):
    if representation == "dense":
        problem = (*problem[:3], 0, *problem[4:])
    chains, task, w, weights = build(problem, representation)
    for i in range(len(chains.X)):
        gold = chains.phi(i, chains.y[i])

        def violation(y, i=i, gold=gold):
            return loss_scale * chains.loss(i, y) - float(w @ (gold - chains.phi(i, y)))

        worst = max(violation(y) for y in chains.outputs(i))
        search = task.core.find(i, weights, loss_scale)
        assert search.bound == pytest.approx(max(worst, 0), abs=1e-5)
        for candidate in search.candidates:
            y = list(candidate.output)
            assert violation(y) == pytest.approx(worst, abs=1e-5)
            assert candidate.loss == pytest.approx(chains.loss(i, y))
            difference = gold - chains.phi(i, y)
            assert candidate.squared_norm == pytest.approx(float(difference @ difference), abs=1e-4)
            if not candidate.implicit:
                stored = np.zeros(task.core.dimension)
                stored[candidate.indices] = candidate.values
                assert chains.from_core(stored, task.core.stride) == pytest.approx(difference, abs=1e-5)


@given(seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_constraints_hold(seed):
    chains, task, w, weights = build((seed, 3, 4, 4, True, False))
    chains.y = [np.zeros_like(y) for y in chains.y]
    chains.forbidden = [(0, 1), (2, 2), (BOUNDARY, 2), (1, BOUNDARY)]
    task = make_task(chains, "indicators", order=2)
    for i, y in enumerate(outputs(chains, task, weights)):
        assert chains.allows(y)
        best = max(float(w @ chains.phi(i, other)) for other in chains.outputs(i))
        assert float(w @ chains.phi(i, y)) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_leaving_prefixes_out_loses_nothing_in_long_sentences(scale):
    labels, length = 9, 40
    chains = ObservedChains(4, sentences=6, labels=labels, max_length=length, reaches=REACHES, triples=True, share=0.1)
    task = make_task(chains, "indicators", order=2)
    rng = np.random.default_rng(1)
    w = rng.normal(size=chains.dimension)
    w[: labels**2] *= scale
    scores = task.core.predict(chains.to_core(w, task.core.stride), 1).scores
    combinations = dict(zip(chains._combinations(chains.histories), w[w.size - len(chains.histories) :], strict=True))
    pairs = w[: labels**2].reshape(labels, labels)
    begin = labels**2 + 2 * labels
    emissions = w[begin : begin + chains.features * labels].reshape(-1, labels)
    for i, sentence in enumerate(chains.X):
        single = sentence @ emissions
        if len(sentence) == 1:
            assert scores[i] == pytest.approx(single.max())
            continue
        table = None  # by the label before and the label
        for t in range(1, len(sentence)):
            steps = np.zeros((labels, labels, labels))
            for (o, far, near, label), weight in combinations.items():
                if o == len(REACHES) or o in chains.observed[i][t]:
                    at = slice(None) if far == labels else far, slice(None) if near == labels else near, label
                    steps[at] += weight if t >= 2 or far == labels else 0
            if table is None:
                table = single[0][:, None] + steps[0] + pairs + single[t]
            else:
                table = (table[:, :, None] + steps).max(axis=0) + pairs + single[t]
        assert scores[i] == pytest.approx(table.max(), rel=1e-10)


WORDS, TAGS = make_tagging(40, seed=0)


@pytest.mark.parametrize("features", ["words", None])
def test_a_tagger_is_certified_and_the_same_from_its_file(tmp_path, features):
    X = WORDS if features else [[{"w": word} for word in sentence] for sentence in WORDS]
    tagger = SequenceTagger("dcd-ssvm", features=features, order=2, max_iter=30).fit(X, TAGS)
    assert tagger.model_.certificate.exact
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    assert loaded.predict(X) == tagger.predict(X)
    assert loaded.get_params()["order"] == 2
    names = {entry["feature"] for entry in loaded.model_.strongest(100)}
    assert any(name.count(" ") == 2 and name.startswith("after ") for name in names)


def test_k_best_is_rejected():
    tagger = SequenceTagger("averaged-perceptron", features="words", order=2, max_iter=2).fit(WORDS, TAGS)
    with pytest.raises(InputError, match="order 2 finds the best labelling only"):
        tagger.predict_k_best(WORDS[:1])
    with pytest.raises(InputError, match="kbest-mira needs k-best inference, and search of order 2 finds the best"):
        SequenceTagger("kbest-mira", features="words", order=2).fit(WORDS, TAGS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 3}, "order must be 1 or 2"),
        ({"order": True}, "order must be 1 or 2"),
        ({"update": "early"}, "there is none: give a beam"),
        ({"beam": 8, "update": "late"}, "update must be"),
        ({"beam": 0}, "beam must be"),
    ],
)
def test_options_that_do_not_fit_together(options, said):
    with pytest.raises(InputError, match=said):
        SequenceTagger("averaged-perceptron", features="words", **options).fit(WORDS, TAGS)


def test_memory_is_counted_before_training(monkeypatch):
    set_room(monkeypatch, 2 * MB)
    X, y = [["a", "b"] * 400], [[f"L{n % 40}" for n in range(800)]]
    with pytest.raises(InputError, match=r"buffers .* search with a beam \(--beam 8"):
        SequenceTagger("averaged-perceptron", features="words", order=2).fit(X, y)


def test_hours_of_exact_search_are_warned_of_before_training(monkeypatch):
    monkeypatch.setattr(searches, "_SECONDS_PER_TRIPLE", 1.0)
    X, y = [["a", "b"] * 40], [[f"L{n % 40}" for n in range(80)]]
    with pytest.warns(InputWarning, match=r"1,600 pairs of labels for each of 80 tokens, .* 1,422 hours a pass; a be"):
        SequenceTagger("averaged-perceptron", features="words", order=2, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SequenceTagger("averaged-perceptron", features="words", beam=8, max_iter=1).fit(X, y)
