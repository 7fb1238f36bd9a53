"""Cutting planes: descriptions and parameters; for the algorithms see cpp/learners/cutting_plane.hpp, one_slack.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import HINGE_OBJECTIVE, Dual

_EPSILON = (
    "add the constraint of a candidate if its violation exceeds the slack by more than X; X is lowered as the gap "
    "shrinks"
)


@dataclasses.dataclass(frozen=True)
class NSlack(Dual):
    """Cutting planes with a slack per example, solved anew after every constraint.

    Examples
    --------
    >>> NSlack()
    NSlack(epsilon=0.1, batch=1)
    """

    epsilon: float = parameter(0.1, "positive", _EPSILON)
    batch: int = parameter(1, "positive count", "number of new constraints after which the problem is solved again")

    name = "n-slack"
    native = "cutting-plane"
    losses = ("hinge", "squared_hinge")
    update = (
        "if the most violated candidate has loss(y) - w.d(y) > xi_i + epsilon, add its constraint, and solve the "
        "problem with all constraints so far"
    )
    paper = "Jiang et al. 2021, Algorithm 1 (after Tsochantaridis et al. 2004)"


@dataclasses.dataclass(frozen=True)
class CPD(Dual):
    """Cutting planes with a slack per example, solved at the end of a pass by dual coordinate descent.

    Examples
    --------
    >>> CPD(epsilon=0.01)
    CPD(epsilon=0.01)
    """

    epsilon: float = parameter(0.1, "positive", _EPSILON)

    name = "cpd"
    native = "cutting-plane"
    fixed: ClassVar[Mapping[str, Any]] = {"batch": 0}  # of a whole pass
    #: Also a block with a candidate, which every example has while the weights are 0, as in the whole first pass.
    example_bytes = Dual.example_bytes + 32 + 48
    losses = ("squared_hinge", "hinge")
    update = (
        "add the constraint of the most violated candidate of every example, then solve the dual with all constraints "
        "so far"
    )
    paper = "Chang and Yih 2013, section 4.4.1 (after Chang et al. 2010)"


@dataclasses.dataclass(frozen=True)
class OneSlack(Dual):
    """Cutting planes with one slack for all examples, as in SVM-Struct.

    Examples
    --------
    >>> OneSlack(cache=0)
    OneSlack(cache=0, inactive=50)
    """

    cache: int = parameter(
        5, "count", "number of candidates to keep per example, to make further constraints without inference"
    )
    inactive: int = parameter(
        50, "count", "remove a constraint after its dual variable was 0 in more than N solutions in a row"
    )

    name = "one-slack"
    losses = ("hinge",)
    objective = HINGE_OBJECTIVE
    update = (
        "add one constraint, the sum over all examples of C_i times that of the most violated candidate, then solve "
        "the problem with all constraints so far"
    )
    paper = "Chang and Yih 2013, section 4.3 (after Joachims, Finley and Yu 2009)"
    default_max_iter = 500

    def weight_copies(self, task: _core.Task) -> int:
        """Return that in which a constraint is put together, and the first one, with its indices."""
        return 1 + 2
