"""A few rows are checked as many are: the way past scikit-learn's checks lets through what these would let through."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix

from marginloom import MulticlassClassifier
from marginloom.tasks.base import validation

COLUMNS = 3
ROWS = np.random.default_rng(0).normal(size=(40, COLUMNS))


class Named(np.ndarray):
    """An array of another type."""


def changed(value, rows=ROWS[:2]):
    rows = rows.copy()
    rows[1, 2] = value
    return rows


INPUTS = {
    "plain": ROWS[:2],
    "single precision": ROWS[:2].astype(np.float32),
    "half precision": ROWS[:2].astype(np.float16),
    "other bytes": ROWS[:2].astype(">f8"),
    "whole numbers": ROWS[:2].astype(int),
    "objects": ROWS[:2].astype(object),
    "texts": ROWS[:2].astype(str),
    "complex": ROWS[:2].astype(complex),
    "columns first": np.asfortranarray(ROWS[:2]),
    "every other": ROWS[:4:2],
    "read only": np.frombuffer(ROWS[:2].tobytes()).reshape(2, COLUMNS),
    "derived": ROWS[:2].view(Named),
    "list": ROWS[:2].tolist(),
    "one row": ROWS[0],
    "cube": ROWS[:2][None],
    "no rows": ROWS[:0],
    "too few columns": ROWS[:2, :2].copy(),
    "too many columns": np.ones((2, COLUMNS + 1)),
    "no columns": np.ones((2, 0)),
    "not a number": changed(np.nan),
    "infinite": changed(-np.inf),
    "sum beyond the range": changed(1.7e308, changed(1.7e308)),
    "CSR": csr_matrix(ROWS[:2]),
    "CSR array": csr_array(ROWS[:2]),
    "CSR, single precision": csr_matrix(ROWS[:2].astype(np.float32)),
    "CSR, not a number": csr_matrix(changed(np.nan)),
    "CSR, too many columns": csr_matrix(np.ones((2, COLUMNS + 1))),
    "CSR, whole numbers": csr_matrix(ROWS[:2].astype(int)),
    "CSR, no rows": csr_matrix((0, COLUMNS)),
    "CSC": csc_matrix(ROWS[:2]),
    "nothing": None,
}


@pytest.fixture(scope="module")
def classifier():
    return MulticlassClassifier(tol=0.9).fit(ROWS, np.arange(40) % 3)


def outcome(classifier, X):
    """Return what comes of predicting: scores as bytes, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = classifier.decision_function(X).tobytes()
        except Exception as error:
            found = type(error), str(error)
    return found, [(warning.category, str(warning.message)) for warning in told]


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("named", [False, True])
def test_few_rows_are_checked_as_scikit_learn_does(monkeypatch, classifier, kind, named):
    X = INPUTS[kind]
    if named:
        monkeypatch.setattr(classifier, "feature_names_in_", np.array(["a", "b", "c"], dtype=object), raising=False)
    found = outcome(classifier, X)
    monkeypatch.setattr(validation, "_is_fine", lambda *_: False)
    assert outcome(classifier, X) == found


def test_plain_rows_and_only_those_go_past_scikit_learn(monkeypatch, classifier):
    def seen(*_, **__):
        raise LookupError("scikit-learn has been asked")

    monkeypatch.setattr(validation, "validate_data", seen)
    past = {
        kind for kind, X in INPUTS.items() if outcome(classifier, X)[0] != (LookupError, "scikit-learn has been asked")
    }
    assert past == {
        "plain", "single precision", "read only", "CSR", "CSR array", "CSR, single precision", "sum beyond the range",
    }  # fmt: skip
