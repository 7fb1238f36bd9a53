"""The structured perceptron: description and parameters; the algorithm is in cpp/learners/perceptron.hpp."""

from __future__ import annotations

import dataclasses

from marginloom.learners.online import Online


@dataclasses.dataclass(frozen=True)
class Perceptron(Online):
    """Structured perceptron, plain or averaged.

    Examples
    --------
    >>> Perceptron(averaged=False)
    Perceptron(averaged=False, stop_separated=False, stop_unchanged=0.0)
    """

    name = "perceptron"
    losses = ()
    common = frozenset[str]()
    needs = frozenset({"gold"})
    offers = frozenset({"batches", "mixing"})
    objective = "none; it reduces mistakes on the training set"
    update = "if the prediction y is wrong: w += d(y)"
    paper = "McDonald, Hall and Mann 2010, section 3 (after Collins 2002)"
