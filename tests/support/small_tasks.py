"""A problem of every task, small enough to enumerate, with labels that can be learnt and some that are wrong."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from marginloom.core.task import Task
from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.relations.task import Losses
from support.chain_tasks import ObservedChains, make_task
from support.classes import TinyClasses
from support.custom_chains import EnumeratedChains
from support.derivations import TinyDerivations
from support.entities import TinyRelations
from support.images import TinyImages
from support.label_sets import TinySets
from support.oracles import TinyChains, WholeDual
from support.treebanks import TinyTrees

C = 0.5
LABELS = 4


class Detections:
    """Images with objects as the other oracles are: features and losses of enumerated outputs."""

    def __init__(self, seed, *, count):
        self.images = TinyImages(seed, shape=(4, 5), sizes=[(2, 3)], labels=2, count=count)
        self.X = self.images.images
        self.y = list(self.images.gold)

    def phi(self, i, y):
        return self.images.features(i, y)

    def loss(self, i, y):
        return self.images.loss(self.y[i], y)

    def outputs(self, i):
        return self.images.windows


def teach(oracle, seed, noise=0.4):
    """Give every example the output that random weights prefer, disturbed by noise so that some are wrong."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=oracle.phi(0, oracle.y[0]).size)
    for i in range(len(oracle.X)):
        every = list(oracle.outputs(i))
        scores = np.array([weights @ oracle.phi(i, y) for y in every])
        oracle.y[i] = every[int(np.argmax(scores + noise * scores.std() * rng.normal(size=len(every))))]
    return oracle


def taught_trees(seed, **options):
    """Return a treebank with trees that can mostly be learnt, and the features of these."""
    trees = teach(TinyTrees(seed, **options), seed)
    trees.learn()
    return trees


@dataclasses.dataclass
class Small:
    """A task, and the same problem by enumeration.

    `exact` is False where inference may miss the best output, and `bounded` where it cannot even say by how much.
    """

    task: Task
    oracle: object
    exact: bool = True
    bounded: bool = True

    @cached_property
    def _dual(self):
        return WholeDual(self.oracle, np.full(len(self.oracle.X), C))

    @cached_property
    def optima(self):
        """The lowest objective with each loss, by scipy."""
        return {loss: self._dual.solve(loss)[0] for loss in ("hinge", "squared_hinge")}

    @cached_property
    def chance(self):
        """The mean loss of guessing."""
        each = (np.mean([self.oracle.loss(i, y) for y in self.oracle.outputs(i)]) for i in range(len(self.oracle.X)))
        return float(np.mean(list(each)))

    def training_loss(self, weights):
        """Return the mean loss of what the weights predict on the examples."""
        found = [self.task.core.find(i, weights, 0.0).candidates for i in range(self.task.core.size)]
        return sum(candidates[0].loss for candidates in found if candidates) / len(found)


def _sequence():
    chains = teach(TinyChains(1, sentences=10, max_length=3, integers=False), 1)
    chains.y = [np.array(y) for y in chains.y]
    return Small(make_task(chains, "valued"), chains)


def _observed(seed, beam=None, **options):
    chains = teach(ObservedChains(seed, sentences=10, max_length=3, integers=False, **options), seed)
    chains.y = [np.array(y) for y in chains.y]
    chains.learn()
    order = 2 if chains.triples else 1
    return Small(make_task(chains, "valued", order=order, beam=beam), chains, exact=beam is None, bounded=beam is None)


def _custom():
    chains = teach(TinyChains(2, sentences=8, max_length=2, features=3), 2)
    chains.y = [np.array(y) for y in chains.y]
    return Small(EnumeratedChains(chains), chains)


def _multiclass():
    toy = teach(TinyClasses(3, examples=18), 3)
    return Small(MulticlassTask(csr_array(toy.X), toy.y, toy.classes, cost_matrix=toy.costs, bias=toy.bias), toy)


def _multilabel(pairs, seed, costs=False):
    sets = teach(TinySets(seed, rows=8, labels=LABELS, pairs=pairs, bias=1.0, costs=costs), seed)
    exact = len(pairs) < LABELS
    return Small(sets.task(inference="exact" if exact else "relaxed"), sets, exact=exact)


def _detection():
    found = Detections(5, count=8)
    found.images.gold = found.y = teach(found, 5).y
    return Small(found.images.task(), found)


def _relations(seed, solver=None, **options):
    tiny = teach(TinyRelations(seed, **options), seed)
    return Small(tiny.task(solver), tiny)


def _parse(seed, **options):
    trees = taught_trees(seed, **options)
    exact = trees.projective or trees.order == 1
    return Small(trees.task(), trees, exact=exact, bounded=exact)


def _transition(seed, **options):
    trees = teach(TinyDerivations(seed, **options), seed)
    trees.learn()
    return Small(trees.task(), trees, exact=False, bounded=False)


#: Functions that make them.
SMALL = {
    "sequence": _sequence,
    "sequence, observed transitions": lambda: _observed(13),
    "sequence, order 2": lambda: _observed(14, reaches=(BEFORE, BOTH), triples=True),
    "sequence, beam": lambda: _observed(15, reaches=(BEFORE, BEFORE_THAT), triples=True, beam=3),
    "multiclass": _multiclass,
    "multilabel, independent": lambda: _multilabel([], 6),
    "multilabel, tree": lambda: _multilabel([(0, 1), (1, 2), (1, 3)], 7, costs=True),
    "multilabel, full": lambda: _multilabel(list(itertools.combinations(range(LABELS), 2)), 8),
    "detection": _detection,
    "parse, projective": lambda: _parse(9, lengths=(1, 2, 3, 3, 3, 3, 3, 4)),
    "parse, any tree": lambda: _parse(10, lengths=(2, 2, 3, 3, 3, 3, 3, 4), projective=False),
    "parse, siblings and labels": lambda: _parse(11, lengths=(1, 2, 2, 3, 3, 3), order=2, labels=3),
    "parse, siblings in any tree": lambda: _parse(12, lengths=(2, 2, 3, 3, 3, 4, 4), order=2, projective=False),
    "relations": lambda: _relations(
        13, spans=(1, 2, 2, 3, 2, 3, 1, 0, 3), relations=2, lines=[(1, 0, 1), (2, 1, 1)], losses=Losses(1.0, 1.0, 2.0)
    ),
    "parse, transition": lambda: _transition(13, lengths=(1, 2, 3, 3, 3, 3, 3, 4), beam=4),
    "parse, transition and labels": lambda: _transition(14, lengths=(1, 2, 2, 3, 3, 3), beam=4, labels=3),
    "custom": _custom,
}
