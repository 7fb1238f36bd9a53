"""The mean of the weights over the inner passes of DCD: certified for what is returned, saved and resumed."""

import numpy as np
import pytest

from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.objective import primal
from marginloom.training.train import train

C = 2.0
OPTIONS = {"algorithm": "shrinking-dcd", "C": C, "loss": "hinge"}


def overlapping_classes(seed=0):
    """Make a problem with few weights and many examples that no weights separate."""
    random = np.random.default_rng(seed)
    y = random.integers(4, size=400)
    X = random.normal(size=(400, 3)) + np.eye(4, 3)[y]
    return MulticlassTask(X, y, 4)


@pytest.mark.parametrize("engine", ["serial", "master-worker", "shared"])
def test_the_certificate_is_of_the_returned_weights(engine):
    task = overlapping_classes()
    threads = 2 if engine != "serial" else 1
    result = train(task, **OPTIONS, learner={"rest": 0}, engine=engine, tol=0.003, max_iter=500, n_threads=threads)
    assert result.stopped == "tolerance"
    assert result.certificate.primal == pytest.approx(primal(task, result.weights, C=C, loss="hinge"), rel=1e-12)
    assert result.certificate.dual <= result.certificate.primal


def test_the_mean_is_closer_to_the_optimum_than_the_last_weights():
    task = overlapping_classes()
    few = {**OPTIONS, "max_iter": 3, "tol": 1e-9}
    mean = train(task, **few).primal
    last = train(task, **few, learner={"averaged": False}).primal
    optimum = train(task, **OPTIONS, tol=1e-3, max_iter=2000).certificate.dual
    assert mean - optimum < 0.7 * (last - optimum)


def test_training_is_the_same_with_and_without_the_mean():
    task = overlapping_classes()
    runs = [train(task, **OPTIONS, max_iter=4, tol=1e-9, learner={"averaged": choice}) for choice in (True, False)]
    assert [row["dual"] for row in runs[0].trace.rows[:3]] == [row["dual"] for row in runs[1].trace.rows[:3]]
    assert runs[0].weights.tobytes() != runs[1].weights.tobytes()


def test_a_resumed_run_returns_the_mean_of_an_uninterrupted_one(tmp_path):
    task = overlapping_classes()
    whole = train(task, **OPTIONS, tol=1e-9, max_iter=6)
    train(task, **OPTIONS, tol=1e-9, max_iter=3, checkpoint=tmp_path)
    resumed = train(task, **OPTIONS, tol=1e-9, max_iter=6, checkpoint=tmp_path, resume=True)
    assert resumed.weights.tobytes() == whole.weights.tobytes()


def test_threads_that_share_the_weights_end_at_the_optimum():
    task = overlapping_classes()
    optimum = train(task, **OPTIONS, tol=1e-3, max_iter=2000).certificate
    result = train(task, **OPTIONS, engine="shared", tol=5e-3, max_iter=2000, n_threads=4)
    assert result.stopped == "tolerance"
    assert optimum.dual <= result.primal <= optimum.primal * 1.006
