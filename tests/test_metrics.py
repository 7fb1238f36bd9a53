"""`marginloom.metrics` has the scores and scorers that cross-validation of taggers needs."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate

import marginloom
from marginloom import InputError, SequenceTagger, metrics

GOLD = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
GUESS = [["D", "N", "N"], ["D", "N"], ["V", "V"]]
FLAT = [["D", "N", "V", "D", "N", "N", "V"], ["D", "N", "N", "D", "N", "V", "V"]]

WORDS = [["Ann", "saw", "Rome"], ["Rome", "saw", "Ann"], ["Ann", "saw", "Ann"], ["Rome", "saw", "Rome"]] * 3
SPANS = [[{"Ann": "B-PER", "saw": "O", "Rome": "B-LOC"}[word] for word in words] for words in WORDS]


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(metrics).failed == 0


def test_flat_scores_are_those_of_scikit_learn_over_all_tokens():
    options = {"average": "macro", "labels": ["D", "N"]}
    assert metrics.flat_accuracy_score(GOLD, GUESS) == reference.accuracy_score(*FLAT)
    assert metrics.flat_precision_score(GOLD, GUESS, **options) == reference.precision_score(*FLAT, **options)
    assert metrics.flat_recall_score(GOLD, GUESS, **options) == reference.recall_score(*FLAT, **options)
    assert metrics.flat_f1_score(GOLD, GUESS, **options) == reference.f1_score(*FLAT, **options)
    assert metrics.flat_fbeta_score(GOLD, GUESS, 2.0, **options) == reference.fbeta_score(*FLAT, beta=2.0, **options)
    assert metrics.flat_classification_report(GOLD, GUESS, labels=["N", "D"], digits=3) == (
        reference.classification_report(*FLAT, labels=["N", "D"], digits=3)
    )


def test_sentences_are_right_as_a_whole():
    assert metrics.sequence_accuracy_score(GOLD, GUESS) == pytest.approx(1 / 3)
    assert metrics.sequence_accuracy_score([np.array(["D", "N"])], [["D", "N"]]) == 1.0
    assert metrics.sequence_accuracy_score([], []) == 0.0


@pytest.mark.parametrize(
    "score",
    [metrics.flat_accuracy_score, metrics.sequence_accuracy_score, metrics.span_f1_score],
)
def test_sentences_of_other_lengths_are_an_error_that_names_them(score):
    with pytest.raises(InputError, match="sentence 1 "):
        score([["O"], ["O", "B-X"]], [["O"], ["O"]])


def test_span_scores_have_averages_and_a_strict_mode():
    gold, guess = [["B-X", "O", "B-Y", "B-Y"]], [["B-X", "O", "I-Y", "O"]]
    assert metrics.span_precision_score(gold, guess) == 1.0
    assert metrics.span_recall_score(gold, guess) == pytest.approx(2 / 3)
    assert metrics.span_f1_score(gold, guess) == pytest.approx(0.8)
    assert metrics.span_f1_score(gold, guess, average="macro") == pytest.approx((1 + 2 / 3) / 2)
    assert metrics.span_f1_score(gold, guess, average="weighted") == pytest.approx((1 + 2 * 2 / 3) / 3)
    assert metrics.span_f1_score(gold, guess, strict="bio") == pytest.approx(0.5)


def test_scores_of_spans_need_labels_that_mark_some():
    with pytest.raises(InputError, match=r"mark no spans .*: D, N, V"):
        metrics.span_f1_score(GOLD, GUESS)
    with pytest.raises(InputError, match="average must be micro, macro, weighted, not 'samples'"):
        metrics.span_f1_score([["B-X"]], [["B-X"]], average="samples")


def test_the_report_of_spans_has_a_row_per_type_and_per_average():
    report = metrics.span_classification_report([["B-X", "O", "B-longer-type"]], [["B-X", "O", "O"]], digits=3)
    rows = {line.split()[0]: line.split()[1:] for line in report.splitlines()[1:] if line}
    assert rows == {
        "X": ["1.000", "1.000", "1.000", "1"],
        "longer-type": ["0.000", "0.000", "0.000", "1"],
        "micro": ["1.000", "0.500", "0.667", "2"],
        "macro": ["0.500", "0.500", "0.500", "2"],
        "weighted": ["0.500", "0.500", "0.500", "2"],
    }


def test_scorers_work_in_cross_validation():
    tagger = SequenceTagger(features="words", C=10.0)
    for scorer in (metrics.flat_accuracy, metrics.sequence_accuracy, metrics.span_f1):
        assert cross_val_score(tagger, WORDS, SPANS, scoring=scorer, cv=3).tolist() == [1.0, 1.0, 1.0]
    found = cross_validate(
        tagger, WORDS, SPANS, scoring={"f1": metrics.span_f1, "sentences": metrics.sequence_accuracy}
    )
    assert {"test_f1", "test_sentences"} < set(found)


def test_scorers_work_in_grid_search():
    search = GridSearchCV(SequenceTagger(features="words"), {"hash_bits": [1, None]}, scoring=metrics.span_f1, cv=2)
    search.fit(WORDS, SPANS)
    assert search.best_params_ == {"hash_bits": None}  # with one bit, words share features
    assert search.score(WORDS, SPANS) == 1.0


@pytest.mark.parametrize("longer", [0, 1], ids=["equal lengths", "different lengths"])
def test_predictions_of_folds_come_back_as_one_row_of_lists(longer):
    words, tags = [list(words) for words in WORDS], [list(tags) for tags in SPANS]
    for place in range(longer):
        words[place].append("Ann")
        tags[place].append("B-PER")
    found = cross_val_predict(SequenceTagger(features="words", C=10.0), words, tags, cv=3)
    assert found.shape == (len(words),)
    assert found.dtype == object
    assert found.tolist() == tags
    assert metrics.span_f1_score(tags, found) == 1.0


def test_predictions_look_like_the_list_of_lists_that_they_are():
    tagger = SequenceTagger(features="words", C=10.0).fit(WORDS, SPANS)
    found = tagger.predict(WORDS)
    assert isinstance(found, list)
    assert found == SPANS
    assert repr(found) == repr(SPANS)
    assert np.concatenate([found, tagger.predict([["Ann"]]), tagger.predict([])]).tolist() == [*SPANS, ["B-PER"]]
    with pytest.raises(TypeError, match="outputs are objects"):
        np.asarray(found, dtype=np.float64)


def test_metrics_are_loaded_on_first_use():
    script = "import sys, marginloom; marginloom.metrics.span_f1; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "True\n"
    assert marginloom.metrics is metrics
