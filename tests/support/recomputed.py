"""Certificates once more, by enumeration, from nothing but what a run has saved."""

from __future__ import annotations

import numpy as np
import pytest

from support.duals import best_dual, chains_of, duals_of, outputs

#: Relative; the features of the problems are exact in single precision.
ROUNDING = 1e-9


class Enumeration:
    """All outputs of all examples of a problem, with an objective."""

    def __init__(self, problem, costs, loss):
        oracle = problem.oracle
        self.problem, self.costs, self.loss = problem, np.asarray(costs, dtype=float), loss
        self.index, rows, losses = {}, [], []
        for i in range(len(oracle.X)):
            gold = _key(oracle.y[i])
            for y in oracle.outputs(i):
                if _key(y) != gold:
                    self.index[i, _key(y)] = len(rows)
                    rows.append(oracle.phi(i, oracle.y[i]) - oracle.phi(i, y))
                    losses.append(oracle.loss(i, y))
        self.rows, self.losses = np.array(rows), np.array(losses)
        self.owners = np.array([i for i, _ in self.index])

    def primal(self, w):
        """Return the objective of weights."""
        slacks = np.zeros(len(self.costs))
        np.maximum.at(slacks, self.owners, self.losses - self.rows @ w)
        return 0.5 * w @ w + self.costs @ (slacks if self.loss == "hinge" else slacks**2)

    def dual(self, a):
        """Return the dual objective of a point, which must be feasible, and its weights."""
        sums = np.bincount(self.owners, a, minlength=len(self.costs))
        assert (a >= 0).all()
        if self.loss == "hinge":
            assert (sums <= self.costs * (1 + 1e-8)).all()
            ridge = 0.0
        else:
            assert (sums[self.costs == 0] == 0).all()
            ridge = (sums**2 / (4 * np.where(self.costs > 0, self.costs, 1))).sum()
        w = a @ self.rows
        return a @ self.losses - 0.5 * w @ w - ridge, w

    def point(self, arrays):
        """Return the dual point of a state; an output that is gold or not allowed is no part of one."""
        a = np.zeros(len(self.losses))
        for (i, encoded), dual in self._saved(arrays):
            a[self.index[i, self.problem.output(bytes(encoded))]] += dual
        return a

    def _saved(self, arrays):
        if "decisions" in arrays:
            return chains_of(arrays, self.problem.oracle.y).items()
        if "constraint_duals" not in arrays:
            return duals_of(arrays).items()
        constraints = np.repeat(arrays["constraint_duals"], arrays["constraint_sizes"].astype(int))
        assert arrays["constraint_duals"].sum() <= 1 + 1e-9
        examples = arrays["constraint_examples"].astype(int)
        return [
            ((i, encoded), dual * self.costs[i])
            for i, encoded, dual in zip(examples, outputs(arrays, "constraint_"), constraints, strict=True)
        ]

    def solve(self):
        """Return the optimum, by scipy."""
        ridge = None if self.loss == "hinge" else 1 / (2 * self.costs)
        return best_dual(self.losses, self.rows, self.owners, self.costs, ridge)[0]


def _key(y):
    return int(y) if np.ndim(y) == 0 else tuple(int(part) for part in y)


def close(value, other):
    return value == pytest.approx(other, rel=ROUNDING, abs=1e-12)


def check_state(enumeration, arrays):
    """Check that duals are feasible and weights theirs; return the dual's value, recomputed."""
    value, w = enumeration.dual(enumeration.point(arrays))
    saved = enumeration.problem.weights(arrays["weights"])
    np.testing.assert_allclose(saved, w, rtol=0, atol=ROUNDING * max(1, abs(w).max(initial=0)))
    return value


def check_certificate(enumeration, between, weights, certificate, arrays, *, averaged):
    """Check all that a certificate says against what was saved with it; `averaged`: the duals' average is not saved."""
    lowest, highest = between
    w = enumeration.problem.weights(weights)
    primal = enumeration.primal(w)
    if enumeration.problem.exact:
        assert close(certificate.primal, primal)
    elif enumeration.problem.bounded:
        assert certificate.primal >= primal * (1 - ROUNDING)
    else:  # an estimate, from outputs that are no better than the best
        assert certificate.primal <= primal * (1 + ROUNDING)
    value = check_state(enumeration, arrays)
    if averaged:
        assert certificate.dual <= enumeration.losses.max(initial=0) * enumeration.costs.sum()
    else:
        assert close(certificate.dual, value)
    assert certificate.dual <= highest * (1 + ROUNDING) + 1e-12, "the dual is above the optimum"
    if enumeration.problem.bounded:
        assert certificate.primal >= lowest * (1 - ROUNDING) - 1e-12, "the primal is below the optimum"
    assert close(certificate.gap, (certificate.primal - certificate.dual) / certificate.primal)
    assert certificate.bounded == enumeration.problem.bounded
    assert certificate.exact == enumeration.problem.exact
