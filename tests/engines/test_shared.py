"""Threads that share the weights: the same optimum, whatever they do, and nothing left behind."""

from pathlib import Path

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import Majority, votes
from support.oracles import TinyChains, WholeDual

from marginloom.engines import Shared
from marginloom.training.train import train

TASKS = Path("/proc/self/task")
C = 0.3
CHAINS = TinyChains(2, sentences=30, max_length=1, labels=4, features=6)


@pytest.fixture(scope="module")
def optimum():
    dual = WholeDual(CHAINS, np.full(len(CHAINS.X), C))
    return {loss: dual.solve(loss)[0] for loss in ("hinge", "squared_hinge")}


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize(
    ("algorithm", "loss"), [("fastssvm", "hinge"), ("dcd-ssvm", "hinge"), ("dcd-light", "squared_hinge")]
)
def test_any_number_of_threads_ends_at_the_optimum(optimum, algorithm, loss, threads):
    task = make_task(CHAINS, "indicators")
    options = {"loss": loss, "C": C, "tol": 1e-3, "max_iter": 1000, "n_threads": threads}
    result = train(task, algorithm=algorithm, engine=Shared(), **options)
    assert result.stopped == "tolerance"
    assert optimum[loss] * (1 - 1e-5) <= result.primal <= optimum[loss] * 1.002
    assert [len(row["threads"]) for row in result.trace.rows] == [threads] * result.iterations
    assert all(row["inferences"] == len(CHAINS.X) * row["iteration"] for row in result.trace.rows)


@pytest.mark.parametrize(
    "off",
    [
        {"batch": 1},
        {"inner_stop": False},
        {"inner_share": 0.0},
        {"scope": "all"},
        {"scope": "all", "batch": 1, "inner_stop": False},
    ],
    ids=str,
)
def test_every_part_of_fastssvm_can_be_switched_off(optimum, off):
    task = make_task(CHAINS, "indicators")
    result = train(task, algorithm="fastssvm", learner=off, C=C, tol=1e-3, max_iter=1000, n_threads=2)
    assert result.stopped == "tolerance"
    assert result.primal <= optimum["hinge"] * 1.002


def test_the_outer_rule_of_the_paper_ends_training_early():
    task = make_task(CHAINS, "indicators")
    rule = {"outer_stop": True, "outer_change": 0.2}
    result = train(task, algorithm="fastssvm", learner=rule, C=C, tol=1e-9, max_iter=1000, n_threads=2)
    assert result.stopped == "early"
    assert result.certificate.gap > 1e-9


def test_one_thread_repeats_itself_to_the_bit():
    task = make_task(CHAINS, "valued")
    options = {"algorithm": "fastssvm", "C": C, "tol": 1e-3, "n_threads": 1}
    assert train(task, **options).weights.tobytes() == train(task, **options).weights.tobytes()


class Failing(Majority):
    calls = 0

    def argmax_augmented(self, x, gold, w):
        self.calls += 1
        if self.calls == 50:
            raise ArithmeticError("the fiftieth call")
        return super().argmax_augmented(x, gold, w)


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads in /proc")
def test_an_exception_in_a_thread_reaches_the_caller_and_no_thread_stays():
    before = len(list(TASKS.iterdir()))
    with pytest.raises(ArithmeticError, match="the fiftieth call"):
        train(Failing(*votes()), algorithm="fastssvm", n_threads=8, tol=1e-9)
    assert len(list(TASKS.iterdir())) <= before
