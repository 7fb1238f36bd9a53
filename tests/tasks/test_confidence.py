"""Probabilities of estimators: only after calibration, exact, and kept in files."""

import itertools
import warnings

import numpy as np
import pytest
from support.custom_chains import Majority, votes
from support.enumerated import ENUMERATED
from support.estimators import ESTIMATORS

import marginloom
from marginloom import CustomEstimator, InputError, SequenceTagger, make_relations, make_tagging
from marginloom.errors import CalibrationWarning, InputWarning
from marginloom.io.model import load_model
from marginloom.tasks.base.calibration import fitted_temperature
from marginloom.tasks.registry import command_of
from marginloom.tasks.sequence.spans import spans

BEFORE = {"predict_proba", "log_probability"}


@pytest.fixture(scope="module", params=sorted(set(ESTIMATORS) - {"CustomEstimator"}))
def sample(request):
    return ESTIMATORS[request.param]


@pytest.fixture(scope="module")
def calibrated(sample):
    estimator = sample.fit()
    return calibrated_quietly(estimator, sample.X, sample.y)


def calibrated_quietly(estimator, X, y=None):
    """Calibrate on examples that are few, or all predicted correctly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return estimator.calibrate(X, y)


def test_there_are_no_probabilities_before_calibration_and_the_error_says_what_to_do(sample):
    estimator = sample.fit()
    assert estimator.calibration_ is None
    for name in BEFORE:
        assert not hasattr(estimator, name)
        with pytest.raises(AttributeError, match=r"calibrate\(X, y\)"):
            getattr(estimator, name)
        with pytest.raises(AttributeError, match="call fit"):
            getattr(sample.make(**sample.options), name)


def test_probabilities_of_each_decision_sum_to_1(sample, calibrated):
    found = calibrated.predict_proba(sample.X)
    name = type(calibrated).__name__
    for own in found:
        if name == "RelationExtractor":
            sums = [sum(types.values()) for types in own["entities"]]
            sums += [sum(pair["types"].values()) for pair in own["relations"]]
        elif name == "ObjectDetector":
            sums = [sum(float(table.sum()) for table in own)]
        elif name == "MultilabelClassifier":
            assert ((own >= 0) & (own <= 1)).all()
            continue
        else:
            table = np.asarray(own)
            sums = table.reshape(-1, table.shape[-1] if name != "DependencyParser" else table[0].size).sum(axis=1)
        np.testing.assert_allclose(sums, 1, atol=1e-9)


def test_gold_outputs_have_a_log_probability(sample, calibrated):
    logs = calibrated.log_probability(sample.X, sample.y)
    assert (logs <= 0).all()
    assert np.isfinite(logs).any()


def test_calibration_changes_no_prediction_and_is_kept_in_files(sample, calibrated, tmp_path):
    calibrated.save(tmp_path / "model")
    loaded = marginloom.load(tmp_path / "model")
    assert loaded.calibration_.temperature == calibrated.calibration_.temperature
    before, after = calibrated.log_probability(sample.X, sample.y), loaded.log_probability(sample.X, sample.y)
    assert before.tobytes() == after.tobytes()
    fresh = sample.fit()
    assert repr(list(fresh.predict(sample.X))) == repr(list(loaded.predict(sample.X)))
    fresh.save(tmp_path / "uncalibrated")
    header, tensors = load_model(tmp_path / "uncalibrated", command_of(sample.make().model_type))
    assert not any("calibration" in name for name in (*header, *tensors))  # as earlier versions wrote it
    assert marginloom.load(tmp_path / "uncalibrated").calibration_ is None
    assert calibrated.fit(sample.X, sample.y).calibration_ is None  # of other weights
    calibrated.model_.calibration = loaded.model_.calibration


class Ranked(Majority):
    """The same with lists."""

    def argmax_k_best(self, x, w, k):
        return sorted(range(3), key=lambda y: -w[y] * x[y])[:k]


def test_probabilities_of_a_list_are_those_among_its_outputs(tmp_path):
    X, y = votes(200)
    noisy = [(label + (i % 5 == 0)) % 3 for i, label in enumerate(y)]
    with pytest.raises(InputError, match="argmax_k_best"):
        CustomEstimator(task=Majority, C=0.1).fit(X, y).calibrate(X, noisy)
    estimator = CustomEstimator(task=Ranked, C=0.1).fit(X, y)
    assert not hasattr(estimator, "predict_proba")
    estimator.calibrate(X, noisy)
    temperature = estimator.calibration_.temperature
    for x, gold, own, log in zip(
        X, noisy, estimator.predict_proba(X), estimator.log_probability(X, noisy), strict=True
    ):
        powers = np.exp((scores := estimator.weights_ * x) / temperature - scores.max() / temperature)
        expected = powers / powers.sum()
        assert [output for output, _ in own] == sorted(range(3), key=lambda label: -expected[label])
        np.testing.assert_allclose([p for _, p in own], sorted(expected, reverse=True), atol=1e-12)
        assert np.exp(log) == pytest.approx(expected[gold])
    assert sum(p for _, p in estimator.predict_proba(X[:1], k=2)[0]) == pytest.approx(1)
    estimator.save(tmp_path / "model")
    loaded = CustomEstimator.load(tmp_path / "model", task=Ranked)
    assert loaded.predict_proba(X[:5]) == estimator.predict_proba(X[:5])


def tagger_with_spans(**options):
    rng = np.random.default_rng(0)
    labels = ["B-A", "I-A", "B-B", "I-B", "O"]
    X = [[f"w{rng.integers(9)}" for _ in range(rng.integers(1, 6))] for _ in range(60)]
    y = [[labels[int(word[1]) % 5] for word in sentence] for sentence in X]
    return SequenceTagger(features="words", max_iter=3, tol=0.9, **options).fit(X, y), X, y


@pytest.mark.parametrize(
    "options", [{}, {"order": 2}, {"order": 2, "constraints": "bio", "invalid_gold": "repair"}], ids=str
)
def test_a_span_is_as_probable_as_the_labellings_that_mark_it(options):
    tagger, X, y = tagger_with_spans(**options)
    calibrated_quietly(tagger, X, [[label if i % 3 else "O" for i, label in enumerate(labels)] for labels in y])
    sentence = X[int(np.argmax([len(x) == 4 for x in X]))]
    wanted = [(kind, a, b) for kind in ("A", "B") for a in range(4) for b in range(a + 1, 5)]
    (found,) = tagger.span_probabilities([sentence], [[*wanted, ("C", 0, 1)]])
    expected = dict.fromkeys(wanted, 0.0)
    every = list(itertools.product(tagger.classes_, repeat=4))
    logs = tagger.log_probability([sentence] * len(every), [list(labels) for labels in every])
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-9)
    for labels, log in zip(every, logs, strict=True):
        for span in spans(labels):
            expected[span] += np.exp(log)
    np.testing.assert_allclose(found[:-1], list(expected.values()), atol=1e-9)
    assert found[-1] == 0
    with pytest.raises(InputError, match="not within its 4 tokens"):
        tagger.span_probabilities([sentence], [[("A", 3, 5)]])
    predicted = tagger.predict_spans([sentence])[0]
    assert len(tagger.span_probabilities([sentence])[0]) == len(predicted)


@pytest.mark.parametrize("order", [1, 2])
def test_arrays_and_dicts_of_label_probabilities_agree(order):
    X, y = make_tagging(40, seed=0)
    tagger = SequenceTagger(features="words", tol=0.9, order=order).fit(X, y).calibrate(*make_tagging(40, seed=1))
    arrays, dicts = tagger.predict_proba(X[:3]), tagger.predict_marginals(X[:3])
    for array, rows in zip(arrays, dicts, strict=True):
        assert [[row[label] for label in tagger.classes_] for row in rows] == array.tolist()
    assert tagger.predict_marginals_single(X[0]) == dicts[0]


def test_sentences_with_many_entities_have_none_and_one_warning():
    sentences = make_relations(30, seed=0)
    extractor = calibrated_quietly(ESTIMATORS["RelationExtractor"].make(tol=0.9).fit(sentences), sentences)
    words = [f"w{i}" for i in range(20)]
    many = {"tokens": words, "pos": words, "entities": [{"start": i, "end": i + 1} for i in range(9)]}
    few = {"tokens": words, "pos": words, "entities": [{"start": i, "end": i + 1} for i in range(8)]}
    with pytest.warns(InputWarning, match="more than 8 entities") as caught:
        found = extractor.predict_proba([many, few, many])
    assert len([one for one in caught if "more than 8" in str(one.message)]) == 1
    assert found[0] is found[2] is None
    assert len(found[1]["relations"]) == 56


def test_searches_without_probabilities_are_rejected_by_calibrate_in_a_sentence():
    X, y = make_tagging(30, seed=0)
    tagger = SequenceTagger("perceptron", features="words", max_iter=2, beam=2).fit(X, y)
    with pytest.raises(InputError, match="beam") as caught:
        tagger.calibrate(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["sequence, sparse", "multiclass", "parse, labels"])
def test_the_temperature_that_made_the_outputs_is_found(kind):
    from marginloom.tasks.base.calibration import CalibrationExamples, TaskLikelihood

    small = ENUMERATED[kind](3)
    w, weights = small.weights(1, 3.0)
    rng = np.random.default_rng(0)
    best = []
    for _ in range(12):
        gold = []
        for i in range(len(small.oracle.X)):
            logs = small.log_probabilities(i, w, 2.0)
            gold.append(small.outputs(i)[rng.choice(len(logs), p=np.exp(logs))])
        examples = CalibrationExamples(small.task, np.concatenate(gold).astype(np.uint32))
        best.append(fitted_temperature(TaskLikelihood(examples, weights)))
        likelihood = TaskLikelihood(examples, weights)
        around = likelihood([best[-1] * 0.97, best[-1], best[-1] * 1.03])
        assert around[1] >= around.max() - 1e-9
    assert 0.5 < np.median(best) < 8


def test_examples_that_are_all_correct_give_a_bounded_temperature_and_a_warning():
    X, y = make_tagging(60, seed=0)
    tagger = SequenceTagger(features="words", C=10.0, tol=0.9).fit(X, y)
    with pytest.warns(CalibrationWarning, match="all .* are correct"):
        tagger.calibrate(X, tagger.predict(X))
    assert 1e-6 < tagger.calibration_.temperature < 1e6
    with pytest.warns(CalibrationWarning, match="are few"):
        tagger.calibrate(X[:2], y[:2])
