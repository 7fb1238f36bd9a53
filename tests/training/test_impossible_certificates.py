"""A dual above the primal is a mistake somewhere, and is said to be one."""

import pytest
from support.custom_chains import Majority, votes

from marginloom import InputError, _core, train
from marginloom.errors import CertificateError, MarginloomError
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.certificate import checked_certificate

TASK = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)


def found(primal, dual, proven=True):
    return _core.Certificate(primal=primal, dual=dual, proven=proven, complete=True)


def test_a_dual_above_the_primal_is_an_error_of_marginloom_and_not_of_the_input():
    told = r"a dual of 2\.1 above the primal of 2, so one of them is wrong: this is a bug, please report it"
    with pytest.raises(CertificateError, match=told):
        checked_certificate(TASK, found(2.0, 2.1))
    assert issubclass(CertificateError, MarginloomError)
    assert not issubclass(CertificateError, ValueError)  # as errors of the input are


def test_rounding_is_no_mistake():
    assert checked_certificate(TASK, found(2.0, 2.0 + 1e-12)).gap == pytest.approx(-5e-13)


def test_inference_without_a_bound_proves_nothing_and_contradicts_nothing():
    assert not checked_certificate(TASK, found(2.0, 2.1, proven=False)).exact


class Careless(Majority):
    """Says that it finds the best output, and finds gold."""

    careful = True

    def argmax_augmented(self, x, gold, w):
        return super().argmax_augmented(x, gold, w) if Careless.careful else gold


def test_methods_that_contradict_each_other_are_named(monkeypatch):
    X, Y = votes()
    state = train(Careless(X, Y), C=1.0, max_iter=5, keep_state=True).state
    monkeypatch.setattr(Careless, "careful", False)
    with pytest.raises(InputError, match="argmax_augmented has missed a better output"):
        train(Careless(X, Y), C=1.0, max_iter=1, warm_start=state)


class Restricted(Majority):
    """May be told not to return an output any more."""

    forbidden = None

    def allows(self, x, y):
        return y != self.forbidden

    def argmax_augmented(self, x, gold, w):
        allowed = [y for y in range(3) if y == gold or self.allows(x, y)]
        return max(allowed, key=lambda y: w[y] * x[y] + self.loss(gold, y))


def test_a_state_of_another_class_is_refused():
    X, Y = votes()
    state = train(Majority(X, Y), max_iter=3, keep_state=True).state
    with pytest.raises(InputError, match="the state to start from belongs to other training examples"):
        train(Restricted(X, Y), warm_start=state)


def test_outputs_that_a_task_does_not_allow_any_more_are_dropped(monkeypatch):
    X, Y = votes()
    kept = [(x, y) for x, y in zip(X, Y, strict=True) if y != 2]
    X, Y = [x for x, _ in kept], [y for _, y in kept]
    state = train(Restricted(X, Y), C=1.0, tol=1e-6, max_iter=500, keep_state=True).state
    monkeypatch.setattr(Restricted, "forbidden", 2)
    cold = train(Restricted(X, Y), C=1.0, tol=1e-6, max_iter=500)
    warm = train(Restricted(X, Y), C=1.0, tol=1e-6, max_iter=500, warm_start=state)
    assert warm.certificate.dual <= cold.certificate.primal
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-5)
