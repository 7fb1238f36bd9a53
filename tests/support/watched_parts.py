"""Worlds of parts in this process whose answers can be watched, spoiled and interrupted."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager

from marginloom.clusters.local import LocalParts, LocalWorld
from marginloom.training.part import check_hellos
from marginloom.training.world import Session


def bits(result):
    """Return what must be the same in all worlds: a hash of the weights and of the certificate."""
    digest = hashlib.sha256(result.weights.tobytes())
    digest.update(repr(result.certificate).encode())
    digest.update(repr(result.primal).encode())
    return digest.hexdigest()


class WatchedParts(LocalParts):
    """Parts of which `before` is told every question before it is answered, and may raise.

    `change` may return another answer than that of a part.
    """

    def __init__(self, parts, before=None, change=None, shares=None):
        super().__init__(parts, shares)
        self.questions = []
        self._before = before or (lambda question, place: None)
        self._change = change or (lambda question, part, answer: answer)

    @contextmanager
    def session(self, recipe=None):
        yield _WatchedSession(self, recipe)

    def open(self, part, stop):
        return _WatchedWorld(self, [part] * self._parts, stop, self._shares)

    def told(self, question):
        self.questions.append(question)
        self._before(question, len(self.questions))

    def changed(self, question, part, answer):
        return self._change(question, part, answer)

    @property
    def count(self):
        return self._parts


class _WatchedSession(Session):
    def __init__(self, cluster, recipe):
        self._cluster = cluster
        self.recipe = recipe

    @property
    def parts(self):
        return self._cluster.count

    def open(self, part, decided, stop):
        world = self._cluster.open(part, stop)
        check_hellos(world, part.identity, "this process")
        return world


class _WatchedWorld(LocalWorld):
    def __init__(self, cluster, parts, stop, shares):
        super().__init__(parts, stop, shares)
        self._cluster = cluster

    def _ask(self, question, common, own, changed):
        self._cluster.told(question)
        for part, answer in enumerate(super()._ask(question, common, own, changed)):
            yield self._cluster.changed(question, part, dict(answer))
