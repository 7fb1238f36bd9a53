"""Certificates of runs that were killed and resumed, interrupted or stopped early: true, or none."""

import signal

import pytest
from support.certified import LEARNERS, Trainer, learners_of
from support.changeable import PROBLEMS, RestrictedChains
from support.custom_chains import at_call
from support.killing import KillAfter, Killed, check_goes_on, saved_in

from marginloom import Callback, Checkpoint, EarlyStopping

every_problem = pytest.mark.parametrize("name", PROBLEMS)


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def raise_interrupt():
    raise KeyboardInterrupt


@every_problem
def test_certificates_of_resumed_runs_are_true(name, tmp_path):
    for number, case in enumerate(learners_of(name)):
        trainer, checkpoint = Trainer(name, case), Checkpoint(tmp_path / str(number), interval=0)
        with pytest.raises(Killed):
            trainer.train(max_iter=4, checkpoint=checkpoint, callbacks=[KillAfter(2)])
        saved = saved_in(tmp_path / str(number))
        rest = trainer.certified(max_iter=3, checkpoint=checkpoint, resume=True)
        check_goes_on(saved, rest.trace.rows)


class Press(Callback):
    """Presses Ctrl-C before or after a pass."""

    def __init__(self, method, iteration):
        self.method, self.iteration = method, iteration

    def before_iteration(self, run):
        if self.method == "before" and run.iteration == self.iteration - 1:
            ctrl_c()

    def after_iteration(self, run, row):
        if self.method == "after" and run.iteration == self.iteration:
            ctrl_c()


@every_problem
@pytest.mark.parametrize(("method", "tol"), [("before", 1e-12), ("after", 0.9)])  # 0.9: certificates on the way
def test_interrupted_runs_leave_a_state_that_goes_on_and_no_false_certificate(name, method, tol):
    for case in learners_of(name):
        trainer = Trainer(name, case)
        result = trainer.train(max_iter=9, tol=tol, least_inferences=10**9, callbacks=[Press(method, 2)])
        assert result.stopped == "interrupted"
        trainer.check(result)
        trainer.certified(warm_start=result.state, max_iter=1)


class Watched(RestrictedChains):
    """Calls a function before some inference."""

    def __init__(self, chains, watch):
        self.watch = watch
        super().__init__(chains)

    def argmax_augmented(self, x, gold, w):
        self.watch()
        return super().argmax_augmented(x, gold, w)

    @property
    def fingerprint(self):
        return RestrictedChains(self.chains).fingerprint


@pytest.mark.parametrize("call", [1, 9, 17, 25])
@pytest.mark.parametrize("action", [ctrl_c, raise_interrupt])
def test_a_pass_that_is_cut_leaves_duals_and_weights_that_belong_together(call, action):
    name = "custom, constrained"
    chains = PROBLEMS[name].oracle
    for case in learners_of(name):
        trainer = Trainer(name, case)
        result = trainer.train(Watched(chains, at_call(call, action)), max_iter=10**6, tol=1e-300)
        assert result.stopped == "interrupted"
        trainer.check(result)
        trainer.certified(warm_start=result.state, max_iter=1)


@pytest.mark.parametrize("case", [case for case in LEARNERS if case.algorithm in ("dcd-ssvm", "bcfw")], ids=str)
def test_inner_passes_that_are_cut_leave_duals_and_weights_that_belong_together(case):
    name = "multiclass"
    trainer = Trainer(name, case)
    endless = {**dict(case.learner), "inner_passes": 10**9}
    result = trainer.train(learner=endless, callbacks=[Press("before", 1)])
    assert (result.stopped, result.iterations, result.certificate) == ("interrupted", 0, None)
    trainer.check(result)
    trainer.certified(warm_start=result.state, max_iter=1)


class Falls:
    """An evaluation that was best after the first pass."""

    def __init__(self):
        self.score = 1.0

    def __call__(self, weights):
        self.score -= 0.1
        return {"accuracy": self.score}


@every_problem
@pytest.mark.parametrize("tol", [1e-12, 0.9])
def test_certificates_of_runs_that_stopped_early_are_of_the_pass_that_they_went_back_to(name, tol):
    for case in learners_of(name):
        trainer = Trainer(name, case)
        stopping = EarlyStopping(patience=2)
        options = {"evaluations": {"dev": Falls()}, "callbacks": [stopping], "tol": tol, "least_inferences": 10**9}
        result = trainer.train(max_iter=9, **options)
        assert result.stopped == "early"
        assert result.iterations == 3
        trainer.check(result)
        assert result.certificate is not None
