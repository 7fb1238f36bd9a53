"""LIBSVM files: what is read and written, and what is said of lines that are not as they must be."""

import gzip
import io
import lzma
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from marginloom import InputError, read_libsvm, write_libsvm
from marginloom.io.libsvm import parse, stream_rows

TEXT = b"2 1:0.5 3:1\n1 2:-4e-1\n2\n"


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)], ids=["plain", "gz", "xz"]
)
def test_files_may_be_compressed(tmp_path, ending, pack):
    path = tmp_path / f"train.svm{ending}"
    path.write_bytes(pack(TEXT))
    X, y = read_libsvm(path)
    assert X.toarray().tolist() == [[0.5, 0, 1], [0, -0.4, 0], [0, 0, 0]]
    assert y.tolist() == [2, 1, 2]
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf2 1:0.5 3:1\n1 2:-4e-1\n2\n",
        b"2 1:0.5 3:1\r\n1 2:-4e-1\r\n2\r\n",
        b"2\t1:.5\t 3:+1 \n\n1 2:-0.40\n   \n2",
        b"# by hand\n2 qid:7 1:0.5 3:1.0 # first\n+1 2:-0.4#second\n2.0 # no entry\n",
    ],
    ids=["byte order mark", "CRLF", "blanks", "comments and qid"],
)
def test_ways_to_write_the_same(text):
    rows = parse(text, "f")
    assert rows.matrix(3).toarray().tolist() == [[0.5, 0, 1], [0, -0.4, 0], [0, 0, 0]]
    assert rows.single_labels().values().tolist() == [2, 1, 2]


def test_multilabel_lines_have_any_number_of_labels(tmp_path):
    path = tmp_path / "train.svm"
    path.write_bytes(b"3,1 1:1\n 2:1\n2 1:1 2:1\n1:5\n")
    X, y = read_libsvm(path, multilabel=True)
    assert y == [[3, 1], [], [2], []]
    assert X.toarray().tolist() == [[1, 0], [0, 1], [1, 1], [5, 0]]


def test_labels_are_names_if_not_all_are_whole_numbers():
    assert parse(b"cat 1:1\n7 1:1\n", "f").single_labels().values().tolist() == ["cat", "7"]
    assert parse(b"-1 1:1\n+1 1:1\n3e0 1:1\n", "f").single_labels().values().tolist() == [-1, 1, 3]
    assert parse("naïve 1:1\n".encode(), "f").single_labels().values().tolist() == ["naïve"]
    assert parse(b"7 1:1\n", "f").single_labels(strings=True).values().tolist() == ["7"]
    with pytest.raises(InputError, match="f, line 2: found the label 'cat', expected a whole number"):
        parse(b"1 1:1\ncat 1:1\n", "f").single_labels(strings=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"1 0:1", "found '0:1': indices count from 1"),
        (b"1 -2:1", "found '-2:1': expected index:value with a whole number"),
        (b"1 1.5:1", "found '1.5:1': expected index:value with a whole number"),
        (b"1 :1", "found ':1': expected index:value with a whole number"),
        (b"1 2147483648:1", "larger than 2147483647"),
        (b"1 99999999999999999999999:1", "larger than 2147483647"),
        (b"1 2:1 2:3", "found '2:3': the index stands there twice"),
        (b"1 3:1 2:1", "found '2:1': the index comes after 3; give them in rising order"),
        (b"1 2", "found '2': expected index:value"),
        (b"1 2:", "expected a number after the colon"),
        (b"1 2:one", "expected a number after the colon"),
        (b"1 2:0x10", "expected a number after the colon"),
        (b"1 2:1:2", "expected a number after the colon"),
        (b"1 2:nan", "the value must be finite"),
        (b"1 2:-inf", "the value must be finite"),
        (b"1 2:1e999", "the value must be finite"),
        (b"1, 2:1", "expected labels with one comma between them"),
        (b"1,,2 2:1", "expected labels with one comma between them"),
        (b"1,2,1 2:1", "the label 1 stands there twice"),
        (b"\xff 2:1", "0xff where UTF-8 is expected"),
    ],
    ids=repr,
)
def test_wrong_lines_are_named(line, said):
    with pytest.raises(InputError) as error:
        parse(b"1 1:1\n\n" + line + b"\n1 1:1\n", "some.svm")
    assert str(error.value).startswith("some.svm, line 3: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [(b"1:1", "found no label"), (b"1,2 1:1", "found 2 labels"), (b"0.5 1:1", "found the label '0.5'")],
    ids=repr,
)
def test_lines_without_one_class_are_named(tmp_path, line, said):
    path = tmp_path / "train.svm"
    path.write_bytes(b"1 1:1\n# nothing\n" + line + b"\n")
    with pytest.raises(InputError) as error:
        read_libsvm(path)
    assert str(error.value).startswith(f"{path}, line 3: ")
    assert said in str(error.value)


