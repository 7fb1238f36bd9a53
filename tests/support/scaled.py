"""Problems with features of other sizes, and certificates of all learners on one problem."""

from __future__ import annotations

import copy

import numpy as np

from marginloom.training.train import train
from support.certified import LEARNERS
from support.changeable import PROBLEMS, Custom, EveryOutput, Sequences, chains
from support.recomputed import Enumeration, check_certificate

ANY = (0, np.inf)
#: What ends before the tolerance, as published.
STOPS_EARLY = "fsmo serial hinge variant=as-published"


class Scaled(Custom):
    """Any problem in plain Python, with its features times a factor."""

    def __init__(self, oracle, factor):
        super().__init__(oracle)
        unscaled = oracle.phi
        oracle.phi = lambda i, y: factor * unscaled(i, y)

    def task(self):
        return EveryOutput(self.oracle)


def with_rows_of(name, length, every):
    """Return a problem of rows without a bias, of which all or every other one have this length."""
    problem = copy.deepcopy(PROBLEMS[name])
    X = problem.oracle.X.copy()
    rows = slice(None, None, 1 if every else 2)
    norms = np.linalg.norm(X[rows], axis=1, keepdims=True)
    X[rows] *= length / np.where(norms > 0, norms, 1)
    problem.oracle.X, problem.oracle.bias = X, 0.0
    return problem


def scaled_sequences(exponent):
    """Return sentences of one word, which have no transitions, with features times a power of 2."""
    oracle = chains(1, max_length=1)
    oracle.X = [x * 2.0**exponent for x in oracle.X]
    return Sequences(oracle)


def scaled_objects(exponent):
    """Return images with pixels times a power of 2."""
    problem = copy.deepcopy(PROBLEMS["detection"])
    problem.oracle.images.images = problem.oracle.images.images * np.float32(2.0**exponent)
    return problem


def check_all(problem, C=0.1, tol=1e-3, max_iter=100, converge=True):
    """Train with every learner, engine and loss, and check all certificates, also against each other."""
    task = problem.task()
    costs = np.full(len(problem.oracle.X), C)
    found = {"hinge": [], "squared_hinge": []}
    for case in LEARNERS:
        if not case.suits(task):
            continue
        result = train(task, C=C, loss=case.loss, tol=tol, max_iter=max_iter, keep_state=True, **case.settings)
        enumeration = Enumeration(problem, costs, case.loss)
        proof, arrays = result.certificate, result.state.arrays
        check_certificate(enumeration, ANY, result.weights, proof, arrays, averaged=case.averages_duals)
        found[case.loss].append(proof)
        assert not converge or result.stopped == "tolerance" or str(case) == STOPS_EARLY, (str(case), proof)
    for proofs in found.values():
        if proofs:
            assert max(proof.dual for proof in proofs) <= min(proof.primal for proof in proofs) * (1 + 1e-12)
