"""Every algorithm, on every engine that its learner has, on every task: one suite for all."""

import itertools
import re

import numpy as np
import pytest
from support.killing import KillAfter, Killed, check_goes_on, saved_in
from support.pairs import CASES, TO_THE_OPTIMUM, with_effect
from support.small_tasks import SMALL, C

from marginloom import Checkpoint, InputError
from marginloom.algorithms import ALGORITHMS, engines_of
from marginloom.engines import ENGINES
from marginloom.learners.base import NEEDS
from marginloom.training.objective import primal
from marginloom.training.train import train

#: Certified gaps to train to, and passes for it.
TOL, PASSES = 1e-3, 3_000
LOOSE = {"bcfw": 0.01}
every_case = pytest.mark.parametrize(("algorithm", "engine"), CASES)


@pytest.fixture(scope="module", params=SMALL)
def small(request):
    return SMALL[request.param]()


def options(algorithm, engine, **others):
    shards = {"shards": 3} if engine in ("mixing", "subsample") else {}  # the examples are too few for the default
    threads = max(2, ENGINES[engine].minimum_threads)
    named = {"name": engine, **shards, **TO_THE_OPTIMUM.get(engine, {})}
    asked = {"algorithm": algorithm, "engine": named, "C": C, "n_threads": threads, **others}
    return with_effect(algorithm, asked)


def refuses(task, algorithm, engine):
    """Check that what needs something that the task does not have is refused, naming both sides."""
    learner = ALGORITHMS[algorithm].learner
    has = set(task.core.capabilities)
    for side, needs in (
        (algorithm, learner.all_needs(next(iter(learner.losses), None))),
        (f"the engine {engine}", ENGINES[engine].needs),
    ):
        for missing in sorted(needs - has):
            said = f"{side} needs {NEEDS[missing]}, and {task.why_it_lacks(missing)}"
            with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
                train(task, **options(algorithm, engine))
            return True
    return False


def learns(result, small):
    assert np.isfinite(result.weights).all()
    if result.algorithm.engine.name != "subsample":  # which leaves examples out
        assert small.training_loss(result.weights) < 0.75 * small.chance


@pytest.mark.parametrize(
    ("algorithm", "engine"), [case for case in CASES if ALGORITHMS[case[0]].learner.kind == "online"]
)
def test_online_learners_learn(small, algorithm, engine):
    if not refuses(small.task, algorithm, engine):
        learns(train(small.task, **options(algorithm, engine, max_iter=30)), small)


@pytest.mark.parametrize(
    ("algorithm", "engine", "loss"),
    [
        (algorithm, engine, loss)
        for algorithm, engine in CASES
        for loss in ALGORITHMS[algorithm].learner.losses
        if ALGORITHMS[algorithm].learner.has_dual()
    ],
)
def test_dual_learners_end_at_the_same_certified_optimum(small, algorithm, engine, loss):
    if refuses(small.task, algorithm, engine):
        return
    tol = LOOSE.get(algorithm, TOL) if small.exact else 0.05
    passes = PASSES if small.exact else 30
    result = train(small.task, **options(algorithm, engine, loss=loss, tol=tol, max_iter=passes))
    proof, best = result.certificate, small.optima[loss]
    assert proof.dual <= best * (1 + 1e-5)
    assert (proof.exact, proof.bounded) == (small.exact, small.bounded)
    if small.bounded:
        assert proof.primal >= best * (1 - 1e-5)
    else:
        assert result.stopped in ("estimate", "iterations")
    if small.exact:
        assert result.stopped == "tolerance"
        assert proof.primal <= best * (1 + 2 * tol)
    assert proof.primal == pytest.approx(primal(small.task, result.weights, C=C, loss=loss), rel=1e-9)
    learns(result, small)


@every_case
def test_a_run_that_was_cut_off_goes_on_from_its_checkpoint(small, algorithm, engine, tmp_path):
    task = small.task
    if refuses(task, algorithm, engine):
        return
    asked = options(algorithm, engine, tol=1e-12, max_iter=4)
    with pytest.raises(Killed):
        train(task, **asked, callbacks=[KillAfter(3)], checkpoint=Checkpoint(tmp_path, interval=0))
    saved = saved_in(tmp_path)
    rest = train(task, **asked, checkpoint=tmp_path, resume=True)
    assert (saved.progress["iteration"], rest.iterations) == (2, 4)
    check_goes_on(saved, rest.trace.rows)
    if not rest.algorithm.engine.gives_same_bits(asked["n_threads"]):
        return  # test_certificates_of_ended_runs.py recomputes their certificates
    whole = train(task, **asked)
    assert rest.weights.tobytes() == whole.weights.tobytes()
    assert rest.certificate == whole.certificate
    assert predictions(task, rest.weights) == predictions(task, whole.weights)


def predictions(task, weights):
    return task.core.predict(weights, 1, 1).outputs.tobytes()


@pytest.mark.parametrize(("algorithm", "engine"), [case for case in CASES if ENGINES[case[1]].minimum_threads > 1])
def test_too_few_threads_are_refused_by_the_name_of_the_engine(small, algorithm, engine):
    if refuses(small.task, algorithm, engine):
        return
    least = ENGINES[engine].minimum_threads
    with pytest.raises(InputError, match=f"{algorithm} needs at least {least} threads for its engine {engine}"):
        train(small.task, **options(algorithm, engine, n_threads=least - 1))


def test_all_tasks_learners_and_engines_are_among_the_cases():
    used = {(ALGORITHMS[name].learner.name, engine) for name, engine in CASES}
    assert used == {(p.learner.name, engine) for p in ALGORITHMS.values() for engine in engines_of(p.learner)}
    names = {make().task.name for make in SMALL.values()}
    assert names == {"sequence", "multiclass", "multilabel", "detection", "parse", "relations", "custom"}


def test_the_problems_are_no_trivial_ones(small):
    assert 0 < small.optima["hinge"] < C * len(small.oracle.X) * small.chance * 4
    golds = {tuple(np.atleast_1d(y)) for y in small.oracle.y}
    assert len(golds) > 2
    assert all(a != b for a, b in itertools.pairwise(sorted(golds)))
