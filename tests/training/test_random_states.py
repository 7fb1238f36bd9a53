"""A random state of numpy may stand where a seed may: a seed is drawn from it."""

import numpy as np
import pytest
from sklearn.base import clone
from support.custom_chains import Majority

from marginloom import (
    CustomEstimator,
    InputError,
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    make_tagging,
)

VOTES = [(2, 1, 0), (0, 3, 1), (1, 0, 4), (3, 1, 1)] * 3


def fitted(kind, random_state):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    options = {"random_state": random_state, "max_iter": 2}
    match kind:
        case "tag":
            return SequenceTagger(features="words", tol=1e-9, **options).fit(*make_tagging(30, seed=0))
        case "classify":
            return MulticlassClassifier(algorithm="sgd", **options).fit(X, rng.integers(0, 3, 40))
        case "multilabel":
            return MultilabelClassifier(algorithm="perceptron", **options).fit(X, rng.integers(0, 2, (40, 3)))
        case "custom":
            return CustomEstimator(task=Majority, algorithm="perceptron", **options).fit(
                VOTES, [int(np.argmax(votes)) for votes in VOTES]
            )


@pytest.mark.parametrize("kind", ["tag", "classify", "multilabel", "custom"])
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_random_state_gives_the_seed(kind, make):
    drawn = fitted(kind, make(7))
    seed = drawn.model_.settings["seed"]
    assert drawn.model_.settings["seed"] == fitted(kind, make(7)).model_.settings["seed"]
    assert np.array_equal(drawn.model_.weights, fitted(kind, seed).model_.weights)


def test_every_fit_draws_another_seed_and_a_clone_draws_the_same():
    estimator = SequenceTagger(features="words", max_iter=1, random_state=np.random.RandomState(0))
    copy = clone(estimator)
    data = make_tagging(10, seed=0)
    seeds = [estimator.fit(*data).model_.settings["seed"] for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert copy.fit(*data).model_.settings["seed"] == seeds[0]


def test_a_saved_model_knows_the_seed_that_was_drawn(tmp_path):
    estimator = fitted("tag", np.random.default_rng(3))
    estimator.save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").random_state == estimator.model_.settings["seed"]


@pytest.mark.parametrize("wrong", ["seed", 0.5, -1, np.random])
def test_anything_else_is_refused(wrong):
    with pytest.raises(InputError, match="random_state must be"):
        fitted("tag", wrong)
