"""What the tests of online learners share: candidates as plain vectors, a pass over them, and the whole primal."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

#: The presets of online learners, with parameters that change what they do.
ONLINE = [
    ("perceptron", {}),
    ("averaged-perceptron", {}),
    ("mira", {}),
    ("kbest-mira", {"loss_augmented": True}),
    ("passive-aggressive", {"variant": "pa-ii", "averaged": False}),
    ("sgd", {}),
    ("sgd", {"averaged": True, "eta0": 0.25}),
]


def candidates(task, i, w, loss_scale, k=1):
    """Return losses and differences of what a search finds under w, as the task's own tests have checked it."""
    found = task.core.find(i, w, loss_scale, k).candidates
    losses = np.array([candidate.loss for candidate in found])
    differences = np.zeros((len(found), w.size))
    for row, candidate in zip(differences, found, strict=True):
        row[candidate.indices] = candidate.values
    return losses, differences


def replay(task, examples, passes, step):
    """Visit the examples in order, `passes` times; return the last weights and the average over all visits."""
    w = np.zeros(task.core.dimension)
    total = np.zeros_like(w)
    for i in list(examples) * passes:
        w = step(i, w)
        total += w
    return w, total / (len(examples) * passes)


def all_constraints(chains):
    """Return losses, differences and examples of every wrong output of every example."""
    rows = [
        (chains.loss(i, y), chains.phi(i, chains.y[i]) - chains.phi(i, y), i)
        for i in range(len(chains.X))
        for y in chains.outputs(i)
        if tuple(y) != tuple(chains.y[i])
    ]
    losses, differences, examples = zip(*rows, strict=True)
    return np.array(losses), np.array(differences), np.array(examples)


def margin_programme(losses, differences, examples, costs, start):
    """Minimise 1/2 |w - start|^2 + sum_i costs_i xi_i with w.d >= loss - xi_i, over (w, xi), by scipy."""
    n, size = len(costs), start.size
    member = (examples[:, None] == np.arange(n)).astype(float)
    rows = np.hstack([differences, member])

    def objective(z):
        move = z[:size] - start
        return 0.5 * move @ move + costs @ z[size:], np.concatenate([move, costs])

    first = np.concatenate([start, np.full(n, 2 * np.abs(losses - differences @ start).max())])
    solved = minimize(
        objective,
        first,
        jac=True,
        method="SLSQP",
        bounds=[(None, None)] * size + [(0, None)] * n,
        constraints=[{"type": "ineq", "fun": lambda z: rows @ z - losses, "jac": lambda _: rows}],
        options={"maxiter": 3000, "ftol": 1e-15},
    )
    return solved.fun, solved.x[:size]
