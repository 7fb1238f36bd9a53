"""Certificates are of the features as they were given, or as they are documented to be rounded, whatever their size."""

import copy

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.changeable import Sequences, chains
from support.recomputed import Enumeration
from support.scaled import Scaled, check_all

from marginloom.training.train import train

SIZES = [1e-3, 1.0, 1e3, 1e6]
ROUNDING = 2.0**-24  # of single precision, relative
C = 0.1


def real_chains(seed, size, **options):
    """Return chains whose features are real numbers that single precision does not hold."""
    oracle = chains(seed, **options)
    rng = np.random.default_rng(seed)
    oracle.X = [size * rng.normal(size=x.shape) for x in oracle.X]
    return oracle


def with_tokens(oracle, change):
    result = copy.deepcopy(oracle)
    result.X = [change(x) for x in oracle.X]
    return result


def in_single_precision(x):
    return x.astype(np.float32).astype(float)


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_certificates_of_a_custom_task_are_of_its_features_in_double_precision(size, passes):
    check_all(Scaled(real_chains(4, 1.0, max_length=2), size), max_iter=passes, tol=1e-9, converge=False)


class DenseSequences(Sequences):
    """Keeps no differences."""

    def task(self):
        return make_task(self.oracle, "dense")


@pytest.mark.parametrize("kind", [Sequences, DenseSequences])
@pytest.mark.parametrize(("size", "passes"), [*((size, 1) for size in SIZES), (1.0, 3)])  # large ones take long steps
def test_certificates_of_sequences_are_of_their_features_in_single_precision(size, passes, kind):
    rounded = with_tokens(real_chains(1, size), in_single_precision)
    check_all(kind(rounded), max_iter=passes, tol=1e-9, converge=False)


@pytest.mark.parametrize("size", SIZES)
def test_rounding_of_sequences_moves_the_objective_no_further_than_documented(size):
    oracle = real_chains(1, size)
    problem, sizes = Sequences(oracle), with_tokens(oracle, np.abs)
    result = train(problem.task(), C=C, loss="hinge", tol=1e-9, max_iter=3)
    w = problem.weights(result.weights)
    given = Enumeration(problem, np.full(len(oracle.X), C), "hinge").primal(w)
    rounded = Sequences(with_tokens(oracle, in_single_precision))
    assert result.certificate.primal == pytest.approx(
        Enumeration(rounded, np.full(len(oracle.X), C), "hinge").primal(w), rel=1e-12
    )
    # A violation is a difference of two scores.
    scores = [max(np.abs(w) @ sizes.phi(i, y) for y in oracle.outputs(i)) for i in range(len(oracle.X))]
    assert 0 < abs(result.certificate.primal - given) <= C * 2 * ROUNDING * sum(scores)
