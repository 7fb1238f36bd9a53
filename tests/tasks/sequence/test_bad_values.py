"""Numbers that make no sense are refused with a sentence, from Python as on the command line."""

import math

import numpy as np
import pytest
from scipy import sparse

from marginloom import DCD, InputError, SequenceTagger

NAN, INF = math.nan, math.inf
X, Y = [["a", "b"], ["b"]], [["P", "Q"], ["Q"]]


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e39])
def test_value_that_is_not_finite_in_single_precision(bad):
    matrix = np.array([[1.0, 0.0], [2.0, bad]])
    good = np.eye(2)
    sources = {
        "row 1, column 1": (matrix, ["P", "Q"], [2]),
        "stored value": (sparse.csr_matrix(matrix), ["P", "Q"], [2]),
        "sentence 0, token 1": ([[{"a": 1.0}, {"a": bad}]], [["P", "Q"]], None),
    }
    for place, (source, labels, lengths) in sources.items():
        with pytest.raises(InputError, match=place):
            SequenceTagger().fit(source, labels, lengths=lengths)
    fitted = SequenceTagger().fit(good, ["P", "Q"], lengths=[2])
    for source in (matrix, sparse.csr_matrix(matrix)):
        with pytest.raises(InputError, match="NaN, infinite or beyond"):
            fitted.predict(source, lengths=[2])
    with pytest.raises(InputError, match="NaN, infinite or beyond"):
        fitted.predict([matrix])
    named = SequenceTagger().fit([[{"a": 1.0}, {"b": 1.0}]], [["P", "Q"]])
    with pytest.raises(InputError, match="sentence 0, token 0"):
        named.predict([[{"a": bad}]])


def test_value_that_is_neither_number_nor_string():
    for value in (None, 1j, object()):
        with pytest.raises(InputError, match="'name' is neither a number in double precision, a string, nor"):
            SequenceTagger().fit([[{"name": value}]], [["P"]])
    for token in ({1: 1.0}, ["a", 1], {"name": [1.0]}):
        with pytest.raises(InputError, match="the name of a feature is not a string"):
            SequenceTagger().fit([[token]], [["P"]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a positive number, not 0"),
        ({"C": -1.0}, "C must be a positive number"),
        ({"C": NAN}, "C must be a positive number, not nan"),
        ({"C": INF}, "C must be a positive number"),
        ({"C": "1"}, "C must be a positive number"),
        ({"C": True}, "C must be a positive number"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"tol": NAN}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1"),
        ({"max_iter": 2.0}, "max_iter must be a whole number"),
        ({"min_count": 0}, "min_count must be a whole number from 1"),
        ({"random_state": -1}, "random_state must be a whole number from 0"),
        ({"random_state": 1.5}, "random_state must be a whole number"),
        ({"n_threads": 0}, "n_threads must be -1"),
        ({"n_threads": -2}, "n_threads must be -1"),
        ({"n_threads": "2"}, "n_threads must be -1"),
        ({"loss": "log"}, "loss must be 'hinge' or 'squared_hinge'"),
        ({"algorithm": "dcd-svm"}, "there is no algorithm 'dcd-svm' .did you mean 'dcd-ssvm'"),
        ({"algorithm": None}, "there is no algorithm None"),
        ({"features": "letters"}, "there is no feature set 'letters', nor a file of that name; the sets are: words"),
        ({"learner": {"inner_pass": 3}}, "no parameter 'inner_pass' .did you mean 'inner_passes'"),
        ({"learner": {"delta": -1}}, "delta must be a positive number"),
        ({"learner": {"inner_passes": 2**40}}, "inner_passes"),
        ({"learner": 3}, "learner must be a dict"),
        ({"engine": {"shuffle": 1}}, "shuffle must be true or false"),
        ({"label_costs": {"Z": 1.0}}, "'Z' is not a label of the training data; there are: P, Q"),
        ({"label_costs": {"P": -1.0}}, "the cost of label .P. must be a number, 0 or more"),
        ({"label_costs": {"P": NAN}}, "the cost of label .P. must be a number, 0 or more"),
        ({"label_costs": {"P": "1"}}, "the cost of label .P. must be a number"),
        ({"label_costs": [1.0, 2.0]}, "label_costs"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_parameter(parameters, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger(**{"features": "words", **parameters}).fit(X, Y)


def test_ready_learner_checks_its_parameters_too():
    with pytest.raises(InputError, match="delta must be a positive number, not nan"):
        DCD(delta=NAN)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "one number per example, 2"),
        ([[1.0, 1.0]], "one number per example, 2"),
        ([1.0, -0.5], r"sample_weight\[1\] must be finite and not negative, not -0.5"),
        ([NAN, 1.0], r"sample_weight\[0\]"),
        ([1.0, INF], r"sample_weight\[1\]"),
        ([0.0, 0.0], "zero for every example"),
        (["a", "b"], "sequence of numbers"),
    ],
)
def test_sample_weight(weights, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger(features="words").fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("C", "weights"),
    [(5e-324, None), (1e-308, None), (0.1, [1e-320, 1.0]), (1e300, [1e300, 1.0])],
    ids=["smallest C", "tiny C", "tiny weight", "product beyond double precision"],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_extreme_costs_are_refused_or_certified_truthfully(C, weights):
    tagger = SequenceTagger(features="words", C=C)
    try:
        tagger.fit(X, Y, sample_weight=weights)
    except InputError:
        return
    certificate = tagger.certificate_
    assert math.isfinite(certificate.primal)
    assert math.isfinite(certificate.dual)
    assert -1e-9 <= certificate.gap <= 1
    assert np.isfinite(tagger.tagger_.weights).all()


def test_evaluation_set_that_is_none():
    for eval_set in (5, (X,), (X, Y, None, None)):
        with pytest.raises(InputError, match="eval_set"):
            SequenceTagger(features="words").fit(X, Y, eval_set=eval_set)


def test_labels_of_another_kind_in_the_evaluation_set():
    with pytest.raises(InputError, match="whole numbers"):
        SequenceTagger(features="words").fit(X, Y, eval_set=(X, [[1, 2], [2]]))
