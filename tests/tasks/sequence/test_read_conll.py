"""`read_conll`: sentences and labels from files of columns, as Python lists."""

import gzip

import pytest
from support.program import conllu

from marginloom import InputError, SequenceTagger, read_conll
from marginloom.tasks.sequence.datasets import make_tagging

THREE = "He PRP B-NP\nsleeps VBZ B-VP\n\nThey PRP B-NP\n"


@pytest.fixture
def three_columns(tmp_path):
    path = tmp_path / "train.conll"
    path.write_text(THREE)
    return path


def test_words_and_last_column_are_the_default(three_columns):
    assert read_conll(three_columns) == ([["He", "sleeps"], ["They"]], [["B-NP", "B-VP"], ["B-NP"]])


def test_several_columns_are_tuples_and_one_is_strings(three_columns):
    assert read_conll(three_columns, columns=(1, 2))[0] == [[("He", "PRP"), ("sleeps", "VBZ")], [("They", "PRP")]]
    assert read_conll(three_columns, columns=[2])[0] == [[("PRP",), ("VBZ",)], [("PRP",)]]
    assert read_conll(three_columns, columns=2)[0] == [["PRP", "VBZ"], ["PRP"]]


def test_another_column_holds_the_labels(three_columns):
    assert read_conll(three_columns, column=2)[1] == [["PRP", "VBZ"], ["PRP"]]


def test_numbers_stay_strings(tmp_path):
    (tmp_path / "f").write_text("a 1\nb 02\n")
    assert read_conll(tmp_path / "f") == ([["a", "b"]], [["1", "02"]])


def test_conllu_is_read_by_column_names(tmp_path):
    X, y = make_tagging(20)
    path = tmp_path / "train.conllu.gz"
    path.write_bytes(gzip.compress(conllu(X, y).encode()))
    assert read_conll(path) == (X, y)
    pairs = [list(zip(*both, strict=True)) for both in zip(X, y, strict=True)]
    assert read_conll(path, columns=("FORM", "UPOS"), column="xpos")[0] == pairs


def test_what_is_read_trains_like_the_file(three_columns):
    X, y = read_conll(three_columns, columns=(1, 2))
    tagger = SequenceTagger(features="chunking", pos_column=2).fit(X, y)
    assert tagger.predict(X) == y


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"columns": 4}, "line 1: found 3 columns, expected a column 4"),
        ({"columns": 0}, "whole number from 1"),
        ({"columns": ()}, "columns is empty"),
        ({"columns": "UPOS"}, "found plain columns, expected UPOS"),
        ({"column": 7}, "column 7"),
        ({"column": True}, "not True"),
        ({"format": "crfsuite"}, "there is no format"),
    ],
)
def test_columns_that_are_not_there_are_errors(three_columns, arguments, words):
    with pytest.raises(InputError, match=words):
        read_conll(three_columns, **arguments)