def test_file_without_an_example_is_an_error(tmp_path):
    path = tmp_path / "train.svm"
    path.write_bytes(b"\n# nothing\n")
    with pytest.raises(InputError, match="found no example"):
        read_libsvm(path)


def test_tiny_values_become_zero_or_subnormal():
    assert parse(b"1 1:1e-400 2:5e-324", "f").values.tolist() == [0.0, 5e-324]


def test_features_beyond_those_of_training_are_left_out_with_one_warning(tmp_path):
    path = tmp_path / "test.svm"
    path.write_bytes(b"1 1:1 3:3 4:4\n2 5:1\n1 2:2 9:1\n")
    with pytest.warns(UserWarning, match="3 entries with an index beyond the 3 features") as warned:
        X, _ = read_libsvm(path, n_features=3)
    assert len(warned) == 1
    assert X.toarray().tolist() == [[1, 0, 3], [0, 0, 0], [0, 2, 0]]
    X, _ = read_libsvm(path, n_features=12)
    assert X.shape == (3, 12)


def test_stream_is_read_line_by_line_and_counts_lines_over_all_pieces():
    class Slow(io.RawIOBase):
        """Gives three bytes at a time."""

        def __init__(self, data):
            self.data = data

        def read(self, size=-1):
            piece, self.data = self.data[:3], self.data[3:]
            return piece

    pieces = list(stream_rows(Slow(TEXT), "f"))
    assert len(pieces) > 1
    assert [line for rows, _ in pieces for line in rows.lines.tolist()] == [1, 2, 3]
    assert sum(size for _, size in pieces) == len(TEXT)
    with pytest.raises(InputError, match="f, line 2: "):
        list(stream_rows(Slow(b"1 1:1\n1 x\n"), "f"))


def bits(array):
    """Return what an array holds, such that numbers with other bits differ: -0.0 is not 0.0."""
    return np.asarray(array).view(f"u{np.asarray(array).itemsize}").tolist()


def entries(matrix):
    """Return the entries of a matrix that are not a plain zero, with the bits of their values."""
    rows = matrix.tocoo()
    found = zip(rows.row.tolist(), rows.col.tolist(), bits(rows.data), strict=True)
    return sorted(entry for entry in found if entry[2] != 0)


numbers = st.integers(-(2**63), 2**64 - 1)
blanks = " \t\n\r\v\f,:#"
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=f"{blanks}\ufeff"), min_size=1).filter(
    lambda name: not re.fullmatch(r"[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|nan|inf|infinity)", name, re.I)
)


def floats(width):
    return st.just(0.0) | st.floats(allow_nan=False, allow_infinity=False, width=width)


