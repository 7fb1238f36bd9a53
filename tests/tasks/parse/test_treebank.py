"""Treebanks from files and from lists, and what is said of those that are none."""

import contextlib
import gzip
from collections import UserList
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.errors import InputError, MarginloomError
from marginloom.io.conll import parse, read_corpus
from marginloom.io.formats import TREEBANKS
from marginloom.tasks.parse.files import read_conllu
from marginloom.tasks.parse.sentences import checked_sentences
from marginloom.tasks.parse.treebank import Treebank

TEXT = """\
# text = al mar, ya
1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_
1\ta\ta\tADP\tE\t_\t3\tcase\t_\t_
2\tel\tel\tDET\tD\t_\t3\tdet\t_\t_
3\tmar\tmar\tNOUN\tN\t_\t0\troot\t_\t_
3.1\tya\t_\t_\t_\t_\t_\t_\t_\t_

1\tya\tya\tADV\tB\t_\t0\troot\t_\t_

"""
WORDS = [[("a", "ADP", "E"), ("el", "DET", "D"), ("mar", "NOUN", "N")], [("ya", "ADV", "B")]]
TREES = [[(3, "case"), (3, "det"), (0, "root")], [(0, "root")]]


class Word(NamedTuple):
    form: str
    upos: str


def bank_of(text, format="conllu", labelled=True):
    return Treebank.from_corpus(parse(text.encode(), format, "f.conllu"), labelled)


def changed(old, new):
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


def test_heads_labels_and_sentences_come_from_the_columns():
    bank = bank_of(TEXT)
    assert bank.heads.tolist() == [3, 3, 0, 0]
    assert bank.heads.dtype == np.int64
    assert bank.labels.values().tolist() == ["case", "det", "root", "root"]
    assert bank.sentences.tolist() == [0, 3, 4]
    assert bank.forms().values().tolist() == ["a", "el", "mar", "ya"]
    assert bank_of(TEXT, labelled=False).labels is None


def test_places_are_lines_of_files_or_words_of_sentences(tmp_path):
    for name in ("a.conllu", "b.conllu"):
        (tmp_path / name).write_text(TEXT)
    bank = Treebank.from_corpus(read_corpus([tmp_path / "a.conllu", tmp_path / "b.conllu"], known=TREEBANKS))
    assert bank.heads.tolist() == [3, 3, 0, 0] * 2
    assert bank.place(2) == f"{tmp_path / 'a.conllu'}, line 5"
    assert bank.place(7) == f"{tmp_path / 'b.conllu'}, line 8"
    lists = Treebank.from_lists([[], *WORDS], [[], *TREES])
    assert [lists.place(token) for token in range(4)] == [
        "sentence 1, word 1",
        "sentence 1, word 2",
        "sentence 1, word 3",
        "sentence 2, word 1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("\t3\tdet", "\tx\tdet"), r"f.conllu, line 4: found the head 'x', expected the number of a word"),
        (changed("\t3\tdet", "\t-1\tdet"), r"line 4: found the head '-1'"),
        (changed("\t3\tdet", "\t\tdet"), r"line 4: found the head ''"),
        (changed("\t3\tdet", "\t１\tdet"), r"line 4: found the head '１'"),
        (changed("\t3\tdet", "\t4\tdet"), r"line 4: found the head 4, expected the number of one of the 3 words"),
        (changed("\t3\tdet", "\t" + "9" * 5000 + "\tdet"), "line 4: found the head '9{80}', expected"),
        (changed("\t3\tdet", "\t_\tdet"), "line 4: found _ for a head, so that there is no tree; give a file with"),
        (changed("2\tel\t", "4\tel\t"), r"line 4: found the ID '4', expected 2; number the words"),
        (changed("2\tel\t", "x\tel\t"), r"line 4: found the ID 'x', expected a number, or numbers as in 1-2"),
        (changed("1\tya\tya", "4\tya\tya"), r"line 8: found the ID '4', expected 1"),
    ],
)
def test_cell_that_is_no_head_is_an_error_by_file_and_line(text, message):
    with pytest.raises(InputError, match=message):
        bank_of(text)


