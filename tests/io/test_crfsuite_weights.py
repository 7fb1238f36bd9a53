"""Declared weights and blank values of CRFsuite's files, as its own reader takes them."""

import numpy as np
import pytest

from marginloom import InputError, InputWarning, SequenceTagger, read_crfsuite, write_crfsuite
from marginloom.io.crfsuite import read_corpus


def written(tmp_path, text):
    path = tmp_path / "x.crfsuite"
    path.write_text(text)
    return path


def test_a_weight_is_declared_on_a_line_of_its_own_or_before_a_label(tmp_path):
    path = written(
        tmp_path,
        "@weight:0.5\nA\ta\nB\tb\n\nA\ta\n\n@weight: 2\tA\ta\nB\tb\n@weight:3\n\n@weight:9\n\nB\tb\n",
    )
    X, y, weights = read_crfsuite(path, weights=True)
    assert y == [["A", "B"], ["A"], ["A", "B"], ["B"]]
    assert X[2] == [["a"], ["b"]]
    assert weights.tolist() == [0.5, 1.0, 3.0, 1.0]
    (table,) = read_corpus([path]).tables
    assert [table.line_number(token) for token in range(6)] == [2, 3, 5, 7, 8, 13]


def test_weights_that_are_not_asked_for_are_warned_about(tmp_path):
    path = written(tmp_path, "@weight:0.5\nA\ta\n")
    with pytest.warns(InputWarning, match="weights=True"):
        read_crfsuite(path)


def test_weights_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "x.crfsuite"
    write_crfsuite(path, [[["a"]], [["b"]], [["c"]]], [["A"], ["B"], ["A"]], sample_weight=[0.25, 1, 0])
    assert path.read_text() == "@weight:0.25\nA\ta\n\nB\tb\n\n@weight:0.0\nA\tc\n\n"
    assert read_crfsuite(path, weights=True)[2].tolist() == [0.25, 1.0, 0.0]


def test_a_declared_weight_counts_as_a_sample_weight(tmp_path):
    X = [[["a", "x"]], [["b", "x"]], [["c"]]]
    y = [["A"], ["B"], ["A"]]
    weights = [0.25, 2.0, 1.0]
    path = tmp_path / "x.crfsuite"
    write_crfsuite(path, X, y, sample_weight=weights)
    from marginloom.tasks.sequence.features import LabelledSentences, new_features
    from marginloom.tasks.sequence.model import SequenceProblem
    from marginloom.training.spec import RunSpec

    corpus = read_corpus([path])
    problem = SequenceProblem(training=LabelledSentences.from_corpus(corpus, 0), features=new_features(None, corpus))
    prepared = problem.prepare(RunSpec(sample_weight=[2, 1, 1]))
    assert np.asarray(prepared.spec.sample_weight).tolist() == [0.5, 2.0, 1.0]
    read = read_crfsuite(path, weights=True)
    tagger = SequenceTagger(tol=1e-6).fit(*read[:2], sample_weight=read[2])
    np.testing.assert_array_equal(
        tagger.model_.weights, SequenceTagger(tol=1e-6).fit(X, y, sample_weight=weights).model_.weights
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@weight\nA\ta\n", "line 1: .*'@weight': before the label only @weight:NUMBER"),
        ("A\ta\n@group:2\n", "line 2: .*only @weight:NUMBER may begin with @"),
        ("@\ta\n", "line 1: .*may begin with @"),
        ("@weight:\nA\ta\n", "found no number after the colon"),
        ("@weight:x\nA\ta\n", "expected a number"),
        ("@weight:-1\nA\ta\n", "must not be negative"),
    ],
)
def test_other_declarations_are_refused_with_their_line(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_crfsuite(written(tmp_path, text))


@pytest.mark.parametrize(("field", "value"), [("a:", 1), ("a: 2", 2), ("a:2 ", 2), ("a:  ", 1), ("a:-.5", -0.5)])
def test_blanks_around_a_value_do_not_count_and_an_empty_one_is_1(tmp_path, field, value):
    X, _ = read_crfsuite(written(tmp_path, f"A\t{field}\tb:3\n"))
    assert [[{"a": value, "b": 3.0}]] == X


@pytest.mark.parametrize("weights", [[1.0], [1, -1], [1, float("nan")]])
def test_weights_that_cannot_be_written_are_refused(tmp_path, weights):
    with pytest.raises(InputError, match="in sample_weight; give every one"):
        write_crfsuite(tmp_path / "x", [[["a"]], [["b"]]], [["A"], ["B"]], sample_weight=weights)


def test_a_label_that_would_be_a_declaration_is_not_written(tmp_path):
    with pytest.raises(InputError, match="'@USER' begins with @"):
        write_crfsuite(tmp_path / "x", [[["a"]]], [["@USER"]])
