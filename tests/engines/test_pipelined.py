"""One thread that learns and others that own the weights: the optimum, the same bits again, and no thread left."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from support.chain_tasks import make_task
from support.oracles import TinyChains

from marginloom import InputError, MulticlassClassifier, MultilabelClassifier
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.train import train

TASKS = Path("/proc/self/task")
ENGINE = {"engine": "pipelined", "C": 0.3}


def blobs(*, dense, n=200, features=20, classes=5):
    rng = np.random.default_rng(7)
    y = rng.integers(0, classes, size=n)
    X = rng.normal(size=(n, features)) * (rng.random((n, features)) < 0.5)
    X[np.arange(n), y] += 1.5
    X[4] = 0
    return (X if dense else sp.csr_array(X)), y


def sets(*, dense, labels=5):
    """Return the inputs of the blobs, with the class of each and another label, which may be the same, as its set."""
    X, y = blobs(dense=dense, classes=labels)
    return X, [sorted({int(first), (3 * i) % labels}) for i, first in enumerate(y)]


TASKS_AND_TOLERANCES = {
    "classes": (lambda dense: MulticlassTask(*blobs(dense=dense), 5, bias=1.0), 1e-4),
    "sets of labels": (lambda dense: MultilabelTask(*sets(dense=dense), 5, bias=1.0), 1e-3),
}


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light", "shrinking-dcd"])
@pytest.mark.parametrize("kind", TASKS_AND_TOLERANCES)
def test_the_optimum_of_one_thread(kind, algorithm, dense, loss):
    make, tol = TASKS_AND_TOLERANCES[kind]
    task = make(dense)
    options = {"algorithm": algorithm, "loss": loss, "C": 0.3, "tol": tol, "max_iter": 2000}
    alone = train(task, **options)
    for threads in (3, 8):
        result = train(task, **options, engine="pipelined", n_threads=threads)
        assert result.stopped == "tolerance"
        assert result.certificate.dual <= alone.certificate.primal
        assert result.primal == pytest.approx(alone.primal, rel=3 * tol)
        assert result.iterations <= alone.iterations + 2
        for row in result.trace.rows:
            sums = [sum(thread.values()) for thread in row["threads"]]
            assert sums == pytest.approx([sums[0]] * threads, rel=1e-9)


@pytest.mark.parametrize("scorers", [0, 1, 4])
@pytest.mark.parametrize("kind", TASKS_AND_TOLERANCES)
def test_the_same_threads_give_the_same_bits(kind, scorers):
    task = TASKS_AND_TOLERANCES[kind][0](dense=False)
    options = {"algorithm": "shrinking-dcd", "engine": {"name": "pipelined", "scorers": scorers}, "n_threads": 6}
    assert train(task, **options).weights.tobytes() == train(task, **options).weights.tobytes()


def test_a_classifier_takes_it():
    X, y = blobs(dense=False)
    model = MulticlassClassifier("shrinking-dcd", engine="pipelined", n_threads=4).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_classifier_of_sets_takes_it_and_keeps_its_objective(loss):
    X, labels = sets(dense=False, labels=20)
    options = {"algorithm": "dcd-ssvm", "loss": loss, "C": 0.1, "tol": 1e-3, "max_iter": 2000, "labels_per_slack": 20}
    alone = MultilabelClassifier(**options).fit(X, labels)
    model = MultilabelClassifier(**options, engine="pipelined", n_threads=4).fit(X, labels)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-3)


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads in /proc")
def test_no_thread_is_left_behind():
    before = len(list(TASKS.iterdir()))
    train(MulticlassTask(*blobs(dense=False), 5), algorithm="dcd-ssvm", **ENGINE, n_threads=5)
    assert len(list(TASKS.iterdir())) <= before


def test_other_tasks_and_too_few_threads_are_refused():
    with pytest.raises(InputError, match=r"needs joint features that are products.*the task sequence has none"):
        train(make_task(TinyChains(2, sentences=20), "valued"), algorithm="dcd-ssvm", **ENGINE, n_threads=3)
    for options in ({"pairs": [(0, 1)]}, {"labels_per_slack": 2}):
        task = MultilabelTask(*sets(dense=False), 5, **options)
        with pytest.raises(InputError, match=r"needs joint features that are products.*here (the 5 )?labels"):
            train(task, algorithm="dcd-ssvm", **ENGINE, n_threads=3)
    with pytest.raises(InputError, match="needs at least 3 threads for its engine pipelined, and 2 was given"):
        train(MulticlassTask(*blobs(dense=False), 5), algorithm="dcd-ssvm", **ENGINE, n_threads=2)
    with pytest.raises(InputError, match="needs at least 7 threads for its engine pipelined, and 6 was given"):
        train(
            MulticlassTask(*blobs(dense=False), 5),
            algorithm="dcd-ssvm",
            engine={"name": "pipelined", "scorers": 5},
            n_threads=6,
        )
    with pytest.raises(InputError, match="the learner fsmo has no engine pipelined"):
        train(MulticlassTask(*blobs(dense=False), 5), algorithm="fsmo", **ENGINE, n_threads=3)
