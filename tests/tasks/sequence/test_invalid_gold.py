"""Right labels that break the constraints: refused, repaired or left out."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom import InputError, InputWarning, SequenceTagger
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.sequence.constraints import BOUNDARY, forbidden_pairs
from marginloom.tasks.sequence.schemes import SCHEMES
from marginloom.tasks.sequence.spans import spans

LABELS = {
    scheme: ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in "XY")]
    for scheme, prefixes in (("bio", "BI"), ("bioes", "BIES"), ("bilou", "BILU"))
}


def is_well_formed(labels, scheme):
    """Tell by the definition: labels are those that their spans would be marked with."""
    end, single = {"bio": "IB", "bioes": "ES", "bilou": "LU"}[scheme]
    expected = ["O"] * len(labels)
    for kind, first, stop in spans(labels):
        marks = [single] if stop - first == 1 else ["B", *"I" * (stop - first - 2), end]
        expected[first:stop] = [f"{mark}-{kind}" for mark in marks]
    return list(labels) == expected


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pairs_allow_just_the_well_formed_labellings(scheme):
    labels = LABELS[scheme]
    forbidden = set(forbidden_pairs(scheme, labels))
    for numbers in itertools.product(range(len(labels)), repeat=3):
        pairs = itertools.pairwise([BOUNDARY, *numbers, BOUNDARY])
        assert (not forbidden.intersection(pairs)) == is_well_formed([labels[n] for n in numbers], scheme)


@given(st.sampled_from(sorted(SCHEMES)), st.data())
def test_repaired_labels_are_well_formed_and_keep_their_types(scheme, data):
    sentences = data.draw(st.lists(st.lists(st.sampled_from(LABELS[scheme]), min_size=1, max_size=5), min_size=1))
    bounds = np.cumsum([0, *map(len, sentences)])
    given_labels = NumberedLabels.of([label for sentence in sentences for label in sentence])
    repaired = SCHEMES[scheme].repaired(given_labels, bounds).values().tolist()
    for before, (start, end) in zip(sentences, itertools.pairwise(bounds.tolist()), strict=True):
        after = repaired[start:end]
        assert is_well_formed(after, scheme)
        assert [label[1:] for label in after] == [label[1:] for label in before]
        assert spans(after) == spans(before)
        if is_well_formed(before, scheme):
            assert after == before


X = [["a", "b"], ["c", "d"], ["e"]]
Y = [["O", "I-X"], ["B-X", "I-X"], ["O"]]


def test_the_default_is_an_error_that_names_the_ways_out():
    with pytest.raises(InputError, match=r"sentence 0, token 1: I-X after O; .*--invalid-gold repair\|skip"):
        SequenceTagger(constraints="bio").fit(X, Y)


def test_repaired_labels_are_learnt_and_counted():
    with pytest.warns(InputWarning, match="repaired 1 gold label in 1 sentence that violated the constraints bio"):
        tagger = SequenceTagger(features="words", C=10.0, constraints="bio", invalid_gold="repair").fit(X, Y)
    assert tagger.predict(X) == [["O", "B-X"], ["B-X", "I-X"], ["O"]]


def test_a_label_that_only_repairing_makes_is_learnt():
    with pytest.warns(InputWarning, match="repaired 2 gold labels in 2 sentences"):
        tagger = SequenceTagger(constraints="bilou", invalid_gold="repair").fit([["a"], ["b"]], [["I-X"], ["B-X"]])
    assert tagger.classes_ == ["U-X"]


def test_skipped_sentences_do_not_matter():
    with pytest.warns(InputWarning, match="skipped 1 of 3 sentences"):
        tagger = SequenceTagger(features="words", constraints="bio", invalid_gold="skip", tol=1e-6).fit(
            X, Y, sample_weight=[5, 1, 2]
        )
    alone = SequenceTagger(features="words", constraints="bio", tol=1e-6).fit(X[1:], Y[1:], sample_weight=[1, 2])
    assert tagger.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-6)
    assert tagger.predict(X[1:]) == alone.predict(X[1:])


@pytest.mark.parametrize("dense", [False, True])
def test_skipping_works_on_matrices(dense):
    rows = np.eye(5)
    if not dense:
        rows = pytest.importorskip("scipy.sparse").csr_matrix(rows)
    labels = [label for sentence in Y for label in sentence]
    with pytest.warns(InputWarning, match="skipped"):
        tagger = SequenceTagger(constraints="bio", invalid_gold="skip", C=10.0).fit(rows, labels, lengths=[2, 2, 1])
    assert tagger.predict(rows, lengths=[2, 2, 1])[2:].tolist() == ["B-X", "I-X", "O"]


def test_gold_that_keeps_to_the_constraints_is_said_nothing_of():
    with warnings.catch_warnings(action="error"):
        SequenceTagger(constraints="bio", invalid_gold="repair", C=10.0).fit(X[1:], Y[1:])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"constraints": [("O", "I-X")], "invalid_gold": "repair"}, "cannot be repaired"),
        ({"invalid_gold": "skip"}, "there are no constraints"),
        ({"constraints": "bio", "invalid_gold": "mend"}, "invalid_gold must be one of error, repair, skip"),
        ({"constraints": "iob"}, "constraints must be none, bio, bioes, bilou or"),
    ],
)
def test_what_cannot_be_done_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        SequenceTagger(**options).fit(X, Y)


def test_forbidden_pairs_can_be_skipped():
    with pytest.warns(InputWarning, match="1 of 3"):
        SequenceTagger(constraints=[("O", "I-X")], invalid_gold="skip").fit(X, Y)


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="every sentence violate"):
        SequenceTagger(constraints="bio", invalid_gold="skip").fit(X[:1], Y[:1])


def test_a_loaded_tagger_has_the_same_setting(tmp_path):
    SequenceTagger(constraints="bio", invalid_gold="skip").fit(X[1:], Y[1:]).save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model").invalid_gold == "skip"
