"""Newton's method reaches the optimum in few passes whatever the scale of the features, and says what it is for."""

import numpy as np
import pytest

from marginloom import InputError
from marginloom.learners import Newton
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.train import train

LOSSES = ("hinge", "squared_hinge")


def blobs(scales=(1.0, 1.0, 1.0, 1.0), classes=3, examples=90):
    random = np.random.default_rng(0)
    y = np.arange(examples) % classes
    X = random.normal(size=(classes, len(scales)))[y] + random.normal(size=(examples, len(scales)))
    return MulticlassTask(X * scales, y, classes, bias=1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0, 1.0), (1e-3, 1.0, 30.0, 1e3)])
def test_few_passes_suffice_for_features_of_any_scale(scales, loss):
    result = train(blobs(scales), algorithm="newton", C=1.0, loss=loss, tol=1e-6, max_iter=20)
    assert result.stopped == "tolerance"


@pytest.mark.parametrize("loss", LOSSES)
def test_unscaled_features_end_at_the_optimum_of_many_passes_of_dual_coordinate_descent(loss):
    task = blobs((0.1, 1.0, 10.0, 1.0))
    options = {"C": 0.1, "loss": loss, "tol": 1e-5}
    newton = train(task, algorithm="newton", **options)
    slow = train(task, algorithm="dcd-ssvm", max_iter=20_000, **options)
    assert newton.stopped == slow.stopped == "tolerance"
    assert newton.certificate.primal == pytest.approx(slow.certificate.primal, rel=2e-5)
    assert newton.trace.rows[-1]["iteration"] < slow.trace.rows[-1]["iteration"]


@pytest.mark.parametrize("C", [0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_dual_never_falls(loss, C):
    rows = train(blobs((1e-3, 1.0, 30.0, 1e3)), algorithm="newton", C=C, loss=loss, tol=1e-12, max_iter=25).trace.rows
    duals = np.array([row["dual"] for row in rows])
    assert (np.diff(duals) >= -1e-9 * np.abs(duals[1:])).all()


def test_more_weights_than_it_is_for_are_refused():
    task = MulticlassTask(np.ones((2, Newton.most_weights)), [0, 1], 2)
    with pytest.raises(InputError, match=r"newton is for at most 4,096 weights, and the task has 32,768"):
        train(task, algorithm="newton")
