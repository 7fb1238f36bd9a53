"""History, evaluation sets and callbacks: what can be done between the passes of a run."""

import json
import math
import signal
from itertools import pairwise

import numpy as np
import pytest
from support.pairs import with_effect

from marginloom import Callback, EarlyStopping, InputError, ProgressBar, SequenceTagger, make_tagging

WORDS, TAGS = make_tagging(80, seed=0)
DEV = make_tagging(40, seed=1)
ALGORITHMS = ["dcd-ssvm", "dcd-light", "perceptron", "averaged-perceptron"]


def words_tagger(algorithm="dcd-ssvm", **parameters):
    options = {"features": "words", "tol": 1e-9, "max_iter": 12, **parameters}
    return SequenceTagger(algorithm, **with_effect(algorithm, options))


class Recorder(Callback):
    """Writes down what happened, with the weights after every pass."""

    def __init__(self):
        self.events = []
        self.weights = []

    def before_training(self, run):
        self.events.append("before training")

    def before_iteration(self, run):
        self.events.append(f"before {run.iteration + 1}")

    def after_iteration(self, run, row):
        self.events.append(f"after {row['iteration']}")
        self.weights.append(run.weights())

    def after_training(self, run):
        self.events.append("after training")


class StopAt(Callback):
    def __init__(self, iteration):
        self.iteration = iteration

    def after_iteration(self, run, row):
        return row["iteration"] == self.iteration


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_history_has_a_row_per_pass_with_the_scores(algorithm):
    tagger = words_tagger(algorithm, max_iter=4).fit(WORDS, TAGS, eval_set=DEV)
    assert [row["iteration"] for row in tagger.history_] == [1, 2, 3, 4]
    for row in tagger.history_:
        assert set(row) == {
            "iteration", "algorithm", "seconds", "primal", "dual", "gap", "certified", "wrong", "training_loss",
            "inferences", "updates", "active", "candidates", "weights_age", "working_set_mb", "scores", "threads",
        }  # fmt: skip
        assert row["inferences"] == 80 * row["iteration"]
        assert set(row["scores"]) == {"dev"}
    assert [row["gap"] is None for row in tagger.history_] == [algorithm.endswith("perceptron")] * 4
    json.dumps(tagger.history_)
    if algorithm.endswith("perceptron"):
        # Nothing happens after the last pass, so its scores are those of the model.
        assert tagger.history_[-1]["scores"]["dev"] == {"accuracy": tagger.evaluate(*DEV)["accuracy"]}


def test_history_without_an_evaluation_set_has_no_scores():
    assert words_tagger(max_iter=2).fit(WORDS, TAGS).history_[-1]["scores"] == {}


def test_evaluation_set_of_a_matrix_with_lengths():
    X, dev = np.eye(4), (np.eye(4)[::-1], ["Q", "P", "P", "P"], [3, 1])
    tagger = SequenceTagger(C=10).fit(X, ["P", "Q", "P", "Q"], lengths=[2, 2], eval_set=dev)
    predicted = tagger.predict(dev[0], lengths=dev[2])
    assert tagger.history_[-1]["scores"]["dev"]["accuracy"] == np.mean(predicted == np.array(dev[1], dtype=object))
    with pytest.raises(InputError, match="lengths add up to 3"):
        tagger.fit(X, ["P", "Q", "P", "Q"], lengths=[2, 2], eval_set=(X, ["P"] * 4, [3]))


def test_evaluation_set_may_hold_labels_that_training_did_not_see():
    tagger = SequenceTagger(features="words", C=10).fit(
        [["a", "b"]], [["P", "Q"]], eval_set=([["a", "b"]], [["P", "Z"]])
    )
    assert tagger.history_[-1]["scores"]["dev"]["accuracy"] == 0.5


def test_evaluation_does_not_change_training():
    plain, watched = words_tagger().fit(WORDS, TAGS), words_tagger().fit(WORDS, TAGS, eval_set=DEV)
    assert np.array_equal(plain.tagger_.weights, watched.tagger_.weights)


def test_the_dual_rises_and_the_gap_is_never_negative():
    history = words_tagger(max_iter=40).fit(WORDS, TAGS).history_
    duals = [row["dual"] for row in history]
    assert all(b >= a * (1 - 1e-12) for a, b in pairwise(duals))
    assert all(row["gap"] >= 0 for row in history)


