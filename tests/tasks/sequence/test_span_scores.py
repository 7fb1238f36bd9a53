"""Spans are scored whatever the data hold: strictly by a scheme, without types, with suffixes, and with none at all."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from marginloom import InputError, SequenceTagger
from marginloom.errors import ScoreWarning
from marginloom.tasks.sequence.metrics import sequence_scores
from marginloom.tasks.sequence.spans import SCHEMES, spans

#: What a span looks like in each scheme, as a pattern of prefixes.
WELL_FORMED = {"bio": "BI*", "bioes": "S|BI*E", "bilou": "U|BI*L", "ioe": "I*E"}

LABELS = ["O", *(f"{prefix}-{kind}" for prefix in "BIESLU" for kind in "XY")]


def well_formed_spans(labels, scheme):
    """All stretches of one type that look like a span of the scheme and are not within a longer one."""
    found = []
    for start, end in itertools.combinations(range(len(labels) + 1), 2):
        stretch = labels[start:end]
        kinds = {label[2:] for label in stretch}
        if kinds in ({"X"}, {"Y"}) and re.fullmatch(WELL_FORMED[scheme], "".join(label[0] for label in stretch)):
            found.append((*kinds, start, end))
    longer = [(a, b) for _, a, b in found]
    return [span for span in found if not any(a <= span[1] and span[2] <= b and (a, b) != span[1:] for a, b in longer)]


@given(st.lists(st.sampled_from(LABELS), max_size=9), st.sampled_from(list(SCHEMES)))
def test_strict_spans_are_the_longest_that_look_like_one(labels, scheme):
    assert spans(labels, strict=scheme) == well_formed_spans(labels, scheme)


@given(st.lists(st.sampled_from(LABELS), max_size=9), st.sampled_from(list(SCHEMES)))
def test_labels_that_are_well_formed_have_the_same_spans_strictly(labels, scheme):
    """Written again in the scheme, spans come back by either rule."""
    found = spans(labels)
    first, inner, last, only = SCHEMES[scheme]
    written = ["O"] * len(labels)
    for kind, start, end in found:
        prefixes = [only] if end - start == 1 else [first, *[inner] * (end - start - 2), last]
        written[start:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    assert spans(written, strict=scheme) == found


def test_strict_scores_leave_out_what_is_not_well_formed():
    gold = [["B-PER", "I-PER", "O", "B-LOC"]]
    predicted = [["B-PER", "I-PER", "O", "I-LOC"]]
    assert sequence_scores(gold, predicted)["f1"] == 1.0
    strict = sequence_scores(gold, predicted, strict="bio")
    assert (strict["precision"], strict["recall"]) == (1.0, 0.5)
    assert strict["per_label"]["LOC"]["support"] == 1


def test_predictions_of_another_scheme_are_not_well_formed():
    assert sequence_scores([["B-X", "O"]], [["S-X", "O"]])["f1"] == 1.0
    assert sequence_scores([["B-X", "O"]], [["S-X", "O"]], strict="bio")["f1"] == 0.0


@pytest.mark.parametrize(
    ("gold", "strict", "message"),
    [
        (["B-X", "E-X"], "bio", "gold labels are not of this scheme: E-X"),
        (["NOUN", "VERB"], "bio", "gold labels are not of this scheme: NOUN, VERB"),
        (["B-X"], "IOB2", "strict must be one of the schemes bio, bioes, bilou, ioe, not 'IOB2'"),
    ],
)
def test_a_scheme_that_is_not_that_of_the_right_labels_is_refused(gold, strict, message):
    with pytest.raises(InputError, match=message):
        sequence_scores([gold], [gold], strict=strict)


def test_untyped_labels_have_spans_of_one_type():
    scores = sequence_scores([["B", "I", "O", "B"]], [["B", "I", "O", "O"]])
    assert (scores["precision"], scores["recall"], scores["f1"]) == (1.0, 0.5, pytest.approx(2 / 3))
    assert scores["per_label"] == {"_": {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "support": 2}}
    assert spans(["B", "I", "B"]) == [("_", 0, 2), ("_", 2, 3)]


@pytest.mark.filterwarnings("ignore::marginloom.errors.ScoreWarning")
@given(st.lists(st.lists(st.sampled_from(LABELS), max_size=6), min_size=1), st.data())
def test_suffixes_mean_what_prefixes_mean(gold, data):
    predicted = [[data.draw(st.sampled_from(LABELS)) for _ in labels] for labels in gold]

    def turned(sentences):
        return [["-".join(reversed(label.split("-"))) for label in labels] for labels in sentences]

    scores, again = sequence_scores(gold, predicted), sequence_scores(turned(gold), turned(predicted))
    assert sorted(pair["count"] for pair in again.pop("confusions")) == sorted(
        pair["count"] for pair in scores.pop("confusions")
    )
    assert again == scores


def test_types_may_have_hyphens_in_either_style():
    assert spans(["B-A-b", "I-A-b"]) == [("A-b", 0, 2)]
    assert spans(["A-b-B", "A-b-I"]) == [("A-b", 0, 2)]


@pytest.mark.parametrize(("predicted", "precision"), [(["O", "O"], 0.0), (["O", "B-X"], 0.0)])
def test_where_there_is_no_span_f1_is_zero_with_a_warning(predicted, precision):
    with pytest.warns(ScoreWarning, match="mark no span"):
        scores = sequence_scores([["O", "O"]], [predicted])
    assert (scores["precision"], scores["recall"], scores["f1"]) == (precision, 0.0, 0.0)
    assert scores["macro_f1"] == scores["weighted_f1"] == 0.0


def test_a_tagger_of_spans_scores_spans_on_sentences_without_any():
    tagger = SequenceTagger(features="words", C=10.0).fit([["Ann", "saw", "Rome"]], [["B-PER", "O", "B-LOC"]])
    with pytest.warns(ScoreWarning, match="mark no span"):
        scores = tagger.evaluate([["Ann", "saw"]], [["O", "O"]])
    assert (scores["accuracy"], scores["f1"]) == (0.5, 0.0)
    assert scores["per_label"] == {"PER": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}}


def test_a_tagger_can_be_scored_strictly():
    tagger = SequenceTagger(features="words", C=10.0).fit(
        [["in", "Rome"], ["Rome", "Rome"]], [["O", "I-X"], ["B-X", "I-X"]]
    )
    given = [["in", "Rome"]], [["O", "B-X"]]
    assert tagger.predict(given[0]) == [["O", "I-X"]]
    assert tagger.evaluate(*given)["f1"] == 1.0
    assert tagger.evaluate(*given, strict="bio")["f1"] == 0.0
    with pytest.raises(InputError, match="strict must be one of"):
        tagger.evaluate(*given, strict="iob")


@given(st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=6), min_size=1), st.data())
def test_averages_are_those_of_scikit_learn_over_the_spans(gold, data):
    """A span that both have is a hit; the others are things of which the other side has none."""
    predicted = [[data.draw(st.sampled_from(LABELS)) for _ in labels] for labels in gold]
    true, found = (
        {(i, *span) for i, labels in enumerate(sentences) for span in spans(labels)} for sentences in (gold, predicted)
    )
    if not true:
        return
    pairs = [(span[1], span[1]) for span in true & found]
    pairs += [(span[1], "none") for span in true - found] + [("none", span[1]) for span in found - true]
    kinds = sorted({span[1] for span in true | found})
    scores = sequence_scores(gold, predicted)
    for average, prefix in (("macro", "macro_"), ("weighted", "weighted_"), ("micro", "")):
        expected = precision_recall_fscore_support(
            *zip(*pairs, strict=True), labels=kinds, average=average, zero_division=0.0
        )
        assert [scores[f"{prefix}{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(expected[:3])


def test_rows_of_a_trace_have_the_short_scores_and_the_report_has_all():
    X, y = [["Ann", "saw", "Rome"]], [["B-PER", "O", "B-LOC"]]
    tagger = SequenceTagger(features="words", C=10.0).fit(X, y, eval_set=(X, y))
    assert list(tagger.history_[-1]["scores"]["dev"]) == ["accuracy", "precision", "recall", "f1"]
    assert list(tagger.evaluate(X, y)["per_label"]) == ["LOC", "PER"]
    words = SequenceTagger(features="words", C=10.0).fit(X, [["N", "V", "N"]], eval_set=(X, [["N", "V", "N"]]))
    assert words.history_[-1]["scores"]["dev"] == {"accuracy": 1.0}
    assert words.evaluate(X, [["N", "V", "N"]])["per_label"]["N"]["support"] == 2


def test_scores_are_plain_numbers_of_python():
    scores = sequence_scores([np.array(["B-X", "O"])], [np.array(["B-X", "O"])])
    assert {type(value) for name, value in scores.items() if name not in ("per_label", "confusions")} == {float}
    assert {type(value) for value in scores["per_label"]["X"].values()} == {float, int}