def matrices(width):
    """Return rows of floats of so many bits."""
    return st.integers(1, 5).flatmap(
        lambda columns: st.lists(st.lists(floats(width), min_size=columns, max_size=columns), min_size=1, max_size=6)
    )


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("labels", [numbers, names], ids=["numbers", "names"])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_back_to_the_bit(tmp_path_factory, width, labels, data):
    path = tmp_path_factory.mktemp("libsvm") / "f.svm"
    X = np.array(data.draw(matrices(width)), dtype=f"f{width // 8}")
    y = data.draw(st.lists(st.lists(labels, unique=True, max_size=3), min_size=len(X), max_size=len(X)))
    places = np.indices(X.shape).reshape(2, -1)
    sparse = csr_matrix((X.ravel(), places), shape=X.shape)  # which has its zeros too
    for given_as in (X, sparse):
        write_libsvm(path, given_as, y)
        found, read = read_libsvm(path, n_features=X.shape[1], multilabel=True)
        assert read == y
        assert entries(found.astype(X.dtype)) == entries(sparse)
        assert found.shape == X.shape


@settings(max_examples=50, deadline=None)
@given(st.lists(numbers, min_size=1) | st.lists(names, min_size=1))
def test_single_labels_are_read_back(tmp_path_factory, y):
    path = tmp_path_factory.mktemp("libsvm") / "f.svm"
    write_libsvm(path, np.ones((len(y), 1)), y)
    _, found = read_libsvm(path)
    assert found.tolist() == y
    write_libsvm(path, np.ones((len(y), 1)), found)
    assert read_libsvm(path)[1].tolist() == y


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_files_are_compressed_as_their_names_say(tmp_path, ending):
    path = tmp_path / f"f.svm{ending}"
    write_libsvm(path, np.eye(2), [1, 2])
    first = path.read_bytes()
    assert read_libsvm(path)[1].tolist() == [1, 2]
    write_libsvm(path, np.eye(2), [1, 2])
    assert path.read_bytes() == first


def test_labels_are_whole_numbers_of_64_bits_to_the_last_digit():
    assert parse(b"9007199254740995 1:1\n9007199254740996 1:1\n", "f").single_labels().values().tolist() == [
        9007199254740995,
        9007199254740996,
    ]
    found = {
        (b"-9223372036854775808", b"9223372036854775807"): np.int64,
        (b"0", b"18446744073709551615"): np.uint64,
        (b"-1", b"18446744073709551615"): object,
    }
    for labels, dtype in found.items():
        read = parse(b"".join(label + b" 1:1\n" for label in labels), "f").single_labels().values()
        assert read.tolist() == [int(label) for label in labels]
        assert read.dtype == dtype


def test_numbers_may_be_written_in_other_ways_and_are_exact():
    text = b"+1 1:1\n1.0 1:1\n1e3 1:1\n-0 1:1\n007 1:1\n9007199254740993.0 1:1\n.5e1 1:1\n0e999999999 1:1\n"
    assert parse(text, "f").single_labels().values().tolist() == [1, 1, 1000, 0, 7, 9007199254740993, 5, 0]


def test_names_that_python_would_take_for_numbers_are_names():
    assert parse("1_0 1:1\n10 1:1\n٣ 1:1\n".encode(), "f").single_labels().values().tolist() == ["1_0", "10", "٣"]


@pytest.mark.parametrize(
    "label",
    [
        "18446744073709551616",
        "-9223372036854775809",
        "1e300",
        "1e99999999999999999999",
        "1e-5",
        "nan",
        "-inf",
        "9" * 5000,
    ],
)
def test_numbers_that_no_label_can_be_are_refused(tmp_path, label):
    with pytest.raises(InputError, match=r"f, line 2: found the label .*expected a whole number of 64 bits or a name"):
        parse(f"1 1:1\n{label} 1:1\n".encode(), "f").single_labels()
    with pytest.raises(InputError, match="of example 1 cannot be written"):
        write_libsvm(tmp_path / "f", np.eye(2), ["name", label])


def test_negative_zeros_are_written_and_read():
    assert bits(parse(b"1 1:-0 2:0", "f").values) == bits([-0.0, 0.0])