def test_callbacks_are_called_in_order():
    one, two = Recorder(), Recorder()
    words_tagger(max_iter=2).fit(WORDS, TAGS, callbacks=[one, two])
    expected = ["before training", "before 1", "after 1", "before 2", "after 2", "after training"]
    assert one.events == two.events == expected


def test_callback_sees_the_weights_of_the_model():
    recorder = Recorder()
    tagger = words_tagger("averaged-perceptron", max_iter=3).fit(WORDS, TAGS, callbacks=[recorder])
    assert np.array_equal(recorder.weights[-1], tagger.tagger_.weights)
    assert not np.array_equal(recorder.weights[0], recorder.weights[1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_callback_can_stop_training(algorithm):
    tagger = words_tagger(algorithm).fit(WORDS, TAGS, callbacks=[StopAt(3)])
    assert tagger.n_iter_ == len(tagger.history_) == 3
    assert tagger.stopped_ == "callback"
    if algorithm.startswith("dcd"):
        assert tagger.certificate_.gap > 1e-9


def test_callback_with_a_reason_of_its_own():
    class Enough(StopAt):
        stop_reason = "enough"

    assert words_tagger().fit(WORDS, TAGS, callbacks=[Enough(1)]).stopped_ == "enough"


def test_every_callback_sees_the_pass_in_which_one_stops():
    recorder = Recorder()
    words_tagger().fit(WORDS, TAGS, callbacks=[StopAt(2), recorder])
    assert recorder.events[-2:] == ["after 2", "after training"]


def test_only_true_stops():
    class Silent(Callback):
        def after_iteration(self, run, row):
            return None

    assert words_tagger(max_iter=3).fit(WORDS, TAGS, callbacks=[Silent()]).n_iter_ == 3


def test_error_in_a_callback_reaches_the_user_and_ends_the_others():
    class Broken(Callback):
        def after_iteration(self, run, row):
            raise RuntimeError("broken on purpose")

    recorder = Recorder()
    tagger = words_tagger()
    with pytest.raises(RuntimeError, match="broken on purpose"):
        tagger.fit(WORDS, TAGS, callbacks=[recorder, Broken()])
    assert recorder.events[-1] == "after training"
    assert not hasattr(tagger, "tagger_")


def test_interruption_leaves_a_usable_model():
    class Interrupt(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                signal.raise_signal(signal.SIGINT)

    tagger = words_tagger(max_iter=1000)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 2 iterations"):
        tagger.fit(WORDS, TAGS, callbacks=[Interrupt()])
    assert tagger.stopped_ == "interrupted"
    assert tagger.certificate_ is None
    assert tagger.score(WORDS, TAGS) > 0.5


def test_progress_bar_shows_the_gap_and_cleans_up(capsys):
    tagger = words_tagger(max_iter=3, verbose=True).fit(WORDS, TAGS)
    plain = words_tagger(max_iter=3).fit(WORDS, TAGS, callbacks=[ProgressBar()])
    assert np.array_equal(tagger.tagger_.weights, plain.tagger_.weights)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("tol", [1e-9, 0.5, 1.0, 2.0, 1e6])
def test_progress_bar_does_not_disturb_whatever_the_tolerance(tol):
    tagger = words_tagger(max_iter=3, tol=tol, verbose=True).fit(WORDS, TAGS)
    assert tagger.n_iter_ >= 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_stops_when_the_score_no_longer_rises(algorithm, patience):
    tagger = words_tagger(algorithm, max_iter=400).fit(WORDS, TAGS, eval_set=DEV, callbacks=[EarlyStopping(patience)])
    scores = [row["scores"]["dev"]["accuracy"] for row in tagger.history_]
    best = scores.index(max(scores)) + 1
    assert tagger.stopped_ == "early"
    assert tagger.n_iter_ == len(scores) == best + patience


@pytest.mark.parametrize("algorithm", ["perceptron", "averaged-perceptron"])
def test_restore_best_returns_to_the_weights_of_the_best_pass(algorithm):
    recorder = Recorder()
    tagger = words_tagger(algorithm, max_iter=400).fit(
        WORDS, TAGS, eval_set=DEV, callbacks=[recorder, EarlyStopping(2)]
    )
    scores = [row["scores"]["dev"]["accuracy"] for row in tagger.history_]
    best = scores.index(max(scores))
    assert best < len(scores) - 1
    assert np.array_equal(tagger.tagger_.weights, recorder.weights[best])
    assert tagger.score(*DEV) == max(scores)


def test_restore_best_returns_to_the_duals_and_certifies_them():
    recorder = Recorder()
    tagger = words_tagger(max_iter=400).fit(WORDS, TAGS, eval_set=DEV, callbacks=[recorder, EarlyStopping(2)])
    scores = [row["scores"]["dev"]["accuracy"] for row in tagger.history_]
    best = scores.index(max(scores))
    assert best < len(scores) - 1
    assert np.allclose(tagger.tagger_.weights, recorder.weights[best], rtol=0, atol=1e-9)
    assert math.isclose(tagger.certificate_.dual, tagger.history_[best]["dual"], rel_tol=1e-9)
    w = tagger.tagger_.weights
    assert tagger.certificate_.primal > w @ w / 2


def test_without_restore_best_the_last_weights_stay():
    recorder = Recorder()
    tagger = words_tagger("perceptron", max_iter=400).fit(
        WORDS, TAGS, eval_set=DEV, callbacks=[recorder, EarlyStopping(2, restore_best=False)]
    )
    assert np.array_equal(tagger.tagger_.weights, recorder.weights[-1])


def test_best_pass_is_restored_when_the_passes_are_used_up():
    recorder = Recorder()
    tagger = words_tagger("perceptron", max_iter=10).fit(
        WORDS, TAGS, eval_set=DEV, callbacks=[recorder, EarlyStopping(100)]
    )
    scores = [row["scores"]["dev"]["accuracy"] for row in tagger.history_]
    assert tagger.stopped_ == "iterations"
    assert np.array_equal(tagger.tagger_.weights, recorder.weights[scores.index(max(scores))])


def test_certificate_within_the_tolerance_is_what_stopped_by_tolerance_means():
    """Going back to an earlier pass must not leave a report that belongs to a later one."""
    for seed in range(6):
        tagger = words_tagger(tol=0.002, max_iter=1000, random_state=seed).fit(
            WORDS, TAGS, eval_set=DEV, callbacks=[EarlyStopping(1000)]
        )
        assert (tagger.stopped_ == "tolerance") == (tagger.certificate_.gap <= 0.002)


def test_higher_minimum_improvement_stops_earlier():
    tagger = words_tagger(max_iter=50).fit(WORDS, TAGS, eval_set=DEV, callbacks=[EarlyStopping(2, min_delta=1.0)])
    assert tagger.n_iter_ == 3


def test_early_stopping_can_be_used_again():
    callback = EarlyStopping(2)
    one = words_tagger(max_iter=400).fit(WORDS, TAGS, eval_set=DEV, callbacks=[callback])
    two = words_tagger(max_iter=400).fit(WORDS, TAGS, eval_set=DEV, callbacks=[callback])
    assert one.n_iter_ == two.n_iter_
    assert np.array_equal(one.tagger_.weights, two.tagger_.weights)


def test_early_stopping_watches_f1_of_spans():
    X, y = [["Ann", "saw", "Rome"]], [["B-PER", "O", "B-LOC"]]
    tagger = SequenceTagger(features="words", max_iter=50, tol=1e-9).fit(
        X, y, eval_set=(X, y), callbacks=[EarlyStopping(2)]
    )
    scores = [row["scores"]["dev"]["f1"] for row in tagger.history_]
    assert tagger.n_iter_ == scores.index(max(scores)) + 3


def test_early_stopping_needs_an_evaluation_set():
    with pytest.raises(InputError, match=r"'dev', and there is none.*eval_set"):
        words_tagger().fit(WORDS, TAGS, callbacks=[EarlyStopping()])
    with pytest.raises(InputError, match="'other'"):
        words_tagger().fit(WORDS, TAGS, eval_set=DEV, callbacks=[EarlyStopping(evaluation_set="other")])


@pytest.mark.parametrize("metric", ["f1", "nonsense"])
def test_early_stopping_needs_a_score_that_there_is(metric):
    with pytest.raises(InputError, match=f"no score '{metric}'; there are: accuracy"):
        words_tagger().fit(WORDS, TAGS, eval_set=DEV, callbacks=[EarlyStopping(metric=metric)])


@pytest.mark.parametrize("patience", [0, -1, 1.5, "3", None])
def test_patience_is_a_whole_number_from_one(patience):
    with pytest.raises(InputError, match="patience must be a whole number"):
        EarlyStopping(patience)
