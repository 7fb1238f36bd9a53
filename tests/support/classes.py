"""A small multiclass problem from the definitions."""

import numpy as np


class TinyClasses:
    """What `WholeDual` asks for: features, losses and outputs of a small multiclass problem, as plain numpy."""

    def __init__(self, seed, *, examples=24, features=5, classes=4, bias=0.5):
        rng = np.random.default_rng(seed)
        self.X = np.round(rng.normal(size=(examples, features)), 2) * (rng.random((examples, features)) < 0.7)
        self.X[0] = 0  # only its bias is left
        self.y = rng.integers(0, classes, size=examples)
        self.costs = rng.integers(1, 5, size=(classes, classes)) / 2 * (1 - np.eye(classes))
        self.bias = bias
        self.classes = classes

    def phi(self, i, y):
        rows = np.zeros((self.classes, self.X.shape[1] + 1))
        rows[y] = np.append(self.X[i], self.bias)
        return rows.ravel()

    def loss(self, i, y):
        return self.costs[self.y[i], y]

    def outputs(self, i):
        return range(self.classes)
