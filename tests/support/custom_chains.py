"""Chains as a task in plain Python, by enumeration: the slow, obvious twin of the native one."""

from __future__ import annotations

import itertools

import numpy as np

from marginloom import CustomTask
from support.oracles import TinyChains


def tiny(seed=1, **options):
    """Return a few short chains."""
    return TinyChains(seed, **{"sentences": 6, "max_length": 3, **options})


class EnumeratedChains(CustomTask):
    """`oracles.TinyChains`; an input is the sentence's index, an output a tuple of labels."""

    def __init__(self, chains, *, gold=True):
        self.chains = chains
        Y = [tuple(int(label) for label in y) for y in chains.y] if gold else None
        super().__init__(range(len(chains.X)), Y, dimension=chains.dimension)

    def features(self, x, y):
        return self.chains.phi(x, y)

    def loss(self, gold, y):
        return float(sum(self.chains.label_costs[g] for g, label in zip(gold, y, strict=True) if g != label))

    def outputs(self, x):
        return list(self.chains.outputs(x))

    def argmax(self, x, w):
        return self.argmax_k_best(x, w, 1)[0]

    def argmax_augmented(self, x, gold, w):
        return self.argmax_augmented_k_best(x, gold, w, 1)[0]

    def argmax_k_best(self, x, w, k):
        return self._best(x, k, lambda y: w @ self.chains.phi(x, y))

    def argmax_augmented_k_best(self, x, gold, w, k):
        return self._best(x, k, lambda y: w @ self.chains.phi(x, y) + self.loss(gold, y))

    def _best(self, x, k, score):
        # Of equal ones Viterbi takes the lowest last label, then the lowest one before it.
        return sorted(self.outputs(x), key=lambda y: (-score(y), y[::-1]))[:k]


class Majority(CustomTask):
    """Which of the labels 0, 1, 2 has most of the votes in x: small, exact, and easy to break."""

    def __init__(self, X, Y=None, *, dimension=3):
        super().__init__(X, Y, dimension=dimension)

    def features(self, x, y):
        return {y: x[y]}

    def loss(self, gold, y):
        return float(gold != y)

    def argmax(self, x, w):
        return max(range(3), key=lambda y: w[y] * x[y])

    def argmax_augmented(self, x, gold, w):
        return max(range(3), key=lambda y: w[y] * x[y] + self.loss(gold, y))


def votes(count=20, seed=0):
    X = np.random.default_rng(seed).integers(1, 10, size=(count, 3)).astype(float)
    return X, [int(x.argmax()) for x in X]


class Watched(Majority):
    """Calls a function before every inference, in whichever thread it is."""

    def __init__(self, watch, count=20):
        self.watch = watch
        super().__init__(*votes(count))

    def argmax(self, x, w):
        self.watch()
        return super().argmax(x, w)

    def argmax_augmented(self, x, gold, w):
        self.watch()
        return super().argmax_augmented(x, gold, w)

    def argmax_k_best(self, x, w, k):
        self.watch()
        return sorted(range(3), key=lambda y: -w[y] * x[y])[:k]

    def argmax_augmented_k_best(self, x, gold, w, k):
        self.watch()
        return sorted(range(3), key=lambda y: -w[y] * x[y] - self.loss(gold, y))[:k]


def at_call(number, action):
    """Return a function that does something when it is called for that time."""
    calls = itertools.count(1)
    return lambda: action() if next(calls) == number else None
