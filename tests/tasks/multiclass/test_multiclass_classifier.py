"""MulticlassClassifier: scikit-learn's manners, the right optimum, weights of classes and examples, costs, files."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginloom import Callback, EarlyStopping, InputError, ModelFileError, MulticlassClassifier, SequenceTagger


@parametrize_with_checks([MulticlassClassifier()])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    """Three classes that overlap a little."""
    X, y = make_blobs(90, 4, centers=3, cluster_std=4.0, random_state=0)
    return X / 10, np.array(["ant", "bee", "cat"])[y]


def objective(classifier, X, y, *, costs=None, weights=None, squared=True):
    """Compute 1/2 |w|^2 + sum_i C_i loss(slack_i) of a fitted classifier, straight from its definition."""
    scaling = classifier.intercept_scaling if classifier.fit_intercept else 1.0
    w = np.column_stack([classifier.coef_, classifier.intercept_ / scaling])
    return objective_of(w, classifier, X, y, costs=costs, weights=weights, squared=squared)


def objective_of(w, classifier, X, y, *, costs=None, weights=None, squared=True):
    classes = list(classifier.classes_)
    gold = np.array([classes.index(label) for label in y])
    bias = classifier.intercept_scaling if classifier.fit_intercept else 0.0
    scores = np.column_stack([X, np.full(len(X), bias)]) @ w.T
    costs = 1 - np.eye(len(classes)) if costs is None else costs
    slack = (costs[gold] + scores - scores[np.arange(len(gold)), gold][:, None]).max(axis=1)
    weights = np.ones(len(gold)) if weights is None else weights
    return (w**2).sum() / 2 + classifier.C * (weights * (slack**2 if squared else slack)).sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_reaches_the_optimum_that_a_general_minimiser_finds(blobs, fit_intercept):
    X, y = blobs
    classifier = MulticlassClassifier(C=0.5, tol=1e-6, max_iter=1000, fit_intercept=fit_intercept).fit(X, y)
    shape = (3, 5)
    best = minimize(
        lambda w: objective_of(w.reshape(shape), classifier, X, y), np.zeros(15), options={"maxiter": 1000}
    ).fun
    assert objective(classifier, X, y) == pytest.approx(classifier.certificate_.primal, rel=1e-9)
    assert classifier.certificate_.primal == pytest.approx(best, rel=1e-4)
    assert classifier.certificate_.dual <= best * (1 + 1e-6)
    assert np.any(classifier.intercept_) == fit_intercept


def test_scaling_holds_the_intercept_down_less(blobs):
    X, y = blobs
    shifted = X + 5.0
    small, large = (
        MulticlassClassifier(C=0.5, tol=1e-4, max_iter=1000, intercept_scaling=scaling).fit(shifted, y)
        for scaling in (0.1, 10.0)
    )
    assert np.abs(large.intercept_).max() > np.abs(small.intercept_).max()
    assert objective(large, shifted, y) == pytest.approx(large.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("layout", [csr_matrix, csr_array, lambda X: X.astype(np.float32), np.asfortranarray, list])
def test_inputs_of_every_kind_give_the_same_classifier(blobs, layout):
    X, y = blobs
    X = X.astype(np.float32).astype(np.float64)
    expected = MulticlassClassifier(C=1.0).fit(X, y)
    found = MulticlassClassifier(C=1.0).fit(layout(X), y)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-6)
    assert found.predict(layout(X)).tolist() == expected.predict(X).tolist()


def test_scores_are_products_of_inputs_and_coefficients(blobs):
    X, y = blobs
    classifier = MulticlassClassifier(C=1.0).fit(X, y)
    scores = classifier.decision_function(X)
    assert scores == pytest.approx(X @ classifier.coef_.T + classifier.intercept_)
    assert classifier.predict(X).tolist() == classifier.classes_[scores.argmax(axis=1)].tolist()
    best = classifier.predict_k_best(X, k=2)
    for row, found in zip(scores, best, strict=True):
        order = np.argsort(-row)[:2]
        assert [label for label, _ in found] == classifier.classes_[order].tolist()
        assert [score for _, score in found] == pytest.approx(row[order].tolist())
    assert [len(found) for found in classifier.predict_k_best(X[:2], k=10)] == [3, 3]


def test_two_classes_have_one_decision_and_two_rows_of_coefficients(blobs):
    X, y = blobs
    two = y != "cat"
    classifier = MulticlassClassifier(C=1.0).fit(X[two], y[two])
    decisions = classifier.decision_function(X[two])
    assert decisions.shape == (two.sum(),)
    assert classifier.coef_.shape == (2, 4)
    assert classifier.predict(X[two]).tolist() == np.where(decisions > 0, "bee", "ant").tolist()
    assert decisions == pytest.approx(X[two] @ np.diff(classifier.coef_, axis=0)[0] + np.diff(classifier.intercept_))


@pytest.mark.parametrize(
    "names", [["b", "a", "c"], [7, -3, 2], [2.0, 1.0, 3.0], np.array(["x", "y", "zz"], dtype=object)], ids=repr
)
def test_classes_may_be_strings_or_whole_numbers(blobs, tmp_path, names):
    X, y = blobs
    labels = np.array(names)[np.unique(y, return_inverse=True)[1]]
    classifier = MulticlassClassifier(C=1.0).fit(X, labels)
    assert classifier.classes_.tolist() == sorted(names)
    assert classifier.classes_.dtype == labels.dtype
    assert classifier.score(X, labels) > 0.8
    classifier.save(tmp_path / "m")
    loaded = MulticlassClassifier.load(tmp_path / "m")
    assert loaded.predict(X).tolist() == classifier.predict(X).tolist()
    assert loaded.evaluate(X, labels) == classifier.evaluate(X, labels)


def test_weights_of_examples_count_as_repetitions(blobs):
    X, y = blobs
    repeats = np.arange(len(y)) % 3
    settings = {"C": 0.5, "tol": 1e-6, "max_iter": 2000}
    weighted = MulticlassClassifier(**settings).fit(X, y, sample_weight=repeats)
    repeated = MulticlassClassifier(**settings).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-5)
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-2)
    assert objective(weighted, X, y, weights=repeats) == pytest.approx(weighted.certificate_.primal, rel=1e-9)


def test_weights_of_absent_classes_are_ignored_where_all_classes_have_one(blobs):
    X, y = blobs
    weights = {"ant": 3.0, "bee": 0.5, "cat": 1.0}
    classifier = MulticlassClassifier(class_weight={**weights, "dog": 7.0}).fit(X, y)
    assert np.array_equal(classifier.coef_, MulticlassClassifier(class_weight=weights).fit(X, y).coef_)
    with pytest.raises(InputError, match="the weight of class 'dog'"):
        MulticlassClassifier(class_weight={**weights, "dog": -7.0}).fit(X, y)


def test_class_weights_multiply_the_weights_of_examples(blobs):
    X, y = blobs
    rng = np.random.default_rng(0)
    given = rng.uniform(0.5, 2.0, len(y))
    classifier = MulticlassClassifier(C=0.5, class_weight={"ant": 3.0, "bee": 0.0}).fit(X, y, sample_weight=given)
    factors = np.select([y == "ant", y == "bee"], [3.0, 0.0], 1.0)
    direct = MulticlassClassifier(C=0.5).fit(X, y, sample_weight=given * factors)
    assert np.array_equal(classifier.coef_, direct.coef_)


def test_balanced_classes_weigh_the_same_together(blobs):
    X, y = blobs
    kept = np.flatnonzero((y != "ant") | (np.arange(len(y)) % 5 == 0))
    X, y = X[kept], y[kept]
    counts = {label: np.count_nonzero(y == label) for label in np.unique(y)}
    expected = MulticlassClassifier(class_weight={label: len(y) / (3 * n) for label, n in counts.items()}).fit(X, y)
    assert np.array_equal(MulticlassClassifier(class_weight="balanced").fit(X, y).coef_, expected.coef_)


def test_cost_matrix_is_the_loss(blobs):
    X, y = blobs
    costs = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [0.5, 2.0, 0.0]])
    classifier = MulticlassClassifier(C=0.5, cost_matrix=costs, loss="hinge").fit(X, y)
    assert objective(classifier, X, y, costs=costs, squared=False) == pytest.approx(classifier.certificate_.primal)
    pairs = {("ant", "bee"): 5.0, ("cat", "ant"): 0.5, ("cat", "bee"): 2.0}
    assert np.array_equal(
        classifier.coef_, MulticlassClassifier(C=0.5, cost_matrix=pairs, loss="hinge").fit(X, y).coef_
    )
    gold, guess = (np.unique(labels, return_inverse=True)[1] for labels in (y, classifier.predict(X)))
    assert classifier.evaluate(X, y)["mean_cost"] == pytest.approx(costs[gold, guess].mean())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"class_weight": "heavy"}, "class_weight must be 'balanced' or a dict"),
        ({"class_weight": {"dog": 2.0}}, "'dog' is not a label"),
        ({"class_weight": {"ant": 2.0, "bee": 1.0, "dog": 2.0}}, "'dog' is not a label"),
        ({"class_weight": {"ant": -1.0}}, "the weight of class 'ant'"),
        ({"cost_matrix": np.ones((3, 3))}, "0 on the diagonal"),
        ({"cost_matrix": np.zeros((2, 2))}, "shape"),
        ({"cost_matrix": [["a"]]}, "cost_matrix must be a matrix of numbers"),
        ({"cost_matrix": {("ant", "dog"): 1.0}}, "'dog' is not a label"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be a positive number"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"algorithm": "svm"}, "there is no algorithm 'svm'"),
    ],
    ids=repr,
)
def test_wrong_parameters_are_named(blobs, settings, said):
    with pytest.raises(InputError, match=said):
        MulticlassClassifier(**settings).fit(*blobs)


def test_one_class_is_an_error(blobs):
    with pytest.raises(InputError, match="only one class, 'ant'"):
        MulticlassClassifier().fit(blobs[0], ["ant"] * len(blobs[1]))


def test_unknown_class_is_an_error_in_evaluation_and_an_error_of_prediction_in_score(blobs):
    X, y = blobs
    classifier = MulticlassClassifier(C=1.0).fit(X, y)
    other = np.where(y == "ant", "dog", y)
    for call in (lambda: classifier.evaluate(X, other), lambda: MulticlassClassifier().fit(X, y, eval_set=(X, other))):
        with pytest.raises(InputError, match="classes that training did not see: 'dog'"):
            call()
    right = classifier.predict(X) == y
    assert classifier.score(X, other) == pytest.approx(np.mean(right & (y != "ant")))


def test_evaluation_gives_scores_of_all_classes_together_and_of_each(blobs):
    X, y = blobs
    classifier = MulticlassClassifier(C=1.0).fit(X, y)
    scores = classifier.evaluate(X, y)
    assert scores["accuracy"] == classifier.score(X, y)
    assert list(scores["per_label"]) == ["ant", "bee", "cat"]
    ant = scores["per_label"]["ant"]
    predicted = classifier.predict(X)
    assert ant["precision"] == pytest.approx(np.mean(y[predicted == "ant"] == "ant"))
    assert ant["recall"] == pytest.approx(np.mean(predicted[y == "ant"] == "ant"))
    assert ant["support"] == 30
    assert scores["macro_f1"] == pytest.approx(np.mean([values["f1"] for values in scores["per_label"].values()]))


def test_evaluation_set_is_scored_after_every_iteration(blobs):
    X, y = blobs
    seen = []

    class Watch(Callback):
        def after_iteration(self, run, row):
            seen.append(row["scores"]["dev"])
            return len(seen) == 3

    classifier = MulticlassClassifier(tol=1e-9).fit(X, y, eval_set=(X, y), callbacks=[Watch()])
    assert classifier.n_iter_ == 3
    assert classifier.stopped_ == "callback"
    assert seen[-1]["accuracy"] == pytest.approx(classifier.score(X, y))
    assert [row["scores"]["dev"] for row in classifier.history_] == seen
    with pytest.raises(InputError, match="eval_set must be a tuple"):
        MulticlassClassifier().fit(X, y, eval_set=X)


def test_early_stopping_watches_the_accuracy(blobs):
    X, y = blobs
    stopping = EarlyStopping(patience=2)
    classifier = MulticlassClassifier(tol=1e-12).fit(X, y, eval_set=(X, y), callbacks=[stopping])
    watched = [row["scores"]["dev"]["accuracy"] for row in classifier.history_]
    assert classifier.stopped_ == "early"
    assert classifier.score(X, y) == max(watched)
    assert len(watched) == watched.index(max(watched)) + 1 + 2


def test_saved_classifier_is_the_same(blobs, tmp_path):
    X, y = blobs
    settings = {"C": 0.7, "loss": "hinge", "class_weight": {"ant": 2.0}, "intercept_scaling": 2.0, "random_state": 3}
    costs = 2 * (1 - np.eye(3))
    classifier = MulticlassClassifier("dcd-ssvm", **settings, cost_matrix=costs, learner={"k_best": 2}).fit(X, y)
    classifier.save(tmp_path / "m")
    loaded = MulticlassClassifier.load(tmp_path / "m")
    assert {name: loaded.get_params()[name] for name in settings} == settings
    assert loaded.learner["k_best"] == 2
    assert np.array_equal(loaded.cost_matrix, costs)
    assert np.array_equal(loaded.coef_, classifier.coef_)
    assert np.array_equal(loaded.decision_function(X), classifier.decision_function(X))
    assert loaded.certificate_ == classifier.certificate_
    assert (loaded.n_iter_, loaded.stopped_) == (classifier.n_iter_, classifier.stopped_)
    assert loaded.n_features_in_ == 4
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    with pytest.raises(ModelFileError, match="task 'classify', expected 'tag'"):
        SequenceTagger.load(tmp_path / "m")


def test_small_problems_are_solved_beyond_the_tolerance_and_larger_ones_are_not(blobs):
    X, y = blobs
    small = MulticlassClassifier(tol=0.1).fit(X[:20], y[:20])
    assert small.certificate_.gap <= 1e-9
    assert small.stopped_ == "tolerance"
    assert small.history_[-1]["inferences"] <= 2_000
    middle = MulticlassClassifier(tol=0.1).fit(X, y)
    assert middle.stopped_ == "tolerance"
    assert 2_000 <= middle.history_[-1]["inferences"] < 2_000 + len(y) or middle.certificate_.gap <= 1e-9
    larger = MulticlassClassifier(tol=0.1).fit(np.tile(X, (30, 1)), np.tile(y, 30))
    assert 1e-9 < larger.certificate_.gap <= 0.1
    assert MulticlassClassifier(tol=0.1, loss="hinge").fit(X, y).stopped_ == "tolerance"


def test_warm_start_goes_on_from_the_dual_variables(blobs):
    X, y = blobs
    classifier = MulticlassClassifier(C=1.0, max_iter=2, warm_start=True).fit(X, y)
    first = classifier.certificate_
    classifier.set_params(tol=1e-4, max_iter=500).fit(X, y)
    fresh = MulticlassClassifier(C=1.0, tol=1e-4, max_iter=500).fit(X, y)
    assert classifier.certificate_.gap <= 1e-4 < first.gap
    assert classifier.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=1e-3)
    with pytest.raises(InputError, match="other training examples"):
        classifier.fit(X, y[::-1])


def test_checkpoint_is_removed_at_the_end(blobs, tmp_path):
    X, y = blobs
    plain = MulticlassClassifier(C=1.0).fit(X, y)
    saved = MulticlassClassifier(C=1.0).fit(X, y, checkpoint=tmp_path / "run", resume=True)
    assert np.array_equal(plain.coef_, saved.coef_)
    assert not (tmp_path / "run").exists()


def test_interrupted_training_leaves_a_usable_classifier(blobs):
    X, y = blobs

    class CtrlC(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                raise KeyboardInterrupt
            return False

    classifier = MulticlassClassifier(tol=1e-9)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 2 iterations"):
        classifier.fit(X, y, callbacks=[CtrlC()])
    assert classifier.stopped_ == "interrupted"
    assert classifier.classes_.dtype == MulticlassClassifier().fit(X, y).classes_.dtype
    assert classifier.score(X, y) > 0.5


def test_not_fitted_yet(blobs, tmp_path):
    for call in ("predict", "decision_function", "predict_k_best"):
        with pytest.raises(NotFittedError, match="MulticlassClassifier is not fitted"):
            getattr(MulticlassClassifier(), call)(blobs[0])
    with pytest.raises(NotFittedError):
        MulticlassClassifier().save(tmp_path / "m")
    assert not hasattr(MulticlassClassifier(), "coef_")


def test_documentation_holds_the_common_parameters():
    for documented in (MulticlassClassifier, SequenceTagger):
        names = set(documented().get_params())
        text = inspect.cleandoc(documented.__doc__)  # some versions of Python strip the indentation themselves
        assert not re.search(r"\{[a-z ]", text)  # a shared text that was not filled in
        for name in names - {"learner", "engine"}:
            assert f"\n{name} : " in text
        assert "\nlearner, engine : " in text
        assert "\nresume : bool" in inspect.cleandoc(documented.fit.__doc__)


def test_works_in_pipelines_and_searches():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    pipeline = make_pipeline(StandardScaler(), MulticlassClassifier(tol=0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(pipeline, {"multiclassclassifier__C": [1e-4, 0.01]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.85
    assert clone(search.best_estimator_[-1]).get_params()["C"] == search.best_params_["multiclassclassifier__C"]
