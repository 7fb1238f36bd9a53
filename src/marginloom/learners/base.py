"""What all learners have in common: their description, their needs and how their native part is made."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import Configured
from marginloom.core.row import Row

NEEDS = {
    "gold": "examples with their right output",
    "loss-augmented": "loss-augmented inference",
    "k-best": "k-best inference",
    "factored": "joint features that are products of an input's features and an output's columns",
    "decisions": "outputs that are made of independent yes-or-no decisions, such as labels that do not interact",
    "own-slacks": "a slack of its own for every decision",
}


@dataclasses.dataclass(frozen=True)
class Objective:
    """What the user asked for, as a learner receives it."""

    C: float
    loss: str
    instance_weights: NDArray[np.float64]  # of the examples as users see them
    memory: int  # bytes for working sets; 0 where the engine has the duals itself, and there are none


@dataclasses.dataclass(frozen=True)
class Learner(Configured):
    """How the weights move. Subclasses declare their parameters as fields."""

    kind: ClassVar[Literal["online", "dual"]]
    losses: ClassVar[tuple[str, ...]]  # the objectives it can have, the default first; () if it has none
    common: ClassVar[frozenset[str]]  # which of the common options C, tol, loss and memory it uses
    needs: ClassVar[frozenset[str]]  # keys of NEEDS
    engines: ClassVar[tuple[str, ...]] = ("serial",)  # names of those that can drive it
    objective: ClassVar[str]
    update: ClassVar[str]
    paper: ClassVar[str]
    default_max_iter: ClassVar[int]
    #: Bytes that it keeps of every example of a native task, at least: its weight.
    example_bytes: ClassVar[int] = 8

    def all_needs(self) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has."""
        return self.needs | (frozenset({"k-best"}) if getattr(self, "k_best", 1) > 1 else frozenset())

    def converged(self, rows: Sequence[Row]) -> str | None:
        """Return the reason to stop after the last of these rows of the trace, or None to go on."""
        return None

    def weight_copies(self, task: _core.Task) -> int:
        """Return how many vectors as large as the weights it takes beside them for a task."""
        return 0

    def vector_bytes(self, entries: int) -> int:
        """Return what it keeps of examples beside working sets, at least, where all of them have so many features."""
        return 0

    def chosen(self, native: Any) -> dict[str, float]:
        """Return the parameters that the native learner has chosen by itself."""
        return {}

    @abstractmethod
    def build(self, task: _core.Task, objective: Objective) -> _core.OnlineLearner | _core.DualLearner:
        """Make the native learner for a task."""
