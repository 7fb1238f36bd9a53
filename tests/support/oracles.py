"""Slow, obvious versions of what the library does fast."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize

from marginloom.tasks.sequence.constraints import BOUNDARY


class TinyChains:
    """Random sentences small enough to enumerate, with dense features, as plain numpy."""

    def __init__(self, seed, *, sentences=4, features=5, labels=3, max_length=4, integers=True, start_end=False):
        rng = np.random.default_rng(seed)
        self.labels = labels
        self.start_end = start_end
        self.lengths = rng.integers(1, max_length + 1, size=sentences)
        draw = (
            (lambda n: rng.integers(0, 2, size=(n, features)))
            if integers
            else (lambda n: np.round(rng.normal(size=(n, features)), 2))
        )
        self.X = [draw(n).astype(float) for n in self.lengths]
        self.y = [rng.integers(0, labels, size=n) for n in self.lengths]
        self.label_costs = np.ones(labels)
        self.features = features
        self.forbidden = []  # pairs of neighbours; BOUNDARY is the start or the end

    def phi(self, i, y):
        """Joint feature vector: transitions, start, end, emissions, without padding."""
        transitions = np.zeros((self.labels, self.labels))
        ends = np.zeros((2, self.labels))
        emissions = np.zeros((self.features, self.labels))
        for t, label in enumerate(y):
            emissions[:, label] += self.X[i][t]
            if t > 0:
                transitions[y[t - 1], label] += 1
        if self.start_end:
            ends[0, y[0]] += 1
            ends[1, y[-1]] += 1
        return np.concatenate([transitions.ravel(), ends.ravel(), emissions.ravel()])

    def loss(self, i, y):
        gold = self.y[i]
        return float(sum(self.label_costs[g] for g, label in zip(gold, y, strict=True) if g != label))

    def allows(self, y):
        neighbours = itertools.pairwise([BOUNDARY, *map(int, y), BOUNDARY])
        return not any(pair in self.forbidden for pair in neighbours)

    def outputs(self, i):
        return filter(self.allows, itertools.product(range(self.labels), repeat=int(self.lengths[i])))

    def to_core(self, w, stride):
        """Spread a weight vector without padding over rows of `stride`."""
        rows = w.reshape(-1, self.labels)
        padded = np.zeros((rows.shape[0], stride))
        padded[:, : self.labels] = rows
        return padded.ravel()

    def from_core(self, w, stride):
        return np.asarray(w).reshape(-1, stride)[:, : self.labels].ravel()

    @property
    def dimension(self):
        return (self.labels + 2 + self.features) * self.labels


class WholeDual:
    """The dual over every output of every example, as plain matrices."""

    def __init__(self, chains, costs):
        rows, losses, owners = [], [], []
        for i in range(len(chains.X)):
            gold = chains.phi(i, chains.y[i])
            for y in chains.outputs(i):
                if chains.loss(i, y) > 0:
                    rows.append(gold - chains.phi(i, y))
                    losses.append(chains.loss(i, y))
                    owners.append(i)
        self.differences, self.losses = np.array(rows), np.array(losses)
        self.member = (np.array(owners)[:, None] == np.arange(len(chains.X))).astype(float)
        self.costs = costs

    def solve(self, loss):
        """Return the largest value and its weights."""
        ridge = np.zeros_like(self.costs) if loss == "hinge" else 1 / (2 * self.costs)

        def negative(a):
            w, sums = a @ self.differences, a @ self.member
            return (
                0.5 * w @ w + 0.5 * sums**2 @ ridge - a @ self.losses,
                self.differences @ w + self.member @ (ridge * sums) - self.losses,
            )

        budget = {
            "type": "ineq",
            "fun": lambda a: self.costs - a @ self.member,
            "jac": lambda a: -self.member.T,
        }
        solved = minimize(
            negative,
            np.zeros(len(self.losses)),
            jac=True,
            bounds=[(0, None)] * len(self.losses),
            method="SLSQP" if loss == "hinge" else "L-BFGS-B",
            constraints=[budget] if loss == "hinge" else (),
            options={"maxiter": 20_000, "ftol": 1e-13, **({} if loss == "hinge" else {"maxfun": 50_000, "gtol": 1e-9})},
        )
        violations = (self.losses - self.differences @ (solved.x @ self.differences))[:, None] * self.member
        slacks = np.maximum(violations.max(axis=0), 0)
        w = solved.x @ self.differences
        above = 0.5 * w @ w + self.costs @ (slacks if loss == "hinge" else slacks**2)
        assert above + solved.fun < 1e-5 * above, "scipy's solution is no good"
        return -solved.fun, w


#: Learners that only come near in as many passes as a test can do, with the settings and the passes they need.
SLOW = {"sgd": 10_000, "bcfw": 5_000}
