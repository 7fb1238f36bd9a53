"""Going back to an earlier pass: a row of the trace says what was true after its own pass, and so does the result."""

import json

import pytest
from support.chain_tasks import make_task
from support.killing import KillAfter, Killed
from support.oracles import TinyChains
from support.pairs import with_effect

from marginloom import Callback, Checkpoint, EarlyStopping
from marginloom.training.train import train

TASK = make_task(TinyChains(0, sentences=20), "valued")
OPTIONS = {"C": 0.5, "tol": 1e-9}
BEST = 2
PATIENCE = 3
LAST = BEST + PATIENCE
ALGORITHMS = [
    ("dcd-ssvm", {}),
    ("shrinking-dcd", {}),
    ("bcfw", {"averaged": True}),
    ("one-slack", {}),
    ("sgd", {}),
]


SCORES = (0.5, 0.9, 0.8, 0.7, 0.6)  # after each pass: they rise until the second one


def evaluations(first=1):
    """Return for `train` what gives the scores from some pass on."""
    scores = iter(SCORES[first - 1 :])
    return {"dev": lambda weights: {"accuracy": next(scores)}}


def objectives(row):
    return [row[name] for name in ("primal", "dual", "gap")]


def stopped_early(algorithm, learner, **others):
    return train(
        TASK,
        algorithm=algorithm,
        learner=learner,
        evaluations=evaluations(),
        callbacks=[EarlyStopping(PATIENCE)],
        **with_effect(algorithm, OPTIONS),
        **others,
    )


def close(numbers, expected):
    assert [number is None for number in numbers] == [number is None for number in expected]
    present = [number for number in expected if number is not None]
    assert [number for number in numbers if number is not None] == pytest.approx(present, rel=1e-9)


@pytest.mark.parametrize(("algorithm", "learner"), ALGORITHMS)
def test_the_certificate_is_in_the_row_of_the_pass_that_was_restored(tmp_path, algorithm, learner):
    result = stopped_early(algorithm, learner, trace_path=tmp_path / "t")
    options = {"algorithm": algorithm, "learner": learner, **with_effect(algorithm, OPTIONS)}
    until_best = train(TASK, max_iter=BEST, **options)
    beyond = train(TASK, max_iter=LAST + 1, **options)
    rows = result.trace.rows
    assert (result.stopped, result.iterations, result.weights_iteration) == ("early", LAST, BEST)
    close(objectives(rows[BEST - 1]), objectives(until_best.trace.rows[-1]))
    assert rows[BEST - 1]["certified"] is (algorithm != "sgd")
    for row, untouched in zip(rows, beyond.trace.rows[:LAST], strict=True):
        if row["iteration"] != BEST:
            assert objectives(row) == objectives(untouched)
            assert row["certified"] is False
    assert [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()[1:]] == rows
    assert result.primal == rows[BEST - 1]["primal"]
    assert result.active == rows[BEST - 1]["active"] == until_best.active
    if result.certificate is not None:
        assert [result.certificate.primal, result.certificate.dual, result.certificate.gap] == objectives(
            rows[BEST - 1]
        )


def test_the_last_pass_is_that_of_the_weights_otherwise():
    result = train(TASK, max_iter=3, **OPTIONS)
    assert result.weights_iteration == result.iterations == 3
    assert result.trace.rows[-1]["certified"]


def test_a_resumed_run_goes_back_to_a_pass_before_it_was_cut_off(tmp_path):
    asked = {**OPTIONS, "checkpoint": Checkpoint(tmp_path, interval=0)}
    killed_in = 4
    callbacks = [EarlyStopping(PATIENCE), KillAfter(killed_in)]
    with pytest.raises(Killed):
        train(TASK, **asked, evaluations=evaluations(), callbacks=callbacks)
    rest = train(
        TASK, **asked, evaluations=evaluations(first=killed_in), callbacks=[EarlyStopping(PATIENCE)], resume=True
    )
    whole = stopped_early("dcd-ssvm", {})
    assert (rest.iterations, rest.weights_iteration) == (LAST, BEST)
    assert [objectives(row) for row in rest.trace.rows] == [objectives(row) for row in whole.trace.rows]
    assert [row["certified"] for row in rest.trace.rows] == [row["certified"] for row in whole.trace.rows]


def test_a_state_of_another_run_that_fits_no_row_leaves_the_rows_alone():
    other = train(TASK, max_iter=7, keep_state=True, **OPTIONS)

    class GoOn(Callback):
        def after_training(self, run):
            run.restore(other.state)

    result = train(TASK, max_iter=2, callbacks=[GoOn()], **OPTIONS)
    assert result.weights_iteration is None
    assert result.certificate.dual == pytest.approx(other.certificate.dual, rel=1e-9)
    assert [row["certified"] for row in result.trace.rows] == [False, False]
