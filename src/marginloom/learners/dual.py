"""What the learners with dual variables have in common."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginloom.learners.base import Learner, Objective


@dataclasses.dataclass(frozen=True)
class Dual(Learner):
    """Base of learners that solve the structured SVM in its dual and end with a certificate."""

    kind = "dual"
    engines: ClassVar[tuple[str, ...]] = ("serial", "master-worker")
    common = frozenset({"C", "tol", "loss", "memory"})
    needs = frozenset({"gold", "loss-augmented"})
    objective = (
        "1/2 |w|^2 + sum_i C_i l(xi_i),  xi_i = max(0, max_y [loss(y) - w.d(y)]),  d(y) = phi(gold) - phi(y),  "
        "l(xi) = xi (hinge) or xi^2 (squared hinge)"
    )
    default_max_iter = 100
    #: Where a block is, and what is known of it.
    example_bytes = 8 + 24


def costs(objective: Objective) -> NDArray[np.float64]:
    """Return the C_i.

    Examples
    --------
    >>> costs(Objective(0.5, "hinge", np.array([1.0, 2.0]), memory=0)).tolist()
    [0.5, 1.0]
    """
    return objective.C * objective.instance_weights
