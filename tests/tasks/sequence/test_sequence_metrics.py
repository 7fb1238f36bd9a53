"""Spans follow conlleval's rules, and scores are the fractions that one counts by hand."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from marginloom.errors import InputError
from marginloom.tasks.multiclass import metrics as class_metrics
from marginloom.tasks.multiclass.metrics import class_scores
from marginloom.tasks.sequence import metrics
from marginloom.tasks.sequence.metrics import sequence_scores
from marginloom.tasks.sequence.spans import is_span_labelling, spans

TYPES = ["PER", "LOC", "B-side"]


def encode(length, found, scheme):
    """Write spans as labels; `scheme` names the prefixes of first, inner, last and only token."""
    first, inner, last, only = scheme
    labels = ["O"] * length
    for kind, start, end in found:
        prefixes = [only] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        labels[start:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    return labels


@st.composite
def sentences_of_spans(draw):
    position, found = 0, []
    for _ in range(draw(st.integers(0, 6))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 4))
        found.append((draw(st.sampled_from(TYPES)), start, position))
    return position + draw(st.integers(0, 2)), found


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(metrics).failed == 0
    assert doctest.testmod(class_metrics).failed == 0


@given(sentences_of_spans(), st.sampled_from(["BIIB", "BIES", "BILU"]))
def test_encoded_spans_come_back_exactly(sentence, scheme):
    length, found = sentence
    assert spans(encode(length, found, scheme)) == found


@given(st.lists(st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIESLU" for kind in "XY")])))
def test_spans_cover_each_typed_token_once_whatever_the_labels(labels):
    covered = [(position, kind) for kind, start, end in spans(labels) for position in range(start, end)]
    assert covered == [(position, label[2:]) for position, label in enumerate(labels) if label != "O"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-X", [("X", 0, 1)]),
        ("B-X I-X O", [("X", 0, 2)]),
        ("B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("I-X I-X O I-X", [("X", 0, 2), ("X", 3, 4)]),
        ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("I-X B-X I-X", [("X", 0, 1), ("X", 1, 3)]),
        ("S-X S-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X E-X E-X", [("X", 0, 2), ("X", 2, 3)]),
        ("B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X L-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("B-X U-X", [("X", 0, 1), ("X", 1, 2)]),
        ("O E-X", [("X", 1, 2)]),
        ("B-A-b I-A-b I-A", [("A-b", 0, 2), ("A", 2, 3)]),
        ("B-X NOUN I-X", [("X", 0, 1), ("X", 2, 3)]),
    ],
)
def test_spans_of_hand_worked_sentences(labels, expected):
    assert spans(labels.split()) == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O B-X I-X", True),
        ("S-X", True),
        ("O U-X L-Y", True),
        ("O", True),
        ("", False),
        ("O B-X NOUN", False),
        ("O B- I-", False),
        ("B I O", True),
        ("B I E S", True),
        ("S E L U O", False),
        ("PER-B PER-I O", True),
        ("PER-B I-PER O", False),
        ("X-PER O", False),
        ("b-X O", False),
    ],
)
def test_span_labellings_are_recognised(labels, expected):
    assert is_span_labelling(iter(labels.split())) is expected


def test_scores_of_a_hand_worked_corpus():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O", "B-PER"]]
    predicted = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "B-ORG", "I-PER"]]
    scores = sequence_scores(gold, predicted)
    # Found: PER, PER, LOC, ORG and PER (an I- starts a span here); of the four true ones all but one LOC.
    assert scores["accuracy"] == pytest.approx(4 / 7)
    assert scores["precision"] == pytest.approx(3 / 5)
    assert scores["recall"] == pytest.approx(3 / 4)
    assert scores["f1"] == pytest.approx(2 / 3)
    assert scores["per_label"] == {
        "LOC": {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "support": 2},
        "ORG": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0},
        "PER": {"precision": pytest.approx(2 / 3), "recall": 1.0, "f1": pytest.approx(0.8), "support": 2},
    }


def test_span_at_another_place_or_of_another_length_is_wrong():
    gold = [["B-X", "I-X", "O"], ["B-X", "O", "O"]]
    predicted = [["B-X", "O", "O"], ["O", "B-X", "O"]]
    scores = sequence_scores(gold, predicted)
    assert (scores["precision"], scores["recall"], scores["f1"]) == (0.0, 0.0, 0.0)


def test_equal_spans_of_different_sentences_count_separately():
    scores = sequence_scores([["B-X"], ["B-X"]], [["B-X"], ["O"]])
    assert (scores["precision"], scores["recall"]) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ([["NOUN", "VERB"], ["NOUN", "NOUN"]], [["NOUN", "NOUN"], ["NOUN", "NOUN"]]),
        ([[0, 1], [2, 2]], [[0, 0], [2, 2]]),
        ([np.array([0, 1]), np.array([2, 2])], [np.array([0, 0]), np.array([2, 2])]),
    ],
)
def test_labels_that_mark_no_spans_are_scored_each(gold, predicted):
    scores = sequence_scores(gold, predicted)
    assert scores["accuracy"] == 0.75
    assert type(scores["accuracy"]) is float
    assert "f1" not in scores
    flat = [[label for labels in sentences for label in labels] for sentences in (gold, predicted)]
    names = sorted({*flat[0], *flat[1]})
    expected = np.array(precision_recall_fscore_support(*flat, labels=names, zero_division=0.0)).T
    assert list(scores["per_label"]) == list(map(str, names))
    assert [list(values.values()) for values in scores["per_label"].values()] == pytest.approx(expected)


@pytest.mark.parametrize("empty", [[], [[]], [[], []]])
def test_without_tokens_every_score_is_zero(empty):
    scores = sequence_scores(empty, empty)
    assert scores.pop("per_label") == {}
    assert scores.pop("confusions") == []
    assert set(scores.values()) == {0.0}
    assert "f1" not in scores


def test_different_lengths_are_an_error_that_names_the_sentence():
    with pytest.raises(InputError, match=r"sentence 1 .* 2 labels in gold and 1 in predicted"):
        sequence_scores([["A"], ["A", "B"]], [["A"], ["A"]])
    with pytest.raises(InputError, match=r"gold has 1 sentences and predicted has 2"):
        sequence_scores([["A"]], [["A"], ["A"]])


def test_flat_list_of_labels_is_refused():
    with pytest.raises(InputError, match=r"sentence 0 is a string"):
        sequence_scores(["NOUN", "VERB"], ["NOUN", "VERB"])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=30))
def test_scores_of_classes_are_those_of_scikit_learn(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))  # true classes 3 and 4 have no name
    scores = class_scores(gold, predicted, ["a", "b", "c"])
    named = [0, 1, 2]
    precision, recall, f1, support = precision_recall_fscore_support(gold, predicted, labels=named, zero_division=0.0)
    occurring = [place for place in named if place in gold or place in predicted]
    assert scores["accuracy"] == pytest.approx(accuracy_score(gold, predicted))
    assert list(scores["per_label"]) == ["abc"[place] for place in occurring]
    for place in occurring:
        values = scores["per_label"]["abc"[place]]
        assert values["precision"] == pytest.approx(precision[place])
        assert values["recall"] == pytest.approx(recall[place])
        assert values["f1"] == pytest.approx(f1[place])
        assert values["support"] == support[place]
    assert scores["macro_f1"] == pytest.approx(np.mean(f1[occurring]))


def test_scores_of_classes_want_as_many_predictions_as_examples():
    with pytest.raises(InputError, match="2 true classes and 1 predicted"):
        class_scores([0, 1], [0], ["a", "b"])
