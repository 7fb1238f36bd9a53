"""`SequenceTagger` has the manners of scikit-learn."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from support.pairs import with_effect

import marginloom
from marginloom import DCD, InputError, SequenceTagger, make_tagging
from marginloom.engines import Serial

WORDS, TAGS = make_tagging(80, seed=0)
OTHER_WORDS, OTHER_TAGS = make_tagging(40, seed=1)


def words_tagger(**parameters):
    options = {"features": "words", "tol": 0.05, **parameters}
    return SequenceTagger(**with_effect(options.get("algorithm"), options))


@pytest.fixture(scope="module")
def fitted():
    return words_tagger().fit(WORDS, TAGS)


def same_weights(one, other):
    return np.array_equal(one.tagger_.weights, other.tagger_.weights)


def test_parameters_can_be_read_and_set():
    tagger = SequenceTagger(C=0.5, learner={"inner_passes": 2})
    parameters = tagger.get_params()
    assert parameters["C"] == 0.5
    assert parameters["algorithm"] == "auto"
    assert parameters["learner"] == {"inner_passes": 2}
    tagger.set_params(C=2.0, algorithm="perceptron", start_end=True)
    assert (tagger.C, tagger.algorithm, tagger.start_end) == (2.0, "perceptron", True)
    with pytest.raises(ValueError, match="cost"):
        tagger.set_params(cost=1)


def test_constructor_neither_checks_nor_changes_its_arguments():
    odd = {name: object() for name in SequenceTagger().get_params()}
    tagger = SequenceTagger(**odd)
    for name, value in odd.items():
        assert getattr(tagger, name) is value


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 0.3, "start_end": True, "label_costs": {"NOUN": 2.0}},
        {"learner": DCD(inner_passes=1), "engine": Serial(shuffle=False)},
        {"learner": {"delta": 0.1}, "engine": {"shuffle": False}},
    ],
)
def test_clone_has_the_parameters_and_is_not_fitted(parameters):
    original = words_tagger(**parameters).fit(WORDS, TAGS)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(copy, "tagger_")
    assert same_weights(copy.fit(WORDS, TAGS), original)


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(SequenceTagger(C=0.5, features="words")) == "SequenceTagger(C=0.5, features='words')"
    assert repr(SequenceTagger()) == "SequenceTagger()"


def test_fit_returns_the_estimator_and_does_not_change_parameters():
    tagger = words_tagger(max_iter=2, random_state=3)
    before = dict(tagger.get_params())
    assert tagger.fit(WORDS, TAGS) is tagger
    assert tagger.get_params() == before


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickled_estimator_predicts_the_same(algorithm, protocol):
    tagger = words_tagger(algorithm=algorithm, max_iter=3).fit(WORDS, TAGS, eval_set=(OTHER_WORDS, OTHER_TAGS))
    again = pickle.loads(pickle.dumps(tagger, protocol))
    assert again.get_params() == tagger.get_params()
    assert same_weights(again, tagger)
    assert again.predict(OTHER_WORDS) == tagger.predict(OTHER_WORDS)
    assert again.history_ == tagger.history_
    assert again.certificate_ == tagger.certificate_
    assert again.classes_ == tagger.classes_


def test_unfitted_estimator_pickles():
    tagger = pickle.loads(pickle.dumps(SequenceTagger(C=7.0, learner=DCD(delta=0.2))))
    assert tagger.C == 7.0
    assert tagger.learner == DCD(delta=0.2)


def test_pickle_keeps_what_a_warm_start_needs():
    tagger = words_tagger(warm_start=True, max_iter=3, tol=1e-6).fit(WORDS, TAGS)
    again = pickle.loads(pickle.dumps(tagger))
    assert same_weights(again.fit(WORDS, TAGS), tagger.fit(WORDS, TAGS))


def test_unfitted_estimator_says_so(tmp_path):
    tagger = words_tagger()
    for use in (lambda: tagger.predict(WORDS), lambda: tagger.score(WORDS, TAGS), lambda: tagger.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            use()
    assert list(tmp_path.iterdir()) == []


def test_fitted_attributes(fitted):
    assert fitted.classes_ == sorted({tag for sentence in TAGS for tag in sentence})
    assert fitted.certificate_.gap <= 0.05
    assert fitted.certificate_.exact is True
    assert fitted.stopped_ == "tolerance"
    assert fitted.n_iter_ == len(fitted.history_) == fitted.history_[-1]["iteration"]


def test_score_is_the_share_of_right_tokens(fitted):
    predicted = fitted.predict(OTHER_WORDS)
    right = sum(a == b for p, t in zip(predicted, OTHER_TAGS, strict=True) for a, b in zip(p, t, strict=True))
    assert fitted.score(OTHER_WORDS, OTHER_TAGS) == right / sum(map(len, OTHER_TAGS))
    assert fitted.evaluate(OTHER_WORDS, OTHER_TAGS)["accuracy"] == fitted.score(OTHER_WORDS, OTHER_TAGS)


def test_span_labels_are_evaluated_as_spans():
    tagger = SequenceTagger(features="words", C=10).fit([["Ann", "saw", "Rome"]], [["B-PER", "O", "B-LOC"]])
    scores = tagger.evaluate([["Ann", "saw", "Rome"]], [["B-PER", "O", "O"]])
    assert (scores["precision"], scores["recall"]) == (0.5, 1.0)


def test_grid_search_chooses_and_refits():
    search = GridSearchCV(words_tagger(), {"C": [1e-9, 0.1], "algorithm": ["dcd-ssvm", "dcd-light"]}, cv=2)
    search.fit(WORDS, TAGS)
    assert search.best_params_["C"] == 0.1
    assert search.best_score_ > 0.5
    assert search.score(OTHER_WORDS, OTHER_TAGS) == search.best_estimator_.score(OTHER_WORDS, OTHER_TAGS)


def test_grid_search_in_worker_processes():
    search = GridSearchCV(words_tagger(max_iter=2), {"C": [0.01, 0.1]}, cv=2, n_jobs=2).fit(WORDS, TAGS)
    assert same_weights(search.best_estimator_, clone(search.best_estimator_).fit(WORDS, TAGS))


def test_cross_validation():
    scores = cross_val_score(words_tagger(max_iter=2), WORDS, TAGS, cv=3)
    assert ((scores > 0.4) & (scores < 1)).all()


def test_grids_made_with_numpy_work(tmp_path):
    """np.arange and np.array hand out numpy's own numbers."""
    for parameters in (
        {"C": np.int64(1)},
        {"C": np.float32(0.5)},
        {"tol": np.float32(0.1)},
        {"max_iter": np.int64(2)},
        {"random_state": np.int64(3)},
        {"min_count": np.int64(2)},
        {"n_threads": np.int64(1)},
        {"learner": {"inner_passes": np.int32(2)}},
        {"label_costs": {"NOUN": np.float32(2)}},
    ):
        tagger = words_tagger(**parameters).fit(WORDS, TAGS)
        tagger.save(tmp_path / "m")
        assert SequenceTagger.load(tmp_path / "m").predict(OTHER_WORDS) == tagger.predict(OTHER_WORDS)


