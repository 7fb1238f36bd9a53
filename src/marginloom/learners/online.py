"""What the online learners have in common: averaging, and rules that tell when they have converged."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.core.row import Row
from marginloom.learners.base import Learner

#: Passes in a row whose training loss must stay as it is (McDonald, Hall and Mann 2010, section 5).
UNCHANGED_PASSES = 3


@dataclasses.dataclass(frozen=True)
class Online(Learner):
    """Base of learners that turn the candidates of one example into a step of the weights."""

    averaged: bool = parameter(
        True, "switch", "predict with the average of the weights after every example, not with the final weights"
    )
    stop_separated: bool = parameter(
        False,
        "switch",
        "stop after a pass without wrong predictions in training; with loss-augmented inference, no margin may be "
        "violated either",
        native=False,
    )
    stop_unchanged: float = parameter(
        0.0,
        "not negative",
        "stop when the mean training loss has changed by at most X in each of the last three passes; 0 means never",
        native=False,
    )

    kind = "online"
    whole_rows = True
    default_max_iter = 10

    def weight_copies(self, task: _core.Task) -> int:
        """Return those of the average: the sums of which it is made, and itself."""
        return 2 if self.averaged else 0

    def chosen(self, native: Any) -> dict[str, float]:
        """Return the parameters that the native learner has chosen by itself."""
        return dict(native.chosen)

    def converged(self, rows: Sequence[Row]) -> str | None:
        """Return ``separated`` or ``unchanged`` if that rule is on and holds after the last row, or None.

        Examples
        --------
        >>> from marginloom.learners import Perceptron
        >>> rows = [{"wrong": 1, "training_loss": loss} for loss in (0.5, 0.25, 0.25, 0.25, 0.25)]
        >>> Perceptron(stop_unchanged=0.01).converged(rows[:4])
        >>> Perceptron(stop_unchanged=0.01).converged(rows)
        'unchanged'
        """
        if self.stop_separated and rows[-1]["wrong"] == 0:
            return "separated"
        losses = [row["training_loss"] for row in rows[-UNCHANGED_PASSES - 1 :]]
        changes = [abs(later - earlier) for earlier, later in itertools.pairwise(losses)]
        if self.stop_unchanged > 0 and len(changes) == UNCHANGED_PASSES and max(changes) <= self.stop_unchanged:
            return "unchanged"
        return None
