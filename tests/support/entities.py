"""Sentences with few spans, whose types and relations can be enumerated, as plain numpy."""

from __future__ import annotations

import itertools

import numpy as np

from marginloom.tasks.relations.features import EncodedSpans, FeatureRows
from marginloom.tasks.relations.outputs import Outputs
from marginloom.tasks.relations.task import Losses, RelationsTask, Space


class TinyRelations:
    """Random features of spans and ordered pairs; an output is the types of all spans, then the labels of all pairs."""

    def __init__(self, seed, *, spans=(1, 2, 2, 3), types=2, relations=1, lines=None, features=4, losses=None):
        rng = np.random.default_rng(seed)
        self.spans, self.types, self.labels, self.features = spans, types, relations + 1, features
        every = list(itertools.product(range(1, self.labels), range(types), range(types)))
        self.table = [line for line in every if rng.random() < 0.4] if lines is None else list(lines)
        self.losses = losses or Losses()
        self.X = [[self._rows(rng, count), self._rows(rng, count * (count - 1))] for count in spans]
        self.y = [self._random_output(rng, i) for i in range(len(spans))]

    def _rows(self, rng, count):
        return [np.flatnonzero(rng.random(self.features) < 0.6) for _ in range(count)]

    def _random_output(self, rng, i):
        types = tuple(int(t) for t in rng.integers(self.types, size=self.spans[i]))
        labels = [allowed[rng.integers(len(allowed))] for allowed in self.allowed(types)]
        return types + tuple(int(label) for label in labels)

    def allowed(self, types):
        """Return the labels that every ordered pair may have, given the types."""
        return [
            [0, *(r for r in range(1, self.labels) if (r, types[a], types[b]) in self.table)]
            for a, b in itertools.permutations(range(len(types)), 2)
        ]

    def outputs(self, i):
        for types in itertools.product(range(self.types), repeat=self.spans[i]):
            for labels in itertools.product(*self.allowed(types)):
                yield types + labels

    def phi(self, i, y):
        """Joint feature vector without padding: a row of types for every feature of spans, then one of labels."""
        of_spans = np.zeros((self.features, self.types))
        of_pairs = np.zeros((self.features, self.labels))
        count = self.spans[i]
        for row, t in zip(self.X[i][0], y[:count], strict=True):
            of_spans[row, t] += 1
        for row, label in zip(self.X[i][1], y[count:], strict=True):
            of_pairs[row, label] += 1
        return np.concatenate([of_spans.ravel(), of_pairs.ravel()])

    def loss(self, i, y):
        count, gold = self.spans[i], self.y[i]
        total = self.losses.entity * sum(a != b for a, b in zip(gold[:count], y[:count], strict=True))
        for right, found in zip(gold[count:], y[count:], strict=True):
            if right != found:
                total += self.losses.missed if right else self.losses.pair
        return float(total)

    def score(self, i, y, w, loss_scale=0.0):
        return w @ self.phi(i, y) + (loss_scale * self.loss(i, y) if loss_scale else 0.0)

    def best(self, i, w, loss_scale=0.0):
        """Return the highest score of any output, by looking at all."""
        return max(self.score(i, y, w, loss_scale) for y in self.outputs(i))

    @property
    def dimension(self):
        return self.features * (self.types + self.labels)

    @property
    def space(self):
        return Space(self.types, self.labels - 1, self.table)

    def add_label(self):
        """Have one more type, which is never right."""
        self.types += 1

    def encoded(self):
        offsets = np.concatenate([[0], np.cumsum(self.spans)]).astype(np.uint64)
        return EncodedSpans(offsets, *(self._as_rows(kind) for kind in (0, 1)))

    def _as_rows(self, kind):
        rows = [row for sentence in self.X for row in sentence[kind]]
        ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.uint64)
        return FeatureRows(ends, np.concatenate([*rows, np.zeros(0, int)]).astype(np.uint32))

    def gold(self):
        types = [t for count, y in zip(self.spans, self.y, strict=True) for t in y[:count]]
        labels = [label for count, y in zip(self.spans, self.y, strict=True) for label in y[count:]]
        return Outputs(np.array(types, np.uint8), np.array(labels, np.uint8))

    def task(self, solver=None, *, labelled=True):
        counts = self.features, self.features
        return RelationsTask(self.encoded(), counts, self.space, self.losses, solver, self.gold() if labelled else None)

    def to_core(self, w, task):
        """Spread a weight vector without padding over the core's layout."""
        cut = self.features * self.types
        parts = []
        for rows, part in ((task.core.span_rows, w[:cut]), (task.core.pair_rows, w[cut:])):
            spread = np.zeros((rows.count, rows.stride))
            spread[:, : rows.columns] = part.reshape(rows.count, rows.columns)
            parts.append(spread.ravel())
        return np.concatenate(parts)

    def from_core(self, w, task):
        spans, pairs = task.core.span_rows, task.core.pair_rows
        cut = spans.count * spans.stride
        first = np.asarray(w[:cut]).reshape(-1, spans.stride)[:, : spans.columns]
        return np.concatenate(
            [first.ravel(), np.asarray(w[cut:]).reshape(-1, pairs.stride)[:, : pairs.columns].ravel()]
        )