def test_missing_columns_are_errors_by_file_and_line():
    plus = "# global.columns = ID FORM HEAD\n1\ta\t0\n"
    assert bank_of(plus, "conlluplus", labelled=False).heads.tolist() == [0]
    with pytest.raises(InputError, match=r"f.conllu, line 1: .* expected DEPREL among them"):
        bank_of(plus, "conlluplus")
    with pytest.raises(InputError, match="expected HEAD among them"):
        bank_of("# global.columns = ID FORM DEPREL\n1\ta\tx\n", "conlluplus")


def test_words_without_numbers_count_by_their_place():
    assert bank_of("# global.columns = FORM HEAD DEPREL\na\t2\tx\nb\t0\ty\n", "conlluplus").heads.tolist() == [2, 0]


def test_whether_heads_are_trees_is_not_looked_at():
    assert bank_of(changed("\t0\troot\t_\t_\n3.1", "\t3\troot\t_\t_\n3.1")).heads.tolist() == [3, 3, 3, 0]


def test_file_is_read_as_lists(tmp_path):
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert read_conllu(path) == (WORDS, TREES)
    x = tmp_path / "x.conll"
    x.write_text("1\t#\t_\tC\tP\t_\t0\tROOT\t_\t_\n")
    assert read_conllu(x) == ([[("#", "C", "P")]], [[(0, "ROOT")]])
    plain = tmp_path / "x.txt"
    plain.write_text(x.read_text())
    assert read_conllu(plain, "conllx") == read_conllu(x)
    assert read_conllu(plain) == ([[("#", "C", "P")]], [[(0, "ROOT")]])