def test_same_seed_gives_the_same_bits():
    one, same, other = (words_tagger(max_iter=3, random_state=seed).fit(WORDS, TAGS) for seed in (5, 5, 6))
    assert same_weights(one, same)
    assert not same_weights(one, other)


def test_no_seed_draws_one():
    taggers = [words_tagger(max_iter=3, random_state=None).fit(WORDS, TAGS) for _ in range(2)]
    assert not same_weights(*taggers)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light", "perceptron", "averaged-perceptron"])
def test_number_of_threads_changes_nothing(algorithm):
    taggers = [
        words_tagger(algorithm=algorithm, n_threads=n, max_iter=4).fit(WORDS, TAGS, eval_set=(OTHER_WORDS, OTHER_TAGS))
        for n in (1, 2, 5, -1)
    ]
    for tagger in taggers[1:]:
        assert same_weights(taggers[0], tagger)
        assert tagger.certificate_ == taggers[0].certificate_
        assert tagger.predict(OTHER_WORDS) == taggers[0].predict(OTHER_WORDS)
        assert [row["scores"] for row in tagger.history_] == [row["scores"] for row in taggers[0].history_]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_predictions_from_several_threads_at_once_are_the_serial_ones(n_threads):
    tagger = words_tagger(n_threads=n_threads).fit(WORDS, TAGS)
    batches = [make_tagging(60, seed=seed)[0] for seed in range(10, 26)]
    expected = [tagger.predict(batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(tagger.predict, batches)) == expected


def test_predictions_from_several_threads_on_one_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    X = sparse.random(400, 30, 0.2, format="csr", rng=rng)
    y = rng.integers(0, 3, 400)
    lengths = [40] * 10
    tagger = SequenceTagger().fit(X, y, lengths=lengths)
    expected = tagger.predict(X, lengths=lengths)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: tagger.predict(X, lengths=lengths), range(40)):
            assert np.array_equal(found, expected)


