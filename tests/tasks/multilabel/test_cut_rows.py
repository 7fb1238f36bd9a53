"""Rows of labels are cut into examples as the run says: a task does not ask who trains it."""

import numpy as np
import pytest

from marginloom.tasks.base.model import Training
from marginloom.tasks.multilabel.features import LabelledRows
from marginloom.tasks.multilabel.model import LABELS_PER_SLACK, MultilabelProblem
from marginloom.training.options import checked_spec
from marginloom.training.spec import Cut, RunSpec

LABELS = 19
X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.random.default_rng(1).integers(2, size=(12, LABELS))

WHOLE, SINGLE, FREE = 1, LABELS, -(-LABELS // LABELS_PER_SLACK)
RUNS = [
    ({}, "hinge", WHOLE),
    ({}, "squared_hinge", SINGLE),
    ({}, None, SINGLE),
    ({"algorithm": "label-dcd"}, "hinge", WHOLE),
    ({"algorithm": "label-dcd"}, None, SINGLE),
    ({"algorithm": "dcd-ssvm"}, "hinge", FREE),
    ({"algorithm": "dcd-ssvm"}, None, SINGLE),
    ({"algorithm": "newton"}, "hinge", FREE),
    ({"algorithm": "bcfw"}, None, FREE),
    ({"algorithm": "dcd-ssvm", "engine": "pipelined", "n_threads": 3}, "hinge", WHOLE),
    ({"algorithm": "dcd-ssvm", "engine": "pipelined", "n_threads": 3}, None, SINGLE),
    ({"algorithm": "perceptron"}, None, WHOLE),
    ({"algorithm": "sgd"}, "hinge", WHOLE),
]


def examples_per_row(run, loss, **own):
    problem = MultilabelProblem(training=LabelledRows(X, Y), **own)
    return Training.of(problem, RunSpec(loss=loss, **run)).task.core.examples_per_row


@pytest.mark.parametrize(("run", "loss", "expected"), RUNS)
def test_rows_are_cut_as_the_run_says(run, loss, expected):
    assert examples_per_row(run, loss) == expected


@pytest.mark.parametrize(("run", "loss", "_"), RUNS)
def test_the_user_comes_first(run, loss, _):
    assert examples_per_row(run, loss, labels_per_slack=5) == 4
    assert examples_per_row(run, loss, interactions="tree") == 1


def test_nothing_but_the_cut_of_a_run_counts():
    problem = MultilabelProblem(training=LabelledRows(X, Y))
    spec = checked_spec(RunSpec(algorithm="perceptron"))
    for cut, expected in ((Cut.WHOLE, WHOLE), (Cut.SINGLE, SINGLE), (Cut.FREE, FREE)):
        spec.cut = cut
        assert problem.prepare(spec).task.core.examples_per_row == expected
