"""Slow, obvious versions of what the library does fast."""

from __future__ import annotations

import itertools

import numpy as np


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

    def outputs(self, i):
        return itertools.product(range(self.labels), repeat=int(self.lengths[i]))

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
