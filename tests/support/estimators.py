"""Every estimator, with examples on which it is fitted in a moment."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import marginloom
from marginloom import make_digit_detection, make_relations, make_tagging
from marginloom.tasks.base.estimator import Estimator
from marginloom.tasks.parse.datasets import make_treebank
from support.custom_chains import Majority, votes


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What an estimator is made with, and what it is fitted to."""

    make: type
    options: dict[str, Any]
    X: Any
    y: Any

    def fit(self, **options):
        """Fit one with these options."""
        return self.make(**{**self.options, **options}).fit(self.X, self.y)


def _classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 4))
    return X, X[:, :3].argmax(axis=1)


def _label_sets():
    X, y = _classes()
    return X, np.eye(3, dtype=np.uint8)[y]


def _images():
    made = make_digit_detection(4, seed=0)
    return made.images, made.targets


_MADE = {
    "SequenceTagger": ({"features": "words"}, make_tagging(12, seed=0)),
    "DependencyParser": ({"hash_bits": 10}, make_treebank(6, seed=0)),
    "MulticlassClassifier": ({}, _classes()),
    "MultilabelClassifier": ({}, _label_sets()),
    "ObjectDetector": ({}, _images()),
    "RelationExtractor": ({}, (make_relations(12, seed=0), None)),
    "CustomEstimator": ({"task": Majority}, votes(12)),
}

#: By the name of the estimator; there is one for every public estimator.
ESTIMATORS = {
    name: Fitted(value, *(_MADE[name][0], *_MADE[name][1]))
    for name, value in ((name, getattr(marginloom, name)) for name in marginloom.__all__)
    if isinstance(value, type) and issubclass(value, Estimator)
}
