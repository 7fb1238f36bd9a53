"""Scores of trees against a count from their definitions."""

import unicodedata
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.errors import InputError, ScoreWarning
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.parse.metrics import ParseScorer, parse_scores

# Punctuation of several kinds, symbols that are none, and words that only have some.
FORMS = ["a", "b", ",", "''", "...", "–", "«", "।", "$", "+", "<", "`", "a.", ".a", "n't", "__", "“”", "１", "†"]
LABELS = ["nsubj", "nsubj:pass", "obj", "obl:arg:x", "obl", "nsubjx", ":x", "a"]

WORDS = st.lists(
    st.tuples(
        st.sampled_from(FORMS),
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from(LABELS),
        st.sampled_from(LABELS),
    ),
    max_size=30,
)


def is_punctuation(form):
    return len(form) == sum(unicodedata.category(letter).startswith("P") for letter in form)


def share(words, is_right):
    return sum(map(is_right, words)) / len(words) if words else 0.0


def has_right_head(word):
    return word[1] == word[2]


def has_right_arc(word):
    return word[1] == word[2] and word[3].split(":")[0] == word[4].split(":")[0]


def arguments(words):
    forms, gold_heads, heads, gold_labels, labels = zip(*words, strict=True) if words else [()] * 5
    bounds = np.array([0, len(words)])
    return list(forms), bounds, np.array(gold_heads, int), np.array(heads, int), list(gold_labels), list(labels)


def quiet_scores(*given):
    with warnings.catch_warnings(action="ignore"):
        return parse_scores(*given)


@given(WORDS)
def test_scores_are_those_of_the_definitions(words):
    scores = quiet_scores(*arguments(words))
    counted = [word for word in words if not is_punctuation(word[0])]
    assert scores["uas"] == share(counted, has_right_head)
    assert scores["las"] == share(counted, has_right_arc)
    assert scores["uas_punct"] == share(words, has_right_head)
    assert scores["las_punct"] == share(words, has_right_arc)


@given(WORDS)
def test_scores_of_labels_are_of_the_words_that_las_counts(words):
    per_label = quiet_scores(*arguments(words))["per_label"]
    counted = [word for word in words if not is_punctuation(word[0])]
    bare = [(word[3].split(":")[0], word[4].split(":")[0], has_right_arc(word)) for word in counted]
    assert set(per_label) == {name for gold, found, _ in bare for name in (gold, found)}
    for name, row in per_label.items():
        assert row["support"] == sum(gold == name for gold, _, _ in bare)
        assert row["precision"] == share([right for _, found, right in bare if found == name], bool)
        assert row["recall"] == share([right for gold, _, right in bare if gold == name], bool)


@given(WORDS)
def test_numbers_in_any_order_give_the_scores_of_names(words):
    forms, bounds, gold_heads, heads, gold_labels, labels = arguments(words)
    by_name = quiet_scores(forms, bounds, gold_heads, heads, gold_labels, labels)
    every = NumberedLabels(
        np.array(LABELS[::-1], dtype=object), np.array([LABELS[::-1].index(label) for label in labels], np.uint32)
    )
    numbered = (NumberedLabels.of(forms), bounds, gold_heads, heads, NumberedLabels.of(gold_labels), every)
    assert quiet_scores(*numbered) == by_name


def test_label_that_the_model_never_saw_is_an_error():
    labels, numbers = LabelSet.learn(["root", "obj"])
    predicted = NumberedLabels(np.array(labels.names, dtype=object), numbers.astype(np.uint32))
    scores = parse_scores(["a", "b"], np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), ["root", "iobj"], predicted)
    assert (scores["uas"], scores["las"], scores["las_punct"]) == (1, 0.5, 0.5)
    assert scores["per_label"]["iobj"] == {"precision": 0, "recall": 0, "f1": 0, "support": 1}


@pytest.mark.parametrize("given_labels", [(None, None), (["root"], None), (None, ["root"])])
def test_without_labels_there_is_no_las(given_labels):
    scores = parse_scores(["a"], np.array([0, 1]), np.array([0]), np.array([0]), *given_labels)
    assert scores == {"uas": 1.0, "uas_punct": 1.0}


@pytest.mark.parametrize(
    ("forms", "message"), [([], "there is no word, so uas"), ([".", "?!"], "no word but punctuation")]
)
def test_nothing_to_score_is_zero_with_a_warning(forms, message):
    heads = np.arange(len(forms))
    with pytest.warns(ScoreWarning, match=message):
        scores = parse_scores(forms, np.array([0, len(forms)]), heads, heads, ["x"] * len(forms), ["x"] * len(forms))
    assert (scores["uas"], scores["las"], scores["per_label"]) == (0, 0, {})
    assert scores["uas_punct"] == scores["las_punct"] == (1.0 if forms else 0.0)


def test_scorer_scores_again_and_never_warns():
    scorer = ParseScorer(["."], np.array([0, 1]), np.array([0]), ["root"])
    with warnings.catch_warnings(action="error"):
        assert scorer.scores(np.array([0]), ["root:x"])["las_punct"] == 1
        assert scorer.scores(np.array([1]), ["root"])["las_punct"] == 0
    with pytest.warns(ScoreWarning):
        scorer.warn_if_empty()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (0, "3 forms for 2 words"),
        (2, "3 true heads"),
        (3, "3 predicted heads"),
        (4, "3 true labels"),
        (5, "3 predicted"),
    ],
)
def test_sizes_that_do_not_match_are_errors(place, message):
    two = [["a", "b"], np.array([0, 2]), np.array([0, 1]), np.array([0, 1]), ["x", "y"], ["x", "y"]]
    two[place] = np.array([0, 1, 1]) if place in (2, 3) else ["a", "b", "c"]
    with pytest.raises(InputError, match=message):
        parse_scores(*two)