def test_models_can_be_trained_in_several_threads_at_once():
    expected = [words_tagger(max_iter=3, random_state=seed).fit(WORDS, TAGS) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda seed: words_tagger(max_iter=3, random_state=seed).fit(WORDS, TAGS), range(4))
        assert all(same_weights(one, other) for one, other in zip(expected, found, strict=True))


def test_refitting_forgets_the_first_fit(fitted):
    again = words_tagger().fit(OTHER_WORDS, OTHER_TAGS).fit(WORDS, TAGS)
    assert same_weights(again, fitted)


def test_failed_refit_keeps_the_first_fit():
    tagger = words_tagger().fit(WORDS, TAGS)
    expected = tagger.predict(OTHER_WORDS)
    with pytest.raises(InputError):
        tagger.fit(WORDS, TAGS[:-1])
    assert tagger.predict(OTHER_WORDS) == expected


def test_warm_start_goes_on_from_the_duals():
    tagger = words_tagger(warm_start=True, tol=0.05).fit(WORDS, TAGS)
    reached = tagger.certificate_.dual
    tagger.set_params(tol=0.001, max_iter=1000).fit(WORDS, TAGS)
    cold = words_tagger(tol=0.001, max_iter=1000).fit(WORDS, TAGS)
    assert tagger.history_[0]["dual"] >= reached * (1 - 1e-9)
    assert tagger.certificate_.gap <= 0.001
    assert tagger.n_iter_ < cold.n_iter_


def test_warm_start_on_other_sentences_is_an_error():
    tagger = words_tagger(warm_start=True).fit(WORDS, TAGS)
    with pytest.raises(InputError, match="other training examples"):
        tagger.fit(OTHER_WORDS, OTHER_TAGS)


def test_warm_start_with_examples_dropped_ends_at_the_optimum_of_the_others():
    weights = [0, 0, *[1] * (len(WORDS) - 2)]
    tagger = words_tagger(warm_start=True, tol=1e-4, max_iter=1000).fit(WORDS, TAGS)
    tagger.fit(WORDS, TAGS, sample_weight=weights)
    cold = words_tagger(tol=1e-4, max_iter=1000).fit(WORDS, TAGS, sample_weight=weights)
    assert tagger.certificate_.gap <= 1e-4
    assert tagger.certificate_.dual <= cold.certificate_.primal
    assert tagger.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-4)


def test_loaded_estimator_continues_where_the_saved_one_is(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.predict(OTHER_WORDS) == fitted.predict(OTHER_WORDS)
    assert loaded.classes_ == fitted.classes_
    assert loaded.certificate_ == fitted.certificate_
    assert (loaded.n_iter_, loaded.stopped_) == (fitted.n_iter_, fitted.stopped_)
    for name in ("algorithm_", "tol", "features", "start_end"):
        assert getattr(loaded, name) == getattr(fitted, name)
    assert (fitted.C, loaded.C) == (None, None)


def test_loaded_estimator_refits_to_the_same_model(tmp_path):
    """Load gives back all parameters that decide about the model."""
    tagger = words_tagger(
        C=0.5, max_iter=3, random_state=9, min_count=2, start_end=True, label_costs={"NOUN": 2.0},
        learner={"inner_passes": 1}, engine={"shuffle": False},
    ).fit(WORDS, TAGS)  # fmt: skip
    tagger.save(tmp_path / "m")
    assert same_weights(SequenceTagger.load(tmp_path / "m").fit(WORDS, TAGS), tagger)


def test_it_is_no_classifier_of_single_rows():
    """Cross-validation must not stratify by label sequences."""
    assert not is_classifier(SequenceTagger())


def test_import_loads_nothing_heavy():
    script = "import sys, marginloom; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"numpy", "scipy", "sklearn", "rich", "typer", "click", "safetensors", "pandas", "marginloom._core"}
    assert "marginloom" in loaded
    assert heavy & set(loaded) == set()


@pytest.mark.parametrize("name", marginloom.__all__)
def test_every_public_name_is_found(name):
    assert getattr(marginloom, name) is not None
    assert name in dir(marginloom)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Parser9"):
        _ = marginloom.Parser9


def test_training_below_the_estimators_loads_no_scikit_learn():
    script = "import sys; from marginloom import train; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {"sklearn", "scipy", "rich", "typer", "safetensors"} & set(loaded) == set()
