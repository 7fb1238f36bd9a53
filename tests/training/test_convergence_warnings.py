"""Training that ends without its tolerance says so, and says what to do."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from marginloom import Callback, SequenceTagger, make_tagging


def fit(**parameters):
    callbacks = parameters.pop("callbacks", ())
    return SequenceTagger(features="words", **parameters).fit(*make_tagging(40), callbacks=callbacks)


class Enough(Callback):
    """Stops after the first pass."""

    stop_reason = "callback"

    def after_iteration(self, run, row):
        return True


def test_passes_that_do_not_suffice_are_warned_of_with_the_gap_and_what_to_do():
    with pytest.warns(
        ConvergenceWarning, match=r"after 1 passes the gap is 0\.\d+, and tol asks for 0.001;.*--max-iter"
    ):
        tagger = fit(max_iter=1, tol=0.001)
    assert tagger.certificate_.gap > 0.001


@pytest.mark.parametrize(
    "parameters",
    [
        {"tol": 0.1},
        {"algorithm": "averaged-perceptron", "max_iter": 1},
        {"algorithm": "sgd", "max_iter": 1},
        {"max_iter": 5, "tol": 0.001, "callbacks": [Enough()]},
    ],
    ids=["within its tolerance", "perceptron", "sgd", "stopped by a callback"],
)
def test_nothing_is_said_where_there_is_nothing_to_reach(parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fit(**parameters)
