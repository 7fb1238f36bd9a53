"""Everything that the next iteration of a run depends on, as a value: checkpoints and warm starts are made of it."""

from __future__ import annotations

import dataclasses
from typing import Any

from numpy.typing import NDArray

from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class State:
    """The state of training after some iteration.

    Attributes
    ----------
    learner : str
        Name of the learner that it belongs to.
    fingerprint : str
        Of the training examples; a state continues only on the same ones.
    iteration : int
        Passes done.
    arrays : dict
        Weights, duals with the outputs they belong to, random state, and what else the learner has.
    """

    learner: str
    fingerprint: str
    iteration: int
    arrays: dict[str, NDArray[Any]]

    def check(self, learner: str, fingerprint: str) -> None:
        """Raise `InputError` unless the state is one of this learner on these examples."""
        if learner != self.learner:
            raise InputError(f"the state to start from is one of the learner {self.learner}, not of {learner}")
        if fingerprint != self.fingerprint:
            raise InputError(
                "the state to start from belongs to other training examples; dual variables only make sense for the "
                "sentences and labels, in the same order, on which they were trained"
            )
