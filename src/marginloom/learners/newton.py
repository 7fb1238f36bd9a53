"""Newton's method in the dual: description and parameters; the algorithm is in cpp/learners/newton.hpp."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.errors import InputError
from marginloom.learners.base import CommonOptions, NativeLearner
from marginloom.learners.dual import Dual


@dataclasses.dataclass(frozen=True)
class Newton(Dual):
    """Proximal Newton steps on all examples at once, for tasks with few weights.

    Examples
    --------
    >>> Newton()
    Newton(delta=0.01)
    """

    delta: float = parameter(
        0.01,
        "positive",
        "keep a candidate if its violation exceeds the slack by more than X; X is lowered as the gap shrinks",
    )

    name = "newton"
    offers = frozenset[str]()
    losses = ("squared_hinge", "hinge")
    update = (
        "alpha <- the maximizer of dual(alpha) - sum_i |alpha_i - b_i|^2 / (2 s C_i), where alpha_i are the dual "
        "variables "
        "of example i, and b_i is their value before the update. Newton's method finds it; s grows while that takes "
        "few steps, and shrinks otherwise"
    )
    paper = "after Rockafellar 1976 and Li, Sun and Toh 2018"

    #: A step factors a matrix of weights by weights: seconds for this many.
    most_weights: ClassVar[int] = 4096

    def weight_copies(self, task: _core.Task) -> int:
        """Return the rows of the matrix; `InputError` if there are too many."""
        if task.dimension > self.most_weights:
            raise InputError(
                f"newton is for at most {self.most_weights:,} weights, and the task has {task.dimension:,}; take "
                "another algorithm, such as dcd-ssvm"
            )
        return task.dimension

    def build(self, task: _core.Task, options: CommonOptions) -> NativeLearner:
        """Make the native learner for a task, which must not have too many weights."""
        self.weight_copies(task)
        return super().build(task, options)
