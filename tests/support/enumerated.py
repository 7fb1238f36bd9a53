"""Probabilities of outputs and their parts, by enumeration, for every task that has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.tasks.sequence.constraints import BOUNDARY
from support.chain_tasks import ObservedChains, make_task
from support.classes import TinyClasses
from support.entities import TinyRelations
from support.images import TinyImages
from support.label_sets import TinySets
from support.oracles import TinyChains
from support.small_tasks import Detections, taught_trees


@dataclasses.dataclass
class Enumerated:
    """A task and its oracle; `spread` turns the oracle's weights into the task's, and `choices` an output into its."""

    task: Any
    oracle: Any
    spread: Callable[[np.ndarray], np.ndarray]
    choices: Callable[[int, Any], list[int]]

    def weights(self, seed, size=1.0):
        """Return random weights, the oracle's and the task's."""
        w = size * np.random.default_rng(seed).normal(size=self.oracle.phi(0, next(iter(self.oracle.outputs(0)))).size)
        return w, self.spread(w)

    def outputs(self, i):
        """Return the choices of all outputs of an example, a row each."""
        return np.array([self.choices(i, y) for y in self.oracle.outputs(i)], dtype=np.int64)

    def log_probabilities(self, i, w, temperature=1.0, offsets=None):
        """Return those of all outputs."""
        scores = np.array([w @ self.oracle.phi(i, y) for y in self.oracle.outputs(i)]) / temperature
        if offsets is not None:
            scores = scores + (self.outputs(i) * offsets).sum(axis=1)
        scores -= scores.max()
        return scores - np.log(np.exp(scores).sum())

    def table(self, i, shape, logs):
        """Return the marginals of all choices from log probabilities of outputs."""
        table = np.zeros(shape)
        for row, log in zip(self.outputs(i), logs, strict=True):
            table[np.arange(shape[0]), row] += np.exp(log)
        return table


def _chains(seed, representation="valued", forbidden=(), kind=TinyChains, order=1, **options):
    chains = kind(seed, **options)
    chains.forbidden = list(forbidden)
    chains.y = [np.array(next(iter(chains.outputs(i)))) for i in range(len(chains.X))]
    task = make_task(chains, representation, order=order)
    return Enumerated(task, chains, lambda w: chains.to_core(w, task.core.stride), lambda i, y: list(y))


def _classes(seed):
    from marginloom.tasks.multiclass.task import MulticlassTask

    toy = TinyClasses(seed)
    task = MulticlassTask(toy.X, toy.y, toy.classes, bias=toy.bias)

    def spread(w):
        weights = np.zeros(task.core.dimension)
        task.class_weights(weights)[:] = w.reshape(toy.classes, -1).T
        return weights

    return Enumerated(task, toy, spread, lambda i, y: [y])


def _sets(seed, pairs):
    sets = TinySets(seed, labels=5, pairs=pairs, bias=1.0)
    task = sets.task()
    return Enumerated(task, sets, lambda w: sets.to_core(w, task), lambda i, y: list(y))


def _trees(seed, **options):
    trees = taught_trees(seed, lengths=(1, 2, 3, 3, 4) if not options.get("labels") else (1, 2, 3, 3), **options)
    task = trees.task()

    def choices(i, y):
        heads, labels = trees.apart(i, y)
        return [head * trees.labels + label for head, label in zip(heads, labels, strict=True)] if labels else heads

    return Enumerated(task, trees, lambda w: trees.to_core(w, task), choices)


def _relations(seed, **options):
    tiny = TinyRelations(seed, **options)
    task = tiny.task()
    return Enumerated(task, tiny, lambda w: tiny.to_core(w, task), lambda i, y: list(y))


def _images(seed):
    images = Detections(seed, count=3)
    images.images = TinyImages(seed, shape=(5, 6), sizes=[(2, 3), (3, 2), (4, 4)], labels=2, count=3, bias=True)
    images.X, images.y = images.images.images, list(images.images.gold)
    places = {window: number for number, window in enumerate(images.images.windows)}
    return Enumerated(images.images.task(), images, lambda w: w, lambda i, y: [places[y]])


def _pairs(seed, **options):
    return _chains(seed, kind=ObservedChains, order=2, reaches=(BEFORE, BEFORE_THAT, BOTH), **options)


#: Functions that make one from a seed.
ENUMERATED = {
    "sequence, sparse": _chains,
    "sequence, dense": lambda seed: _chains(seed, "dense", start_end=True, labels=4),
    "sequence, constrained": lambda seed: _chains(
        seed, labels=4, forbidden=[(0, 1), (1, 1), (BOUNDARY, 2), (3, BOUNDARY)]
    ),
    "sequence, observed": lambda seed: _chains(seed, kind=ObservedChains),
    "sequence, observed and constrained": lambda seed: _chains(seed, kind=ObservedChains, forbidden=[(0, 1), (2, 0)]),
    "sequence, order 2": lambda seed: _pairs(seed, triples=True, sentences=6, max_length=5),
    "sequence, order 2, without triples": _pairs,
    "sequence, order 2, constrained": lambda seed: _pairs(
        seed,
        triples=True,
        start_end=True,
        labels=4,
        forbidden=[(0, 1), (1, 1), (BOUNDARY, 2), (3, BOUNDARY)],
    ),
    "multiclass": _classes,
    "multilabel, independent": lambda seed: _sets(seed, []),
    "multilabel, tree": lambda seed: _sets(seed, [(0, 1), (1, 2), (1, 3)]),
    "parse, projective": lambda seed: _trees(seed),
    "parse, projective, many roots": lambda seed: _trees(seed, one_root=False),
    "parse, any tree": lambda seed: _trees(seed, projective=False),
    "parse, any tree, many roots": lambda seed: _trees(seed, projective=False, one_root=False),
    "parse, labels": lambda seed: _trees(seed, labels=3),
    "parse, labels in any tree": lambda seed: _trees(seed, projective=False, labels=3),
    "parse, siblings": lambda seed: _trees(seed, order=2),
    "parse, siblings, many roots": lambda seed: _trees(seed, order=2, one_root=False),
    "parse, siblings and labels": lambda seed: _trees(seed, order=2, labels=3),
    "detection": _images,
    "relations": _relations,
    "relations, several": lambda seed: _relations(seed, spans=(1, 2, 3), types=3, relations=2),
}