def test_what_was_read_makes_the_same_treebank(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(TEXT)
    read, lists = bank_of(TEXT), Treebank.from_lists(*read_conllu(path))
    assert read.heads.tolist() == lists.heads.tolist()
    assert read.labels.values().tolist() == lists.labels.values().tolist()
    assert read.sentences.tolist() == lists.sentences.tolist()
    assert lists.sentences.dtype == np.uint64
    assert lists.forms().values().tolist() == read.forms().values().tolist()


@pytest.mark.parametrize(
    "y",
    [
        [[2, 0], [0]],
        [np.array([2, 0]), np.array([0], dtype=np.uint8)],
        iter([(2, 0), UserList([np.int32(0)])]),
    ],
)
def test_heads_may_be_lists_or_arrays(y):
    bank = Treebank.from_lists([[("a", "A"), ("b", "B")], [["c", "C"]]], y)
    assert bank.heads.tolist() == [2, 0, 0]
    assert bank.labels is None


def test_empty_sentences_are_fine_in_python():
    bank = Treebank.from_lists([[], [("a", "A")], []], [[], [(0, "root")], []])
    assert bank.sentences.tolist() == [0, 0, 1, 1]
    assert Treebank.from_lists([], []).heads.size == 0
    assert Treebank.from_lists([[]], [np.zeros(0, np.int64)]).labels is None


@pytest.mark.parametrize(
    "word", [("dogs", "NOUN"), ["dogs", "NOUN"], (np.str_("dogs"), "NOUN"), Word("dogs", "NOUN")], ids=repr
)
def test_words_may_be_of_derived_types(word):
    assert checked_sentences([[("a", "DET"), word], []]) == [[("a", "DET"), word], []]
    with pytest.raises(InputError, match="sentence 1, word 2: found"):
        checked_sentences([[], [word, (*word, "NN")]])
    with pytest.raises(InputError, match="sentence 0, word 2: found"):
        checked_sentences([[word, (word[0], 7)]])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("dogs", [], "X must be a list of sentences, not 'dogs'"),
        (["dogs"], [[0]], r"X\[0\] must be a list of words, not 'dogs'"),
        (7, [], "X must be a list of sentences, not 7"),
        ([7], [], r"X\[0\] must be a list of words, not 7"),
        ([["dogs"]], [[0]], "sentence 0, word 1: found 'dogs', expected a tuple"),
        ([[()]], [[0]], r"sentence 0, word 1: found \(\), expected a tuple"),
        ([[("a",)]], [[0]], r"found \('a',\), expected a tuple \(form, upos\), \(form"),
        ([[("a", "A", "B", "C", "D")]], [[0]], "expected a tuple"),
        ([[("a", "A")], [("b", "B", "C")]], [[0], [0]], r"sentence 1, word 1: .* \(form, upos\) of strings, as for"),
        ([[("a", "A", "B"), ("b", "B")]], [[2, 0]], r"word 2: .* \(form, upos, xpos\) of strings, as for the first"),
        ([[("a", None)]], [[0]], r"sentence 0, word 1: found \('a', None\)"),
        ([[(b"a", "A")]], [[0]], "sentence 0, word 1: found"),
        ([[("a", "A")]], [], "X has 1 sentences, and y has 0 trees"),
        ([[("a", "A")]], 7, "y must be a list with the tree of each sentence, not 7"),
        ([[("a", "A")]], [0], r"y\[0\] must be a list with the head of each word, not 0"),
        ([[("a", "A")]], ["0"], r"y\[0\] must be a list with the head of each word, not '0'"),
        ([[("a", "A")]], [[0, 1]], "sentence 0 has 1 words and 2 heads"),
        ([[("a", "A")]], [[None]], "sentence 0, word 1: found None, expected the number of its head"),
        ([[("a", "A")]], [[True]], "found True, expected the number of its head"),
        ([[("a", "A")]], [[0.0]], "found 0.0, expected the number"),
        ([[("a", "A")]], [["0"]], "found '0', expected the number"),
        ([[("a", "A")]], [[("root", 0)]], r"found \('root', 0\), expected a pair \(head, label\)"),
        ([[("a", "A")]], [[(0, 7)]], "expected a pair"),
        ([[("a", "A")]], [[(0,)]], "expected a pair"),
        ([[("a", "A"), ("b", "B")]], [[(0, "root"), 1]], "sentence 0, word 2: found 1, expected a pair"),
        ([[("a", "A"), ("b", "B")]], [[0, (1, "x")]], r"sentence 0, word 2: found \(1, 'x'\), expected the number"),
        ([[("a", "A")]], [[2]], "sentence 0, word 1: found the head 2, expected the number of one of the 1 words"),
        ([[], [("a", "A")]], [[], [-1]], "sentence 1, word 1: found the head -1"),
        ([[("a", "A")]], [[2**63]], "sentence 0, word 1: found 9223372036854775808, expected the number of its head"),
        ([[("a", "A")]], [[-(10**30)]], "sentence 0, word 1: found -10+, expected"),
        ([[("a", "A")]], [[np.iinfo(np.int64).min]], "sentence 0, word 1: found -9223372036854775808, expected"),
        ([[("a", "A")]], [[(0, "\ud800")]], "UTF-8"),
        ([[("a" * 1000, 3)]], [[0]], r"\.\.\., expected"),
    ],
)
def test_lists_that_do_not_fit_are_errors_by_sentence_and_word(X, y, message):
    with pytest.raises(InputError, match=message):
        Treebank.from_lists(X, y)


def attempt(text, format):
    try:
        return bank_of(text, format), None
    except MarginloomError as error:
        return None, str(error)


@given(st.text(alphabet="01239_\t\n\r# .-ax\ud7ff", max_size=200), st.sampled_from(["conllu", "conllx"]))
def test_whatever_a_file_holds_is_a_treebank_or_an_input_error(text, format):
    bank, error = attempt(text, format)
    assert "f.conllu, line" in error if bank is None else bank.heads.size == int(bank.sentences[-1])


CELLS = st.sampled_from(["0", "1", "2", "3", "_", "1-2", "1.1", "", "x", "-1", "1e3", "٣"])


@given(st.lists(st.lists(CELLS, min_size=10, max_size=10), max_size=4), st.sampled_from(["conllu", "conllx"]))
def test_ten_columns_of_anything_are_a_treebank_or_an_input_error(rows, format):
    text = "".join("\t".join(row) + "\n" for row in rows)
    bank, error = attempt(text, format)
    assert "f.conllu, line" in error if bank is None else (bank.heads <= len(rows)).all()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=1), inner),
    max_leaves=10,
)


@given(ANYTHING, ANYTHING)
def test_whatever_lists_hold_is_a_treebank_or_an_input_error(X, y):
    with contextlib.suppress(MarginloomError):
        Treebank.from_lists(X, y)
