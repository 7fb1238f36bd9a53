"""Rows scaled to length 1: in training and prediction alike, stored in the model, and only if asked for."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from marginloom import InputError, MultilabelClassifier
from marginloom.tasks.multilabel.features import unit_rows

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 5)) * RANDOM.uniform(0.1, 50, size=(60, 1))
Y = (X[:, :3] > 0).astype(np.uint8)


def weights(classifier):
    return classifier.model_.weights


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, lambda rows: rows.astype(np.float32)])
def test_rows_of_every_kind_get_length_one_and_their_type_stays(kind):
    rows = kind(np.vstack([X, np.zeros((1, 5))]))
    found = unit_rows(rows)
    assert found.dtype == rows.dtype
    assert type(found) is type(rows)
    dense = found.toarray() if hasattr(found, "toarray") else found
    np.testing.assert_allclose(np.linalg.norm(dense[:-1], axis=1), 1, rtol=1e-5)
    assert not dense[-1].any()


def test_the_lengths_of_rows_do_not_count_by_default():
    scaled = X * RANDOM.uniform(0.5, 9, size=(60, 1))
    one, other = MultilabelClassifier().fit(X, Y), MultilabelClassifier().fit(scaled, Y)
    np.testing.assert_allclose(weights(one), weights(other), atol=1e-3)
    np.testing.assert_allclose(one.decision_function(X), one.decision_function(scaled))
    assert (one.predict(X) == one.predict(scaled)).all()
    assert one.model_.settings["C"] == 1.0


def test_rows_as_they_are_train_as_before():
    unit = unit_rows(X)
    plain = MultilabelClassifier(normalize=False, C=1.0).fit(unit, Y)
    np.testing.assert_array_equal(weights(plain), weights(MultilabelClassifier().fit(X, Y)))
    assert MultilabelClassifier(normalize=False).fit(X, Y).model_.settings["C"] == 0.1
    assert MultilabelClassifier(C=0.3).fit(X, Y).model_.settings["C"] == 0.3
    with pytest.raises(InputError, match="normalize"):
        MultilabelClassifier(normalize="yes").fit(X, Y)


def test_a_file_says_whether_rows_are_scaled_and_files_of_before_say_that_they_are_not(tmp_path):
    for normalize in (True, False):
        found = MultilabelClassifier(normalize=normalize).fit(X, Y)
        found.save(tmp_path / "model")
        loaded = MultilabelClassifier.load(tmp_path / "model")
        assert loaded.normalize is normalize
        np.testing.assert_array_equal(loaded.decision_function(X), found.decision_function(X))
    header, tensors = found.model_._parts()
    del header["normalize"]
    earlier = type(found.model_)._from_parts(header, tensors)
    np.testing.assert_array_equal(earlier.label_scores(X), found.model_.label_scores(X))


def test_algorithms_without_costs_are_given_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MultilabelClassifier("perceptron").fit(X, Y).model_.normalize
