"""Estimators have the manners that scikit-learn's own tools count on."""

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from support.custom_chains import Majority, votes

import marginloom
from marginloom import (
    DCD,
    CustomEstimator,
    DependencyParser,
    InputError,
    MulticlassClassifier,
    RelationExtractor,
    SequenceTagger,
    make_relations,
    make_tagging,
)
from marginloom.tasks.parse.datasets import make_treebank


@dataclasses.dataclass(frozen=True)
class Case:
    estimator: Any
    X: Any
    y: Any
    shown: str


def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.array(["ant", "bee", "cat"])[X[:, :3].argmax(axis=1)]


def sentences_and_gold():
    X, y = [], []
    for made in make_relations(30, seed=0):
        spans = [{"start": entity["start"], "end": entity["end"]} for entity in made["entities"]]
        X.append({"tokens": made["tokens"], "entities": spans})
        y.append({"entities": made["entities"], "relations": made["relations"]})
    return X, y


CASES = {
    "tag": Case(
        SequenceTagger(features="words", C=0.5),
        *make_tagging(30, seed=0),
        "SequenceTagger(C=0.5, features='words')",
    ),
    "parse": Case(
        DependencyParser(labelled=True, hash_bits=12, C=0.5),
        *make_treebank(15, seed=0),
        "DependencyParser(C=0.5, hash_bits=12, labelled=True)",
    ),
    "parse, second order": Case(
        DependencyParser(order=2, hash_bits=12, C=0.5),
        *make_treebank(8, seed=0),
        "DependencyParser(C=0.5, hash_bits=12, order=2)",
    ),
    "classify": Case(MulticlassClassifier(C=0.5), *classes(), "MulticlassClassifier(C=0.5)"),
    "relations": Case(
        RelationExtractor(missed_relation_loss=2.0, C=0.5),
        *sentences_and_gold(),
        "RelationExtractor(C=0.5, missed_relation_loss=2.0)",
    ),
    "custom": Case(
        CustomEstimator(task=Majority, C=0.5),
        *votes(30),
        "CustomEstimator(C=0.5, task=<class 'support.custom_chains.Majority'>)",
    ),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_parameters_are_those_of_the_constructor(case):
    parameters = case.estimator.get_params()
    again = type(case.estimator)(**parameters)
    assert again.get_params() == parameters
    assert again.set_params(C=2.0).get_params() == {**parameters, "C": 2.0}


def test_repr_shows_what_differs_from_the_defaults(case):
    assert " ".join(repr(case.estimator).split()) == case.shown


def test_a_clone_trains_to_the_same_weights(case):
    first, second = (clone(case.estimator).fit(case.X, case.y) for _ in range(2))
    assert not hasattr(clone(first), "model_")
    assert np.array_equal(first.model_.weights, second.model_.weights)


def test_pickles_predict_and_score_the_same(case):
    unfitted = pickle.loads(pickle.dumps(case.estimator))
    assert unfitted.get_params() == case.estimator.get_params()
    fitted = unfitted.fit(case.X, case.y)
    again = pickle.loads(pickle.dumps(fitted))
    assert list(again.predict(case.X)) == list(fitted.predict(case.X))
    assert again.score(case.X, case.y) == fitted.score(case.X, case.y)


def test_cross_validation_scores_what_the_folds_predict(case):
    scores = cross_val_score(case.estimator, case.X, case.y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    found = cross_val_predict(case.estimator, case.X, case.y, cv=3)
    assert found.shape == (len(case.X),)
    assert type(found[0]) is type(clone(case.estimator).fit(case.X, case.y).predict(case.X)[0])


def test_grid_search_refits_the_best(case):
    search = GridSearchCV(case.estimator, {"C": [0.01, 1.0], "random_state": [0, 1]}, cv=2, n_jobs=1)
    search.fit(case.X, case.y)
    best = clone(case.estimator).set_params(**search.best_params_).fit(case.X, case.y)
    assert np.array_equal(search.best_estimator_.model_.weights, best.model_.weights)
    assert search.score(case.X, case.y) == best.score(case.X, case.y)


def test_load_returns_the_right_estimator_for_any_model(case, tmp_path):
    fitted = clone(case.estimator).fit(case.X, case.y)
    fitted.save(tmp_path / "model")
    task = {"task": case.estimator.task} if isinstance(case.estimator, CustomEstimator) else {}
    loaded = marginloom.load(tmp_path / "model", **task)
    assert type(loaded) is type(fitted)
    assert np.array_equal(loaded.predict(case.X), fitted.predict(case.X))


def reloaded(fitted, path):
    fitted.save(path)
    return marginloom.load(path, **({"task": fitted.task} if isinstance(fitted, CustomEstimator) else {}))


def test_a_loaded_estimator_has_the_parameters_of_the_saved_one(case, tmp_path):
    fitted = clone(case.estimator).fit(case.X, case.y)
    loaded = reloaded(fitted, tmp_path / "model")
    assert loaded.get_params() == case.estimator.get_params()
    assert loaded.algorithm == "auto"
    assert loaded.algorithm_ == fitted.algorithm_
    assert np.array_equal(clone(loaded).fit(case.X, case.y).model_.weights, fitted.model_.weights)


def test_a_loaded_estimator_leaves_the_choice_to_the_next_fit(tmp_path):
    tagger = SequenceTagger(features="words").fit(*make_tagging(30))
    loaded = reloaded(tagger, tmp_path / "model")
    assert loaded.algorithm_ == "dcd-ssvm"
    loaded.set_params(n_threads=2).fit(*make_tagging(30))
    assert loaded.algorithm_ == "shared-dcd"
    assert loaded.choice_ is not None


@pytest.mark.parametrize(
    "parameters",
    [
        {"algorithm": "sgd", "max_iter": 3},
        {"algorithm": "dcd-ssvm", "learner": {"delta": 0.1}, "engine": "master-worker", "n_threads": 2},
        {"learner": {"k_best": 2}, "tol": 0.1, "loss": "hinge", "memory": "100M", "reproducible": True},
        {"random_state": None, "constraints": [("DET", "VERB")], "label_costs": {"NOUN": 2.0}},
    ],
    ids=lambda parameters: " ".join(parameters),
)
def test_parameters_that_were_given_come_back_from_a_file(parameters, tmp_path):
    tagger = SequenceTagger(features="words", **parameters)
    assert reloaded(tagger.fit(*make_tagging(30)), tmp_path / "model").get_params() == tagger.get_params()


def test_ready_learners_and_random_states_come_back_as_what_they_stand_for(tmp_path):
    X, y = make_tagging(30)
    tagger = SequenceTagger("dcd-ssvm", learner=DCD(sweeps=2), random_state=np.random.RandomState(3)).fit(X, y)
    loaded = reloaded(tagger, tmp_path / "model")
    assert loaded.learner == dataclasses.asdict(DCD(sweeps=2))
    assert np.array_equal(clone(loaded).fit(X, y).model_.weights, tagger.model_.weights)


def test_one_example_is_predicted_as_among_others(case):
    fitted = clone(case.estimator).fit(case.X, case.y)
    assert [fitted.predict_single(x) for x in case.X[:3]] == list(fitted.predict(case.X[:3]))


def test_one_row_of_a_sparse_matrix_is_one_example():
    X, y = classes()
    fitted = MulticlassClassifier().fit(csr_matrix(X), y)
    assert fitted.predict_single(csr_matrix(X)[:1]) == fitted.predict(X[:1])[0]
    assert fitted.predict_single(X[0]) == fitted.predict(X[:1])[0]


def test_a_custom_model_asks_for_its_class(tmp_path):
    X, y = votes(10)
    CustomEstimator(task=Majority).fit(X, y).save(tmp_path / "model")
    with pytest.raises(InputError, match="task="):
        marginloom.load(tmp_path / "model")


def test_a_class_is_for_custom_models_only(tmp_path):
    MulticlassClassifier().fit(*classes()).save(tmp_path / "model")
    with pytest.raises(InputError, match="custom"):
        marginloom.load(tmp_path / "model", task=Majority)


def test_weights_of_custom_estimators_can_be_read_and_not_changed():
    fitted = CustomEstimator(task=Majority).fit(*votes(10))
    assert np.array_equal(fitted.weights_, fitted.model_.weights)
    with pytest.raises(ValueError, match="read-only"):
        fitted.weights_[0] = 1.0
