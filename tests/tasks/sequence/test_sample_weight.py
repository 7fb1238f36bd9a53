"""Weights of sentences, costs of labels, and weights at the ends of a sentence."""

import numpy as np
import pytest
from support.pairs import with_effect

from marginloom import SequenceTagger, make_tagging

# Short sentences have few candidates, so that the optimum is reached to many digits in no time.
WORDS, TAGS = ([sentence[:4] for sentence in part] for part in make_tagging(12, seed=0))
ALGORITHMS = ["dcd-ssvm", "dcd-light", "perceptron", "averaged-perceptron"]


def fit(X, y, sample_weight=None, algorithm="dcd-ssvm", **parameters):
    options = {"features": "words", "C": 0.3, "tol": 1e-7, "max_iter": 20_000, **parameters}
    return SequenceTagger(algorithm, **with_effect(algorithm, options)).fit(X, y, sample_weight=sample_weight)


def emissions(tagger):
    """Return weights by feature and label, which are the same in any order of features and sentences."""
    entries = tagger.tagger_.strongest(tagger.tagger_.weights.size)
    return {(entry["feature"], entry["label"]): entry["weight"] for entry in entries}


def close(one, other, tolerance=5e-3):
    one, other = emissions(one), emissions(other)
    keys = one.keys() | other.keys()
    return max(abs(one.get(key, 0) - other.get(key, 0)) for key in keys) < tolerance


def test_weight_zero_drops_the_sentence():
    weights = np.ones(12)
    weights[[2, 7]] = 0
    kept = [i for i in range(12) if weights[i]]
    dropped = fit(WORDS, TAGS, weights)
    without = fit([WORDS[i] for i in kept], [TAGS[i] for i in kept])
    assert close(dropped, without)
    assert dropped.certificate_.primal == pytest.approx(without.certificate_.primal, rel=1e-6)
    assert not close(dropped, fit(WORDS, TAGS))


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron"])
def test_weight_zero_drops_the_sentence_from_the_perceptron(algorithm):
    """In the same order the very same updates happen."""
    weights = [1.0] * 11 + [0.0]
    options = {"algorithm": algorithm, "engine": {"shuffle": False}, "max_iter": 5}
    # The last sentence's words stay features, so that the weights are the same ones.
    dropped = fit([*WORDS[:11], WORDS[0]], [*TAGS[:11], TAGS[0]], weights, **options)
    without = fit(WORDS[:11], TAGS[:11], **options)
    assert emissions(dropped) == emissions(without)


def test_label_of_a_dropped_sentence_can_still_be_predicted():
    tagger = fit([["a"], ["b"]], [["P"], ["Q"]], [1, 0])
    assert tagger.classes_ == ["P", "Q"]
    assert tagger.history_[-1]["inferences"] == tagger.n_iter_


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light"])
def test_weight_two_is_the_sentence_twice(algorithm):
    weights = np.ones(12)
    weights[:4] = 2
    weighted = fit(WORDS, TAGS, weights, algorithm)
    doubled = fit(WORDS + WORDS[:4], TAGS + TAGS[:4], algorithm=algorithm)
    assert weighted.certificate_.primal == pytest.approx(doubled.certificate_.primal, rel=1e-6)
    assert close(weighted, doubled)
    assert not close(weighted, fit(WORDS, TAGS, algorithm=algorithm))


def test_weights_of_all_sentences_are_a_factor_of_the_cost():
    assert close(fit(WORDS, TAGS, np.full(12, 3.0)), fit(WORDS, TAGS, C=0.9))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weight_one_changes_nothing(algorithm):
    plain = fit(WORDS, TAGS, algorithm=algorithm, max_iter=5)
    ones = fit(WORDS, TAGS, [1] * 12, algorithm=algorithm, max_iter=5)
    assert np.array_equal(plain.tagger_.weights, ones.tagger_.weights)


def test_weight_of_a_sentence_scales_the_updates_of_the_perceptron():
    plain = fit([["a", "b"]], [["P", "Q"]], algorithm="perceptron", max_iter=1)
    triple = fit([["a", "b"]], [["P", "Q"]], [3.0], algorithm="perceptron", max_iter=1)
    assert np.count_nonzero(plain.tagger_.weights) > 0
    assert np.array_equal(3 * plain.tagger_.weights, triple.tagger_.weights)


@pytest.mark.parametrize(("costs", "expected"), [({"P": 5.0}, "P"), ({"Q": 5.0}, "Q")])
def test_dearer_label_wins_where_the_data_is_undecided(costs, expected):
    X, y = [["a"], ["a"]], [["P"], ["Q"]]
    assert fit(X, y, C=10.0, label_costs=costs).predict([["a"]]) == [[expected]]


def test_equal_costs_are_hamming_loss():
    plain = fit(WORDS, TAGS, max_iter=5)
    ones = fit(WORDS, TAGS, max_iter=5, label_costs=dict.fromkeys(plain.classes_, 1.0))
    assert np.array_equal(plain.tagger_.weights, ones.tagger_.weights)


def test_costs_of_integer_labels():
    tagger = fit([["a"], ["a"]], [[3], [8]], C=10.0, label_costs={8: 4.0})
    assert tagger.predict([["a"]]) == [[8]]


def test_scaled_costs_scale_the_optimum():
    """Twice the loss makes twice the weights: slack, weights and margins are all linear in it."""
    labels = fit(WORDS, TAGS, max_iter=1).classes_
    plain, twice = fit(WORDS, TAGS), fit(WORDS, TAGS, label_costs=dict.fromkeys(labels, 2.0))
    assert twice.certificate_.primal == pytest.approx(4 * plain.certificate_.primal, rel=1e-6)


def test_ends_of_sentences_decide_where_words_do_not():
    X = [["a", "a", "a"]] * 3
    y = [["F", "M", "L"]] * 3
    tagger = fit(X, y, start_end=True, C=10.0)
    assert tagger.predict([["new", "new", "new"]]) == [["F", "M", "L"]]
    features = {entry["feature"] for entry in tagger.tagger_.strongest(1000)}
    assert {"at the start", "at the end"} <= features
    plain = fit(X, y, C=10.0)
    assert {"at the start", "at the end"} & {e["feature"] for e in plain.tagger_.strongest(1000)} == set()


def test_ends_of_sentences_survive_saving(tmp_path):
    tagger = fit([["a", "b"]], [["P", "Q"]], start_end=True)
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.start_end is True
    assert loaded.predict([["x", "x"]]) == tagger.predict([["x", "x"]])
