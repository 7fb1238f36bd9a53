"""Examples that are held out of training, to calibrate probabilities on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from marginloom.errors import InputError
from marginloom.tasks.base.model import Problem
from marginloom.training.spec import RunSpec


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """The last part of the training examples.

    They are encoded with the others and have the weight 0 in training.

    Attributes
    ----------
    labelled : object or None
        All training examples, as the evaluator of the model takes them; None if nothing is held out.
    first : int
        The first example that is held out.
    count : int
        How many training examples there are.
    """

    labelled: Any
    first: int
    count: int

    @classmethod
    def of(cls, problem: Problem[Any], share: float | None) -> HeldOut:
        """Hold out a share of the training examples of a problem; nothing for None or 0."""
        if not share:
            return cls(None, 0, 0)
        labelled, count = problem.to_hold_out()
        first = count - max(1, round(share * count))
        if first < 1:
            raise InputError(
                f"--calibrate {share:g} would leave nothing of the {count} training examples to train on; give a "
                "smaller share"
            )
        return cls(labelled, first, count)

    def left_out_of(self, spec: Any) -> Any:
        """Return a run in which these examples have no weight."""
        assert isinstance(spec, RunSpec)
        if self.labelled is None:
            return spec
        weights = np.ones(self.count)
        weights[self.first :] = 0
        return dataclasses.replace(spec, sample_weight=weights)


def check_share(share: float | None, with_dev: bool) -> None:
    """Raise `InputError` unless this is a share of the training examples that can be held out.

    Examples
    --------
    >>> check_share(0.1, with_dev=False)
    """
    if share is None:
        return
    if not 0 <= share < 1:
        raise InputError(f"--calibrate must be at least 0 and less than 1, the share to hold out, not {share:g}")
    if share and with_dev:
        raise InputError("--calibrate holds out training examples, and --dev is there to calibrate on: leave out one")
