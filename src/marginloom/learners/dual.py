"""What the learners with dual variables have in common."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from marginloom.learners.base import Learner

#: Of learners that have the hinge alone.
HINGE_OBJECTIVE = "1/2 |w|^2 + sum_i C_i xi_i, where xi_i = max(0, max_y [loss(y) - w.d(y)])"


@dataclasses.dataclass(frozen=True)
class Dual(Learner):
    """Base of learners that solve the structured SVM in its dual and end with a certificate.

    Those that have no block of candidates for each example are of the kind "whole-pass".
    """

    kind: ClassVar[Literal["dual", "whole-pass"]] = "dual"
    offers = frozenset({"late steps"})
    common = frozenset({"C", "tol", "loss", "memory"})
    needs = frozenset({"gold", "loss-augmented"})
    objective = (
        "1/2 |w|^2 + sum_i C_i l(xi_i), where xi_i = max(0, max_y [loss(y) - w.d(y)]) and l(xi) = xi (hinge) or xi^2 "
        "(squared hinge)"
    )
    default_max_iter = 100
    #: Where a block is, and what is known of it.
    example_bytes = 8 + 24
