"""What users of sklearn-crfsuite do with their estimator works with `SequenceTagger`."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from marginloom import InputError, SequenceTagger
from marginloom.tasks.sequence.named_weights import NamedWeights

X = [
    [{"bias": 1.0, "word": "Ann", "upper": True}, {"bias": 1.0, "word": "runs", "upper": False}],
    [{"bias": 1.0, "word": "Bob", "upper": True}, {"bias": 1.0, "word": "sleeps", "upper": False}],
    [{"bias": 1.0, "word": "sleeps", "upper": False}],
]
Y = [["B-PER", "O"], ["B-PER", "O"], ["O"]]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(C=1.0).fit(X, Y)


def score(tagger, sentence, labels):
    """The score of a labelling, put together from the weights by name."""
    total = 0.0
    for token, label in zip(sentence, labels, strict=True):
        for name, value in token.items():
            feature, value = (f"{name}:{value}", 1.0) if isinstance(value, str) else (name, float(value))
            total += value * tagger.state_features_.get((feature, label), 0.0)
    return total + sum(tagger.transition_features_.get(pair, 0.0) for pair in pairwise(labels))


def test_weights_by_name_make_up_the_scores(tagger):
    for sentence in X:
        for labels, expected in tagger.predict_k_best([sentence], k=4)[0]:
            assert score(tagger, sentence, labels) == pytest.approx(expected)


def test_only_weights_that_are_not_zero_have_names(tagger):
    weights = tagger.model_.weights
    states, transitions = tagger.state_features_, tagger.transition_features_
    assert len(states) + len(transitions) == np.count_nonzero(weights)
    assert all(states.values())
    assert {label for _, label in states} <= set(tagger.classes_)
    assert {feature for feature, _ in states} <= set(tagger.attributes_)
    assert set(transitions) <= {(a, b) for a in tagger.classes_ for b in tagger.classes_}
    assert Counter(transitions).most_common(1)[0] == max(transitions.items(), key=lambda item: item[1])


def test_attributes_are_the_names_of_the_features(tagger):
    words = ["word:Ann", "word:Bob", "word:runs", "word:sleeps"]
    assert sorted(tagger.attributes_) == sorted(["bias", "upper", *words])
    assert tagger.classes_ == ["B-PER", "O"]


@pytest.mark.parametrize("key", [("nothing", "O"), ("bias", "nothing"), "bias", 3, ("a", "b", "c"), ([], {})])
def test_what_is_not_a_pair_of_names_is_no_key(tagger, key):
    with pytest.raises(KeyError):
        tagger.state_features_[key]
    assert tagger.state_features_.get(key) is None


def test_large_tables_are_looked_at_in_parts():
    table = np.zeros((40_000, 3))
    table[[5, 20_000, 39_999], [0, 1, 2]] = 1.0, -2.0, 3.0
    weights = NamedWeights(table, "row {}".format, ["a", "b", "c"])
    assert dict(weights) == {("row 5", "a"): 1.0, ("row 20000", "b"): -2.0, ("row 39999", "c"): 3.0}
    assert len(weights) == 3
    assert repr(weights).startswith("<3 weights")


def test_weights_have_names_for_every_kind_of_features():
    words = SequenceTagger(features="words", C=1.0).fit([["the", "dog"]], [["D", "N"]])
    assert {label for _, label in words.state_features_} == {"D", "N"}
    matrix = SequenceTagger(C=1.0).fit([np.eye(2)], [["D", "N"]])
    assert matrix.state_features_[("column 0", "D")] > 0


def test_a_single_sentence_is_predicted_alone(tagger):
    assert tagger.predict_single(X[0]) == tagger.predict(X)[0] == ["B-PER", "O"]


def test_a_development_set_may_come_as_two_lists():
    one = SequenceTagger(max_iter=3).fit(X, Y, X_dev=X[:1], y_dev=Y[:1])
    other = SequenceTagger(max_iter=3).fit(X, Y, eval_set=(X[:1], Y[:1]))
    assert [row["scores"] for row in one.history_] == [row["scores"] for row in other.history_]
    assert one.history_[-1]["scores"]["dev"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X_dev": X, "y_dev": Y, "eval_set": (X, Y)}, "eval_set and X_dev mean the same"),
        ({"X_dev": X}, "y_dev is missing"),
        ({"y_dev": Y}, "X_dev is missing"),
    ],
)
def test_a_development_set_is_given_whole_and_once(given, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger().fit(X, Y, **given)
