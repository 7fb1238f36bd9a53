"""CRFsuite's text format read and written from Python."""

import gzip
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marginloom import InputError, SequenceTagger, read_crfsuite, write_crfsuite
from marginloom.features import NamedFeatures
from marginloom.io.corpus import read_corpus
from marginloom.io.formats import common_format, format_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r"), min_size=1, max_size=6)
AWKWARD = st.text(":\\ =1#", min_size=1, max_size=6)
NAMES = TEXTS | AWKWARD
LABELS = NAMES.filter(lambda label: not label.startswith(("\ufeff", "@")))
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.floats(-10, 10)
TOKENS = st.lists(NAMES, max_size=4) | st.dictionaries(NAMES, VALUES, max_size=4)
SEQUENCES = st.lists(st.lists(st.tuples(TOKENS, LABELS), min_size=1, max_size=4), min_size=1, max_size=4)


def as_pairs(token):
    """Return a token as what it means, whichever way it is written."""
    return list(token.items()) if isinstance(token, dict) else [(name, 1.0) for name in token]


def written(tmp_path, text, name="x.crfsuite"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@settings(deadline=None)
@given(SEQUENCES)
@example([[(["\\", "\\:", ":", "a\\", "\\\\:"], ":\\")]])
@example([[({"a:1": 1.0, "a": 2.5, "z": 0.0}, "#"), ([], "O")]])
def test_what_is_written_is_read_again(sequences):
    X = [[token for token, _ in sequence] for sequence in sequences]
    y = [[label for _, label in sequence] for sequence in sequences]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.crfsuite")
        write_crfsuite(path, X, y)
        read_X, read_y = read_crfsuite(path)
        from_file = NamedFeatures().fit(read_corpus([path]))
    assert read_y == y
    assert [[as_pairs(token) for token in sentence] for sentence in read_X] == [
        [as_pairs(token) for token in sentence] for sentence in X
    ]
    from_lists = NamedFeatures().fit(X)
    assert from_file.feature_count == from_lists.feature_count
    for name in ("sentences", "tokens", "features", "values"):
        np.testing.assert_array_equal(getattr(from_file, name), getattr(from_lists, name))


def test_an_attribute_that_is_there_twice_adds_up(tmp_path):
    X, y = read_crfsuite(written(tmp_path, "X\ta\tb:2\ta\nY\ta\ta\n"))
    assert X == [[{"a": 2.0, "b": 2.0}, ["a", "a"]]]
    assert y == [["X", "Y"]]


def test_doubled_attributes_train_as_values_of_two(tmp_path):
    lines = ["X\ta\ta\tb", "Y\tb\tc", "X\ta\ta", "Y\tc\tc\tb\tb"]
    doubled = read_corpus([written(tmp_path, "\n".join(lines) + "\n", "doubled.crfsuite")])
    labels = ["X", "Y", "X", "Y"]
    summed = [[{"a": 2, "b": 1}, {"b": 1, "c": 1}, {"a": 2}, {"c": 2, "b": 2}]]
    options = {"C": 1.0, "tol": 1e-4, "max_iter": 500}
    twice = SequenceTagger(**options).fit(read_crfsuite(doubled.tables[0].name)[0], [labels])
    once = SequenceTagger(**options).fit(summed, [labels])
    assert twice.certificate_.primal == pytest.approx(once.certificate_.primal, rel=1e-3)


def test_values_of_python_features_are_written_as_the_tagger_takes_them(tmp_path):
    path = tmp_path / "x.crfsuite"
    X = [[{"word": "12:30", "upper": True, "digit": np.float32(0.5), "no": False, "one": 1, "n": np.int64(3)}]]
    write_crfsuite(path, X, [np.array([7])])
    assert path.read_text() == "7\tword\\:12\\:30\tupper\tdigit:0.5\tno:0.0\tone\tn:3.0\n\n"
    fitted, again = NamedFeatures(), NamedFeatures()
    fitted.fit(X)
    again.fit(read_crfsuite(path)[0])
    assert [[features.describe(i) for i in range(features.feature_count)] for features in (fitted, again)] == [
        ["word:12:30", "upper", "digit", "one", "n"]
    ] * 2


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[["a"]]], [["X"], ["Y"]], "different numbers of sequences"),
        ([[["a"]], [["b"]]], [["X"]], "different numbers of sequences"),
        ([[["a"]]], [["X", "Y"]], "sequence 0 (counted from 0) has 1 items and 2 labels"),
        ([[]], [[]], "at least 1"),
        ([[["a\tb"]]], [["X"]], "tab or line end"),
        ([[["a"]]], [["X\r"]], "tab or line end"),
        ([[["a"]]], [[""]], "is empty"),
        ([[[""]]], [["X"]], "is empty"),
        ([[["a"]]], [["\ufeffX"]], "byte order mark"),
        ([[["\ud800"]]], [["X"]], "UTF-8"),
        ([[[1]]], [["X"]], "a name must be a string"),
        ([[{2: 1.0}]], [["X"]], "a name must be a string"),
        ([["ab"]], [["X"]], "must be a list of strings or a dict"),
        ([[7]], [["X"]], "must be a list of strings or a dict"),
        ([[{"a": math.nan}]], [["X"]], "must be finite"),
        ([[{"a": -math.inf}]], [["X"]], "must be finite"),
        ([[{"a": 1e39}]], [["X"]], "single precision"),
        ([[{"a": 10**400}]], [["X"]], "sequence 0"),
        ([[{"a": None}]], [["X"]], "sequence 0"),
        ([[["a"]]], [[1.5]], "sequence 0"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_no_file(tmp_path, X, y, said):
    path = tmp_path / "x.crfsuite"
    with pytest.raises(InputError) as refused:
        write_crfsuite(path, X, y)
    assert said in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_byte_order_mark_crlf_and_compression(tmp_path):
    text = "\ufeffX\ta:2\r\n\r\nY\tb\r\n".encode()
    expected = [[{"a": 2.0}], [["b"]]], [["X"], ["Y"]]
    assert read_crfsuite(written(tmp_path, text)) == expected
    assert read_crfsuite(written(tmp_path, gzip.compress(text), "x.crfsuite.gz")) == expected


def test_lists_need_labels(tmp_path):
    with pytest.raises(InputError, match="line 3: found no label"):
        read_crfsuite(written(tmp_path, "X\ta\n\n\tb\n"))


def test_several_files_are_one_corpus(tmp_path):
    first = written(tmp_path, "X\ta\n\nY\tb\tc\n", "1.crfsuite")
    second = written(tmp_path, "X\tc:2\nY\n", "2.crfsuite")
    corpus = read_corpus([first, second])
    encoded = NamedFeatures().fit(corpus)
    assert corpus.format == "crfsuite"
    assert encoded.sentences.tolist() == [0, 1, 2, 4]
    assert encoded.tokens.tolist() == [0, 1, 3, 4, 4]
    assert encoded.values.tolist() == [1, 1, 1, 2]
    indicators = NamedFeatures().fit(read_corpus([first, first]))
    assert indicators.values is None
    assert indicators.tokens.tolist() == [0, 1, 3, 4, 6]


def test_format_by_ending_or_as_asked():
    assert format_of("a.crfsuite") == format_of("a.crfsuite.gz") == format_of("b/a.crfsuite.xz") == "crfsuite"
    assert format_of("a.crfsuite", "conll") == "conll"
    assert format_of("a.txt", "crfsuite") == "crfsuite"
    assert format_of("a.txt", trained="crfsuite") == "crfsuite"
    assert format_of("a.txt", trained="conllu") == "conllu"
    for path, trained in (("a.crfsuite", "conll"), ("a.conllu", "crfsuite"), ("a.conll.gz", "crfsuite")):
        with pytest.raises(
            InputError,
            match=f"the training data had {trained}; give a file in that format, or --format {trained} if it is one",
        ):
            format_of(path, trained=trained)
    with pytest.raises(InputError, match="conll and crfsuite cannot be mixed"):
        common_format(["a.conll", "b.crfsuite"])
