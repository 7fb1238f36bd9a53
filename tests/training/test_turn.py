"""A run that `auto` has chosen turns to Newton's method where passes would go on for ever, and loses nothing by it."""

import math

import numpy as np
import pytest

from marginloom import Callback, MulticlassClassifier, MultilabelClassifier, SequenceTagger, train
from marginloom.algorithms import find_algorithm
from marginloom.core.choice import MOST_WEIGHTS_OF_NEWTON, Costs
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.plan import make_plan
from marginloom.training.spec import RunSpec
from marginloom.training.turn import Turn


def unscaled(examples=300, features=6, classes=4, scales=2.0):
    """Draw classes whose features have sizes from 10^-scales to 10^scales."""
    random = np.random.default_rng(0)
    y = np.arange(examples) % classes
    X = random.normal(size=(classes, features))[y] + random.normal(size=(examples, features))
    return X * np.logspace(-scales, scales, features), y


@pytest.fixture
def task():
    X, y = unscaled()
    return MulticlassTask(X, y, 4, bias=1.0)


class Stop(Callback):
    """End the run, as if it were killed, when it has made so many passes."""

    def __init__(self, passes):
        self.passes = passes

    def after_iteration(self, run, row):
        if row["iteration"] == self.passes:
            raise ZeroDivisionError


def rows(*gaps):
    return [{"gap": gap} for gap in gaps]


NEWTON = find_algorithm("newton")


@pytest.mark.parametrize(
    ("gaps", "due"),
    [
        ((0.9, 0.9, 0.9), False),  # too early to tell
        ((0.9, 0.9, 0.9, 0.9), True),
        ((0.9, 0.8, 0.8, 0.9), True),  # the gap rises
        ((0.8, 0.4, 0.2, 0.1), False),  # four passes to come
        ((0.8, 0.76, 0.72, 0.69), True),  # eighty-two
        ((0.5, 0.2, 0.1, 0.009), False),  # within the tolerance
        ((0.9, 0.9, 0.9, None), False),
    ],
)
def test_a_turn_is_due_if_more_passes_are_to_come_than_newton_takes(gaps, due):
    assert Turn(NEWTON, passes=15).is_due(rows(*gaps), tol=0.01) == due


def test_the_more_newton_takes_the_later_is_the_first_look():
    stalled = [0.9] * 19
    assert not Turn(NEWTON, passes=100).is_due(rows(*stalled), tol=0.01)
    assert Turn(NEWTON, passes=100).is_due(rows(*stalled, 0.9), tol=0.01)


def test_a_run_that_would_not_end_in_time_turns_whatever_newton_takes():
    falling = [0.9 * 0.97**k for k in range(50)]  # within 1 % after 148 passes
    assert not Turn(NEWTON, passes=1000).is_due(rows(*falling), tol=0.01)
    assert not Turn(NEWTON, passes=1000, last=200).is_due(rows(*falling), tol=0.01)
    assert Turn(NEWTON, passes=1000, last=100).is_due(rows(*falling), tol=0.01)


def test_newton_takes_the_more_passes_the_more_weights_there_are_until_it_is_too_large():
    passes = [Costs(weights, 1e6, 1e3, 50).newton_passes for weights in (100, 500, 2000)]
    assert passes == sorted(passes)
    assert math.isinf(Costs(MOST_WEIGHTS_OF_NEWTON + 1, 1e6, 1e3, 50).newton_passes)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_stalled_classes_are_certified_by_newton(task, loss):
    result = train(task, loss=loss, C=1.0)
    named = [row["algorithm"] for row in result.trace.rows]
    assert named == sorted(named, reverse=True)
    assert set(named) == {"shrinking-dcd", "newton"}
    assert result.algorithm.name == "newton"
    assert result.stopped == "tolerance"
    slow = train(task, algorithm="shrinking-dcd", loss=loss, C=1.0, max_iter=len(named))
    assert slow.certificate.gap > 0.1 > 0.01 >= result.certificate.gap
    exact = train(task, algorithm="newton", loss=loss, C=1.0, tol=1e-9)
    assert result.certificate.dual <= exact.certificate.primal * (1 + 1e-9)
    assert exact.certificate.dual <= result.certificate.primal * (1 + 1e-9)


def test_history_goes_on_where_it_was(task):
    history = train(task, C=1.0).trace.rows
    assert [row["iteration"] for row in history] == list(range(1, len(history) + 1))
    duals = [row["dual"] for row in history]
    assert (np.diff(duals) >= -1e-9 * np.abs(duals[1:])).all()  # newton begins with the duals of the passes before
    for name in ("seconds", "inferences", "updates"):
        assert np.all(np.diff([row[name] for row in history]) >= 0)


def test_the_turn_is_told():
    X, y = unscaled()
    classifier = MulticlassClassifier(C=1.0, n_threads=1).fit(X, y)
    passes = [row["algorithm"] for row in classifier.history_].count("shrinking-dcd")
    stalled = f"after {passes} passes of shrinking-dcd, which stalled"
    assert classifier.choice_ == f"newton: classes, one thread; {stalled}"
    assert classifier.model_.settings["learner"]["name"] == "newton"