def test_single_precision_is_read_back_where_its_digits_lie_between_two_floats(tmp_path):
    X = np.array([[float.fromhex("0x1.5c87fap-84")]], dtype=np.float32)  # shortest: 7.038531e-26
    write_libsvm(tmp_path / "f", X, [1])
    assert bits(read_libsvm(tmp_path / "f")[0].toarray().astype(np.float32)) == bits(X)


def test_single_precision_is_written_short_and_read_back(tmp_path):
    X = np.array([[0.1, 0.0, 1 / 3]], dtype=np.float32)
    write_libsvm(tmp_path / "f", X, ["a"])
    assert (tmp_path / "f").read_text() == "a 1:0.1 3:0.33333334\n"
    assert np.array_equal(read_libsvm(tmp_path / "f")[0].toarray().astype(np.float32), X)


def test_many_rows_are_written_in_pieces(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (10_000, 3)).astype(float)
    y = rng.integers(0, 9, 10_000)
    write_libsvm(tmp_path / "f.svm", X, y)
    found, labels = read_libsvm(tmp_path / "f.svm", n_features=3)
    assert np.array_equal(found.toarray(), X)
    assert np.array_equal(labels, y)


def test_scikit_learn_reads_what_we_write_and_the_other_way_round(tmp_path):
    X = csr_matrix(np.array([[0.25, 0, 1e-7], [0, 0, 0], [3, 4, 0]]))
    write_libsvm(tmp_path / "ours", X, [1, 2, 3])
    theirs, labels = load_svmlight_file(str(tmp_path / "ours"), n_features=3)
    assert np.array_equal(theirs.toarray(), X.toarray())
    assert labels.tolist() == [1, 2, 3]
    dump_svmlight_file(X, [1, 2, 3], str(tmp_path / "theirs"), zero_based=False, comment="by scikit-learn")
    ours, labels = read_libsvm(tmp_path / "theirs", n_features=3)
    assert np.array_equal(ours.toarray(), X.toarray())
    assert labels.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1.0], [2.0]], [1], "X has 2 examples, and y has 1"),
        ([[np.nan]], [1], "NaN or infinite"),
        ([["a"]], [1], "X must be a matrix of numbers"),
        ([[1.0]], [0.5], "the label 0.5 of example 0"),
        ([[1.0]], ["a b"], "'a b'"),
        ([[1.0]], ["a:b"], "'a:b'"),
        ([[1.0]], [["a", ""]], "''"),
        ([[1.0]], [None], "None"),
        ([[1.0]], ["\ufeffa"], "'\\ufeffa'"),
        ([[1.0]], ["\ud800"], "'\\ud800'"),
        ([[1.0]], [2.0**70], "the label 1.1805916207174113e+21 of example 0"),
        ([[1.0]], [2**70], "has more than 64 bits"),
        ([[1.0], [2.0]], [1, "a"], "whole numbers such as 1 and strings such as 'a'"),
        ([[1.0], [2.0]], ["2", "1"], "all labels are strings that are read as whole numbers, such as '1'"),
        ([[1.0]], [[1, 1]], "give every label once"),
        ([[2**53 + 1]], [1], "X has the value 9007199254740993, which double precision cannot hold"),
        ([[2**64 + 1]], [1], "X has the value 18446744073709551617, which"),
        ([[1j]], [1], "X must be a matrix of numbers"),
        ([[[1.0]]], [1], "3 dimensions"),
        (csr_matrix(([1.0], ([0], [2**31 - 1])), shape=(1, 2**31)), [1], "the format ends at column 2147483646"),
    ],
    ids=repr,
)
def test_what_cannot_be_written_is_named_and_leaves_no_file(tmp_path, X, y, said):
    with pytest.raises(InputError) as error:
        write_libsvm(tmp_path / "f", X, y)
    assert said in str(error.value)
    assert list(tmp_path.iterdir()) == []
