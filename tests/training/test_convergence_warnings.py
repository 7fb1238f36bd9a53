"""Training that ends without its tolerance says so, and says what to do."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import (
    Callback,
    Checkpoint,
    DependencyParser,
    MulticlassClassifier,
    SequenceTagger,
    make_tagging,
    make_treebank,
)
from marginloom.training.certificate import Certificate
from marginloom.training.convergence import shortfall
from marginloom.training.train import train


def fit(**parameters):
    callbacks = parameters.pop("callbacks", ())
    return SequenceTagger(features="words", **parameters).fit(*make_tagging(40), callbacks=callbacks)


class Enough(Callback):
    """Stops after the first pass."""

    stop_reason = "callback"

    def after_iteration(self, run, row):
        return True


def test_passes_that_do_not_suffice_are_warned_of_with_the_gap_and_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"after 1 pass the gap is 0\.\d+, and tol is 0.001\. Try.*--max-iter"):
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


FITTED = ("model_", "certificate_", "history_", "n_iter_", "stopped_", "algorithm_", "classes_")


def test_estimator_is_fitted_before_a_warning_that_is_an_error(tmp_path):
    tagger = SequenceTagger(features="words", max_iter=1, tol=1e-6)
    checkpoint = Checkpoint(tmp_path / "run", interval=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            tagger.fit(*make_tagging(40), checkpoint=checkpoint)
    assert [name for name in FITTED if not hasattr(tagger, name)] == []
    assert tagger.stopped_ == "iterations"
    assert len(tagger.history_) == tagger.n_iter_ == 1
    assert not checkpoint.exists()
    tagger.save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").predict([["the"]]) == tagger.predict([["the"]])


def test_warning_points_to_where_training_was_called():
    with pytest.warns(ConvergenceWarning) as told:
        SequenceTagger(features="words", max_iter=1, tol=1e-6).fit(*make_tagging(40))
    assert [warning.filename for warning in told] == [__file__]
    with pytest.warns(ConvergenceWarning) as told:
        train(make_task(TinyChains(0), "valued"), max_iter=1, tol=1e-9)
    assert [warning.filename for warning in told] == [__file__]


def said_of(gap, tol):
    return shortfall("iterations", Certificate(1.0, 1.0 - gap, gap, exact=True), 7, tol)


def test_gap_and_tolerance_are_never_shown_as_the_same_number():
    draw = np.random.default_rng(5)
    for _ in range(300):
        tol = float(10 ** draw.uniform(-12, 0))
        gap = tol * (1 + float(10 ** draw.uniform(-15, 1)))
        words = said_of(gap, tol).replace(",", " ").replace(". Try", " ").split()
        shown, asked = (float(words[words.index(before) + 2]) for before in ("gap", "tol"))
        assert asked == tol
        assert shown > tol or gap == tol, (gap, tol, shown)


def test_gap_has_no_more_digits_than_that_takes():
    assert "the gap is 0.013, and tol is 0.01." in said_of(0.01312345, 0.01)
    assert "the gap is 0.010004, and tol is 0.01." in said_of(0.0100041234, 0.01)
    assert "tol is 0.01." in said_of(0.5, np.float64(0.01))


def advice(estimator, X, y):
    with pytest.warns(ConvergenceWarning) as told:
        estimator.set_params(max_iter=1, tol=1e-9).fit(X, y)
    return str(told[0].message)


def test_scaling_is_advised_where_features_have_sizes_and_nowhere_else():
    draw = np.random.default_rng(0)
    rows, classes = draw.normal(size=(3000, 4)), draw.integers(3, size=3000)
    assert "scaling the features" in advice(MulticlassClassifier("dcd-ssvm"), rows, classes)
    assert "scaling the features" in advice(
        SequenceTagger(features=None), [[{"a": 1, "b": 2.5}]] * 20, [["X"], ["Y"]] * 10
    )
    assert "scaling" not in advice(MulticlassClassifier("dcd-ssvm"), csr_matrix(rows > 0.5), classes)
    assert "scaling" not in advice(SequenceTagger(features="words"), *make_tagging(40))
    assert "scaling" not in advice(DependencyParser(), *make_treebank(20))
