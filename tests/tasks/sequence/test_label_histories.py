"""Templates that join labels before a token with observations: which weights there are, and search with them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chain_tasks import ObservedChains, make_task

from marginloom import InputError, SequenceTagger, make_tagging
from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.tasks.sequence.constraints import BOUNDARY
from marginloom.tasks.sequence.histories import Histories

problems = st.tuples(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.booleans())


def build(problem, forbidden=()):
    seed, labels, length, observations, start_end = problem
    chains = ObservedChains(
        seed, labels=labels, max_length=length, start_end=start_end, reaches=[BEFORE] * observations
    )
    chains.forbidden = list(forbidden)
    task = make_task(chains, "indicators")
    w = np.round(np.random.default_rng(seed).normal(size=chains.dimension), 3)
    return chains, task, w, chains.to_core(w, task.core.stride)


@given(problem=problems, k=st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_predictions_are_the_best_outputs_in_order(problem, k):
    chains, task, w, weights = build(problem)
    labels, scores, bounds = task.predict_k_best(weights, k)
    place = 0
    for i, length in enumerate(chains.lengths):
        every = sorted((float(w @ chains.phi(i, y)) for y in chains.outputs(i)), reverse=True)
        found = range(int(bounds[i]), int(bounds[i + 1]))
        assert scores[found] == pytest.approx(every[:k], abs=1e-5)
        for rank in found:
            assert float(w @ chains.phi(i, labels[place : place + length])) == pytest.approx(scores[rank], abs=1e-5)
            place += length


@given(problem=problems, loss_scale=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_found_candidate_is_the_most_violated_output(problem, loss_scale):
    chains, task, w, weights = build(problem)
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
            difference = gold - chains.phi(i, y)
            assert candidate.squared_norm == pytest.approx(float(difference @ difference), abs=1e-4)
            stored = np.zeros(task.core.dimension)
            stored[candidate.indices] = candidate.values
            assert chains.from_core(stored, task.core.stride) == pytest.approx(difference, abs=1e-5)
            assert task.core.candidate(i, candidate.output).values.tolist() == candidate.values.tolist()


@pytest.mark.parametrize("labels", [3, 40])
def test_constraints_hold_and_the_best_allowed_path_is_found_however_labels_are_chosen(labels):
    forbidden = [(0, 1), (1, 1), (BOUNDARY, 2)]
    chains, task, w, weights = build((5, labels, 2, 3, False))
    chains.y = [np.zeros_like(y) for y in chains.y]
    chains.forbidden = forbidden
    task = make_task(chains, "indicators")
    predicted = np.split(task.predict(weights), np.cumsum(chains.lengths)[:-1])
    scores = task.core.predict(weights, 1).scores
    for i, (y, score) in enumerate(zip(predicted, scores, strict=True)):
        assert chains.allows(y)
        best = max(float(w @ chains.phi(i, other)) for other in chains.outputs(i))
        assert score == pytest.approx(best, abs=1e-5)
        assert float(w @ chains.phi(i, y)) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("triples", [False, True])
def test_weights_are_those_of_the_combinations_that_training_has(triples):
    chains = ObservedChains(
        3, labels=3, max_length=5, sentences=8, reaches=[BEFORE, BEFORE_THAT, BOTH, BEFORE], triples=triples
    )
    expected = set()
    for i, y in enumerate(chains.y):
        for t in range(1, len(y)):
            for o in [*chains.observed[i][t], *([4] if triples else [])]:
                reach = chains.reaches[o] if o < 4 else BOTH
                if t >= 2 or reach == BEFORE:
                    far = None if reach == BEFORE else int(y[t - 2])
                    near = None if reach == BEFORE_THAT else int(y[t - 1])
                    before = (near,) if reach == BEFORE else (far, near)
                    expected.add((o if o < 4 else None, before, int(y[t])))
    learnt = chains.learnt()
    assert set(learnt.named([0, 1, 2])) == expected
    assert len(learnt) == len(expected) > 10


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"offsets": [0, 9]}, "offsets of observations"),
        ({"offsets": [0, 0, 2]}, "those of 2 observations, not 1"),
        ({"labels": [0, 5]}, "beyond the number of labels"),
        ({"before": [6, 99]}, "beyond the number of labels"),
        ({"before": [8, 8]}, "beyond the number of labels"),
        ({"before": [7, 6]}, "must ascend"),
        ({"before": [6, 6], "labels": [1, 1]}, "must ascend"),
        ({"before": [1, 6]}, "differ in what they consist of"),
        ({"before": [6]}, "differ in length"),
    ],
)
def test_a_damaged_table_is_an_error(damage, said):
    arrays = {"offsets": [0, 2], "before": [6, 7], "labels": [1, 0]} | damage
    tensors = {
        "histories_observations": np.array(arrays["offsets"], np.uint64),
        "histories_before": np.array(arrays["before"], np.uint32),
        "histories_labels": np.array(arrays["labels"], np.uint16),
    }
    with pytest.raises(ValueError, match=said):
        Histories.load(tensors, 2, 1, False)


@pytest.fixture
def templates(tmp_path):
    def write(text, name="own.txt"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


WORDS, TAGS = make_tagging(40, seed=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("word[0]\nlabel[-1]\n", r"line 2: found 'label\[-1\]', expected something observed as well"),
        ("word[0]\nlabel[-2] label[-1]\n", r"line 2: .* expected something observed as well"),
        ("label[0] word[0]\n", r"line 1: .* expected label\[-1\] or label\[-2\]"),
        ("label[-1] label[-1] word[0]\n", "each at most once"),
        ("label word[0]\n", "something like label"),
    ],
)
def test_wrong_templates_name_the_line(templates, text, said):
    with pytest.raises(InputError, match=said):
        SequenceTagger(features=templates(text)).fit(WORDS, TAGS)


def test_a_tagger_of_first_order_does_not_read_two_labels_back(templates):
    path = templates("word[0]\nlabel[-2] word[0]\n")
    with pytest.raises(InputError, match=r"own.txt, line 2: the template .* reads the label two before the token"):
        SequenceTagger(features=path).fit(WORDS, TAGS)


@pytest.mark.parametrize("options", [{}, {"hash_bits": 8}, {"min_count": 2}])
def test_a_tagger_is_the_same_from_its_file_and_names_what_it_learnt(templates, tmp_path, options):
    tagger = SequenceTagger("dcd-ssvm", features=templates("word[0]\nlabel[-1] lower[0]\n"), max_iter=20, **options)
    tagger.fit(WORDS, TAGS)
    assert tagger.model_.certificate.exact
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    assert loaded.predict(WORDS) == tagger.predict(WORDS)
    assert loaded.predict_k_best(WORDS[:3], 2) == tagger.predict_k_best(WORDS[:3], 2)
    names = {entry["feature"] for entry in loaded.model_.strongest(30)}
    assert names == {entry["feature"] for entry in tagger.model_.strongest(30)}
    assert any(name.startswith("after ") and ", lower[0]=" in name for name in names)


def test_only_combinations_of_training_count_where_observations_are_new(templates):
    tagger = SequenceTagger("dcd-ssvm", features=templates("word[0]\nlabel[-1] word[0]\n"), max_iter=20)
    tagger.fit(WORDS, TAGS)
    histories = tagger.model_.histories
    pairs = {(before, after) for sentence in TAGS for before, after in itertools.pairwise(sentence)}
    assert {(*before, label) for _, before, label in histories.named(tagger.classes_)} <= pairs
    assert tagger.predict([["never", "seen"]])


def test_sentences_that_are_left_out_leave_their_observations_out(templates):
    path = templates("word[0]\nlabel[-1] word[0]\n")
    X = [["a", "b"], ["c", "d"], ["a", "d"]]
    y = [["O", "B-X"], ["O", "I-X"], ["B-X", "I-X"]]
    tagger = SequenceTagger("dcd-ssvm", features=path, constraints="bio", invalid_gold="skip")
    with pytest.warns(UserWarning, match="skipped 1 of 3"):
        tagger.fit(X, y)
    assert {(b, c) for _, (b,), c in tagger.model_.histories.named(tagger.classes_)} == {("O", "B-X"), ("B-X", "I-X")}


def test_long_sentences_with_many_labels():
    labels = 40  # from 32 on not every label before is tried
    chains = ObservedChains(6, sentences=3, labels=labels, max_length=60, reaches=[BEFORE] * 3, share=0.1)
    task = make_task(chains, "indicators")
    rng = np.random.default_rng(0)
    for scale in (0.3, 3.0):
        w = rng.normal(size=chains.dimension) * np.where(np.arange(chains.dimension) < labels**2, scale, 1)
        found = task.core.predict(chains.to_core(w, task.core.stride), 1)
        pairs = labels**2
        emissions = w[pairs + 2 * labels : pairs + (2 + chains.features) * labels].reshape(-1, labels)
        tail = w[w.size - len(chains.histories) :]
        for i, length in enumerate(chains.lengths):
            single = chains.X[i] @ emissions
            delta = single[0]
            for t in range(1, length):
                steps = w[:pairs].reshape(labels, labels).copy()
                for (o, _, near, label), weight in zip(chains._combinations(chains.histories), tail, strict=True):
                    if o in chains.observed[i][t]:
                        steps[near, label] += weight
                delta = single[t] + (delta[:, None] + steps).max(axis=0)
            assert found.scores[i] == pytest.approx(delta.max(), rel=1e-12)
            y = found.outputs[int(found.output_bounds[i]) : int(found.output_bounds[i + 1])]
            assert float(w @ chains.phi(i, y)) == pytest.approx(found.scores[i], rel=1e-9)


def test_the_named_set_with_observed_transitions_has_weights_for_them():
    tagger = SequenceTagger("dcd-ssvm", features="ner-observed", max_iter=20).fit(WORDS, TAGS)
    plain = SequenceTagger("dcd-ssvm", features="ner", max_iter=20).fit(WORDS, TAGS)
    assert tagger.model_.feature_count == plain.model_.feature_count
    assert len(tagger.model_.histories) > 0
    assert tagger.model_.certificate.exact
    names = {entry["feature"] for entry in tagger.model_.strongest(200)}
    assert any(", shortshape[-1] shortshape[0] shortshape[1]=" in name for name in names)


def test_templates_may_all_read_labels(templates):
    tagger = SequenceTagger("dcd-ssvm", features=templates("label[-1] word[0]\n"), max_iter=100).fit(WORDS, TAGS)
    assert tagger.model_.feature_count == 0
    assert tagger.model_.certificate.gap <= 0.01
    assert tagger.score(WORDS, TAGS) > 0.5
