"""The perceptron with a margin: description and parameters; the algorithm is in learners/margin_perceptron.cpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import parameter
from marginloom.learners.online import Online


@dataclasses.dataclass(frozen=True)
class MarginPerceptron(Online):
    """Perceptron that also learns from gold outputs that win by too little."""

    margin: float = parameter(1.0, "positive", "by how much the gold output must win for each unit of loss")

    name = "margin-perceptron"
    losses = ()
    common = frozenset[str]()
    needs = frozenset({"gold", "loss-augmented"})
    offers = frozenset({"batches"})
    objective = "none: margins on the training set"
    update = "if w.d(y) < margin loss(y) for the most violated y: w += d(y),  d(y) = phi(gold) - phi(y)"
    paper = "after Krauth and Mézard 1987"
