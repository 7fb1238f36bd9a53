"""Multilabel problems small enough to enumerate, as plain numpy."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse

from marginloom.tasks.multilabel.task import MultilabelTask


class TinySets:
    """Random rows with random sets of labels, and every set that there is."""

    def __init__(self, seed, *, rows=4, features=3, labels=4, pairs=(), bias=0.0, costs=False):
        rng = np.random.default_rng(seed)
        self.labels, self.features, self.bias = labels, features, bias
        self.pairs = [tuple(sorted(pair)) for pair in pairs]
        self.X = np.round(rng.normal(size=(rows, features)), 2) * (rng.random((rows, features)) < 0.7)
        self.y = (rng.random((rows, labels)) < 0.4).astype(int)
        self.costs = np.round(rng.uniform(0, 3, size=(labels, 2)), 2) if costs else np.ones((labels, 2))

    def phi(self, i, y):
        """Joint feature vector: pairs, then a row per feature, without padding."""
        x = np.append(self.X[i], self.bias) if self.bias else self.X[i]
        pairs = [float(y[a] and y[b]) for a, b in self.pairs]
        return np.concatenate([pairs, np.outer(x, y).ravel()])

    def loss(self, i, y):
        gold, y = self.y[i], np.asarray(y)
        return float(self.costs[(gold == 1) & (y == 0), 0].sum() + self.costs[(gold == 0) & (y == 1), 1].sum())

    def outputs(self, i):
        return itertools.product((0, 1), repeat=self.labels)

    @property
    def dimension(self):
        return len(self.pairs) + (self.features + (self.bias != 0)) * self.labels

    def task(self, kind="sparse", **options):
        return MultilabelTask(
            sparse.csr_matrix(self.X) if kind == "sparse" else self.X,
            sparse.csr_matrix(self.y) if kind == "sparse" else self.y,
            self.labels,
            pairs=self.pairs,
            bias=self.bias,
            label_costs=self.costs,
            **options,
        )

    def to_core(self, w, task):
        """Spread a weight vector without padding over the core's layout."""
        spread = np.zeros(task.core.dimension)
        spread[: len(self.pairs)] = w[: len(self.pairs)]
        task.label_weights(spread)[:] = w[len(self.pairs) :].reshape(-1, self.labels)
        return spread

    def from_core(self, w, task):
        return np.concatenate([task.pair_weights(w), task.label_weights(w).ravel()])

    def decode(self, output):
        return np.unpackbits(np.frombuffer(output, dtype=np.uint8), count=self.labels, bitorder="little")
