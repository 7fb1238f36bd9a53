"""A sparse matrix with a broken index is told in a sentence; scipy would read and write wherever it points."""

import numpy as np
import pytest
from scipy import sparse

from marginloom import InputError, MulticlassClassifier, MultilabelClassifier, SequenceTagger
from marginloom.common.sparse_matrices import check_sparse, checked_csr

ROWS = np.round(np.random.default_rng(0).normal(size=(8, 6)), 1)


def put(format, name, place, value):
    def change():
        matrix = sparse.csr_matrix(ROWS).asformat(format)
        getattr(matrix, name)[place] = value
        return matrix

    return change


def cut(format, name):
    def change():
        matrix = sparse.csr_matrix(ROWS).asformat(format)
        setattr(matrix, name, getattr(matrix, name)[:-1].copy())
        return matrix

    return change


def typed(name, dtype):
    def change():
        matrix = sparse.csr_matrix(ROWS)
        setattr(matrix, name, getattr(matrix, name).astype(dtype))
        return matrix

    return change


def more_values(matrix):
    matrix.data = np.append(matrix.data, 1.0)
    return matrix


BROKEN = {
    **{
        f"{format} index {value}": put(format, "indices", 3, value)
        for format in ("csr", "csc", "bsr")
        for value in (-1, 100, 2**31 - 1)
    },
    **{
        f"{format} pointer {place}": put(format, "indptr", place, 2**20)
        for format in ("csr", "csc", "bsr")
        for place in (0, 1, -1)
    },
    **{f"{format} {name} too few": cut(format, name) for format in ("csr", "csc") for name in ("indptr", "indices")},
    "csr values too few": cut("csr", "data"),
    "csr values too many": lambda: more_values(sparse.csr_matrix(ROWS)),
    "coo row": put("coo", "row", 2, 99),
    "coo column": put("coo", "col", 2, -7),
    "coo too few": cut("coo", "row"),
    "csr indices as floats": typed("indices", np.float64),
    "csr pointer as floats": typed("indptr", np.float64),
}

USES = {
    "fit classes": lambda X: MulticlassClassifier(max_iter=2).fit(X, np.arange(8) % 2),
    "predict classes": lambda X: MulticlassClassifier(max_iter=2).fit(ROWS, np.arange(8) % 2).predict(X),
    "fit labels": lambda X: MultilabelClassifier(max_iter=2).fit(X, np.eye(8, 3, dtype=int)),
    "fit sequences": lambda X: SequenceTagger(max_iter=2).fit(X, np.arange(8) % 2, lengths=[3, 5]),
    "fit a list of sequences": lambda X: SequenceTagger(max_iter=2).fit([X], [[0, 1] * 4]),
    "check": lambda X: check_sparse(X, "X"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", BROKEN)
def test_broken_index_is_told(kind, use):
    with pytest.raises(InputError, match=r"broken sparse matrix: .*make it anew"):
        USES[use](BROKEN[kind]())


def test_broken_labels_are_told():
    y = sparse.csr_matrix(np.eye(8, 3, dtype=int))
    y.indices[1] = 44
    with pytest.raises(InputError, match="y is a broken sparse matrix: an index is 44, and its rows have 3 columns"):
        MultilabelClassifier(max_iter=2).fit(ROWS, y)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_good_matrices_of_every_format_stay_as_they_are(format):
    given = sparse.csr_matrix(ROWS).asformat(format)
    assert np.array_equal(checked_csr(given, "X").toarray(), ROWS)
    assert np.array_equal(given.toarray(), ROWS)


def test_room_for_more_entries_is_not_broken():
    roomy = sparse.csr_matrix(ROWS)
    roomy.indices, roomy.data = np.append(roomy.indices, 77).astype(np.int32), np.append(roomy.data, 5.0)
    assert np.array_equal(checked_csr(roomy, "X").toarray(), ROWS)
    assert roomy.data.size == checked_csr(roomy, "X").data.size + 1
    MulticlassClassifier(max_iter=2).fit(roomy, np.arange(8) % 2)


def test_entries_twice_are_added_without_changing_the_matrix():
    twice = sparse.csr_matrix((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert checked_csr(twice, "X").toarray().tolist() == [[1, 2]]
    assert twice.data.size == 3