def test_verbose_training_shows_the_choice_and_the_turn(capsys):
    X, y = unscaled()
    MulticlassClassifier(C=1.0, n_threads=1, verbose=True).fit(X, y)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "auto chose shrinking-dcd (classes, one thread)"
    assert said[1].startswith("auto chose newton (classes, one thread; after ")


def test_the_same_run_turns_at_the_same_pass(task):
    first, second = train(task, C=1.0), train(task, C=1.0)
    assert [row["algorithm"] for row in first.trace.rows] == [row["algorithm"] for row in second.trace.rows]
    assert np.array_equal(first.weights, second.weights)


def test_a_run_that_is_killed_before_or_after_its_turn_ends_with_the_same_bits(task, tmp_path):
    from marginloom import Checkpoint

    whole = train(task, C=1.0)
    last_before = [row["algorithm"] for row in whole.trace.rows].count("shrinking-dcd")
    for passes in (last_before - 1, last_before, last_before + 1, last_before + 2):
        place = Checkpoint(tmp_path / str(passes), interval=0)
        with pytest.raises(ZeroDivisionError):
            train(task, C=1.0, checkpoint=place, callbacks=[Stop(passes)])
        resumed = train(task, C=1.0, checkpoint=place, resume=True)
        assert np.array_equal(resumed.weights, whole.weights)
        assert [row["algorithm"] for row in resumed.trace.rows] == [row["algorithm"] for row in whole.trace.rows]
        assert resumed.algorithm.name == "newton"
        assert resumed.trace.settings == whole.trace.settings  # also why, and after how many passes


def test_a_state_after_the_turn_is_a_warm_start(task):
    state = train(task, C=1.0, keep_state=True).state
    assert state.learner == "newton"
    again = train(task, C=1.0, warm_start=state, tol=0.001)
    assert again.algorithm.name == "newton"
    assert again.certificate.gap <= 0.001


def test_going_back_to_a_state_before_the_turn_certifies_its_weights(task):
    class GoBack(Callback):
        """Restore the state of the second pass at the end."""

        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                self.state = run.state()

        def after_training(self, run):
            assert run.algorithm.name == "newton"
            run.restore(self.state)

    result = train(task, C=1.0, callbacks=[GoBack()])
    two = train(task, C=1.0, max_iter=2)
    assert result.algorithm.name == "shrinking-dcd"
    assert result.weights_iteration == 2
    assert np.array_equal(result.weights, two.weights)
    assert result.certificate.gap == two.certificate.gap


@pytest.mark.parametrize(
    "options", [{"learner": {"inner_passes": 3}}, {"engine": "serial"}, {"learner": {"k_best": 2}}], ids=str
)
def test_parameters_that_were_given_are_not_lost_by_a_turn(task, options):
    result = train(task, C=1.0, max_iter=40, **options)
    assert {row["algorithm"] for row in result.trace.rows} == {"shrinking-dcd"}


def test_the_duals_of_every_engine_that_auto_takes_go_on(task):
    engines = {}
    for threads in (1, 2, 8):
        result = train(task, C=1.0, n_threads=threads)
        assert result.algorithm.name == "newton"
        assert result.certificate.gap <= 0.01
        engines[threads] = [row["algorithm"] for row in result.trace.rows].count("shrinking-dcd")
    assert engines[1] == engines[2]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("interactions", [None, "tree"])
def test_stalled_sets_of_labels_are_certified_by_newton(interactions, loss, threads):
    X, _ = unscaled(features=5, scales=3.0)
    y = (X / np.logspace(-3, 3, 5) @ np.random.default_rng(1).normal(size=(5, 3)) > 0).astype(int)
    classifier = MultilabelClassifier(C=100.0, loss=loss, interactions=interactions, n_threads=threads)
    classifier.fit(X, y)
    assert classifier.algorithm_ == "newton"
    assert classifier.certificate_.gap <= 0.01


def test_the_matrix_of_newton_is_part_of_the_memory_that_is_planned(task):
    size = task.core.dimension
    assert make_plan(task, RunSpec()).memory.weights == 8 * size * (1 + size)
    assert make_plan(task, RunSpec(algorithm="shrinking-dcd")).memory.weights == 8 * size * 3


def test_a_named_algorithm_does_not_turn(task):
    result = train(task, algorithm="shrinking-dcd", C=1.0, max_iter=40)
    assert {row["algorithm"] for row in result.trace.rows} == {"shrinking-dcd"}


def test_more_weights_than_newton_is_for_are_left_to_the_passes():
    X, y = unscaled(examples=40, features=1100)
    result = train(MulticlassTask(X, y, 4), C=1.0, tol=1e-9, max_iter=30)
    assert result.algorithm.learner.name == "dcd"


def test_stalled_sequences_of_real_values_are_certified_by_newton():
    X, y = unscaled(examples=400, features=5, classes=3, scales=1.5)
    tagger = SequenceTagger(features=None, C=1.0).fit(list(X.reshape(80, 5, 5)), y.reshape(80, 5).tolist())
    assert tagger.algorithm_ == "newton"
    assert tagger.certificate_.gap <= 0.01
