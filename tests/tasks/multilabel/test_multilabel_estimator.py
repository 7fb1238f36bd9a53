"""MultilabelClassifier."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as reference
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from marginloom import InputError, ModelFileError, MultilabelClassifier, SequenceTagger
from marginloom.tasks.multilabel import metrics

NAMES = ["blue", "green", "red"]


def problem(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    return X, (X @ rng.normal(size=(5, 3)) > 0.4).astype(int)


def as_lists(y):
    return [[NAMES[label] for label in np.flatnonzero(row)] for row in y]


X, Y = problem()


def test_predictions_are_of_the_kind_that_fit_got():
    options = {"C": 1.0, "max_iter": 30}
    dense = MultilabelClassifier(**options).fit(X, Y).predict(X)
    assert isinstance(dense, np.ndarray)
    assert (dense == Y).mean() > 0.9
    from_sparse = MultilabelClassifier(**options).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y)).predict(X)
    assert sparse.issparse(from_sparse)
    assert (from_sparse.toarray() == dense).all()
    lists = MultilabelClassifier(**options).fit(X, as_lists(Y))
    assert lists.classes_.tolist() == NAMES
    assert lists.predict(X) == as_lists(dense)
    assert [] in lists.predict(X)
    assert [best[0][0] for best in lists.predict_k_best(X, 2)] == lists.predict(X)


def test_scores_of_labels_are_linear_and_decide_where_labels_do_not_interact():
    classifier = MultilabelClassifier(C=1.0, max_iter=30, normalize=False).fit(X, Y)
    assert classifier.coef_.shape == (3, 5)
    scores = classifier.decision_function(sparse.csr_matrix(X))
    assert scores == pytest.approx(X @ classifier.coef_.T + classifier.intercept_)
    assert ((scores > 0) == classifier.predict(X)).all()
    bare = MultilabelClassifier(C=1.0, max_iter=30, fit_intercept=False).fit(X, Y)
    assert not bare.intercept_.any()
    assert classifier.intercept_.any()


def test_labels_that_have_their_own_slack_are_binary_svms_for_the_squared_hinge_too():
    options = {
        "C": 0.5,
        "loss": "squared_hinge",
        "tol": 1e-4,
        "max_iter": 2000,
        "label_costs": None,
        "normalize": False,
    }
    classifier = MultilabelClassifier(**options).fit(X, Y)
    for label in range(3):
        svm = LinearSVC(C=0.5, tol=1e-8, max_iter=100_000).fit(X, Y[:, label])
        assert classifier.coef_[label] == pytest.approx(svm.coef_[0], abs=0.02)
    whole = MultilabelClassifier(labels_per_slack=3, **options).fit(X, Y)
    assert whole.certificate_.dual > classifier.certificate_.primal  # the square of a sum, not the sum of squares


@pytest.mark.parametrize(("interactions", "count"), [("tree", 2), ("full", 3), ([("red", "blue")], 1)])
def test_interactions_are_learnt_kept_and_used(interactions, count, tmp_path):
    y = as_lists(Y | np.array([[0, 0, 1]]) * Y[:, :1])
    classifier = MultilabelClassifier(C=1.0, max_iter=50, interactions=interactions).fit(X, y)
    assert len(classifier.pairs_) == len(classifier.pair_weights_) == count
    assert classifier.pair_weights_.any()
    classifier.save(tmp_path / "model")
    loaded = MultilabelClassifier.load(tmp_path / "model")
    assert loaded.pairs_ == classifier.pairs_
    assert loaded.interactions == interactions
    assert loaded.predict(X) == classifier.predict(X)
    assert [best[0][0] for best in loaded.predict_k_best(X, 2)] == loaded.predict(X)


def test_a_saved_model_is_the_same(tmp_path):
    costs = {0: (2.0, 1.0), 2: (0.5, 0.5)}
    classifier = MultilabelClassifier("fsmo", C=0.7, loss="hinge", max_iter=20, label_costs=costs)
    classifier.fit(X, sparse.csr_matrix(Y))
    classifier.save(tmp_path / "model")
    loaded = MultilabelClassifier.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(classifier))):
        assert (other.predict(X) != classifier.predict(X)).nnz == 0
        assert other.certificate_ == classifier.certificate_
    same = {"algorithm", "C", "loss", "label_costs", "interactions", "fit_intercept"}
    assert {name: loaded.get_params()[name] for name in same} == {name: getattr(classifier, name) for name in same}
    assert clone(loaded).get_params() == loaded.get_params()
    with pytest.raises(ModelFileError, match="task 'multilabel'"):
        SequenceTagger.load(tmp_path / "model")


def test_missing_labels_can_cost_more():
    y = (X @ np.ones((5, 3)) + np.random.default_rng(1).normal(size=(80, 3)) * 3 > 1).astype(int)
    counts = [
        MultilabelClassifier(C=1.0, max_iter=50, label_costs=costs).fit(X, y).predict(X).sum()
        for costs in [(1, 4), None, (4, 1)]
    ]
    assert counts[0] < counts[1] < counts[2]


def test_weights_of_examples_count_as_repetitions():
    weights = np.arange(80) % 3
    repeated = np.repeat(np.arange(80), weights)
    options = {"C": 0.5, "tol": 1e-4, "max_iter": 2000}
    weighted = MultilabelClassifier(**options).fit(X, Y, weights)
    longer = MultilabelClassifier(**options).fit(X[repeated], Y[repeated])
    assert weighted.certificate_.primal == pytest.approx(longer.certificate_.primal, rel=2e-4)


def test_evaluation_agrees_with_scikit_learn():
    classifier = MultilabelClassifier(C=1.0, max_iter=5).fit(X[:40], Y[:40], eval_set=(X[40:], Y[40:]))
    predicted = classifier.predict(X[40:])
    expected = {
        "micro_f1": reference.f1_score(Y[40:], predicted, average="micro"),
        "macro_f1": reference.f1_score(Y[40:], predicted, average="macro"),
        "hamming_loss": reference.hamming_loss(Y[40:], predicted),
        "subset_accuracy": reference.accuracy_score(Y[40:], predicted),
    }
    scores = classifier.evaluate(X[40:], Y[40:])
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    for average in ("macro", "weighted"):
        found = reference.precision_recall_fscore_support(Y[40:], predicted, average=average, zero_division=0.0)[:3]
        assert [scores[f"{average}_{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(found)
    per_label = np.array(reference.precision_recall_fscore_support(Y[40:], predicted, zero_division=0.0)).T
    assert [list(row.values()) for row in scores["per_label"].values()] == pytest.approx(per_label)
    assert classifier.score(X[40:], Y[40:]) == pytest.approx(expected["subset_accuracy"])
    assert classifier.history_[-1]["scores"]["dev"] == pytest.approx(expected)
    lists = [[int(label) for label in np.flatnonzero(row)] for row in Y[40:]]
    assert classifier.evaluate(X[40:], lists) == scores


def test_labels_that_training_did_not_see_count_as_misses():
    classifier = MultilabelClassifier(C=1.0, max_iter=5).fit(X, as_lists(Y))
    gold = [[*labels, "violet"] for labels in as_lists(Y)]
    scores = classifier.evaluate(X, gold)
    wider = np.column_stack([Y, np.ones(len(Y), dtype=int)])
    predicted = np.column_stack([[[name in row for name in NAMES] for row in classifier.predict(X)], np.zeros(len(Y))])
    assert scores["subset_accuracy"] == 0
    assert scores["micro_f1"] == pytest.approx(reference.f1_score(wider, predicted, average="micro"))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("seed", range(5))
def test_metrics_agree_with_scikit_learn(make, seed):
    rng = np.random.default_rng(seed)
    gold, guess = (rng.random((2, 12, 6)) < rng.random(6)).astype(int)
    gold[:, 0] = guess[:, 0] = 0  # a label that never occurs
    given = make(gold), make(guess)
    assert metrics.micro_f1(*given) == pytest.approx(reference.f1_score(gold, guess, average="micro"))
    assert metrics.macro_f1(*given) == pytest.approx(reference.f1_score(gold, guess, average="macro", zero_division=0))
    assert metrics.hamming_loss(*given) == pytest.approx(reference.hamming_loss(gold, guess))
    assert metrics.subset_accuracy(*given) == pytest.approx(reference.accuracy_score(gold, guess))


def test_metrics_of_nothing_are_0_and_shapes_must_agree():
    empty = np.zeros((0, 3))
    assert set(metrics.multilabel_scores(empty, empty).values()) == {0.0}
    assert metrics.micro_f1(np.zeros((2, 2)), np.zeros((2, 2))) == 0
    with pytest.raises(InputError, match="the same shape"):
        metrics.micro_f1(np.zeros((2, 2)), np.zeros((2, 3)))


def test_what_does_not_fit_is_named():
    classifier = MultilabelClassifier(max_iter=2)
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    with pytest.raises(InputError, match="no example has a label"):
        classifier.fit(X[:2], [[], []])
    with pytest.raises(InputError, match=r"y\[1\] is 'red'"):
        classifier.fit(X[:2], [["blue"], "red"])
    with pytest.raises(InputError, match="80 rows, and gold has 79"):
        classifier.fit(X, Y[1:])
    with pytest.raises(InputError, match="'tree', 'full' or pairs"):
        MultilabelClassifier(interactions="forest").fit(X, Y)
    with pytest.raises(InputError, match="not a label"):
        MultilabelClassifier(interactions=[("red", "pink")]).fit(X, as_lists(Y))
    with pytest.raises(InputError, match="must be a number or a pair"):
        MultilabelClassifier(label_costs=(1, 2, 3)).fit(X, Y)
    fitted = classifier.fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, 1:])
    with pytest.raises(InputError, match="a column for each of 3"):
        fitted.evaluate(X, Y[:, 1:])


def test_a_fit_can_go_on_from_the_last_one():
    classifier = MultilabelClassifier(C=1.0, tol=1e-6, max_iter=3, warm_start=True, normalize=False).fit(X, Y)
    before = classifier.certificate_.dual
    assert classifier.fit(X, Y).certificate_.dual > before
    assert classifier.n_iter_ == 3
