"""Cutting planes: descriptions and parameters; for the algorithms see cpp/learners/cutting_plane.hpp, one_slack.hpp."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.dual import Dual

_EPSILON = "add a constraint if its violation exceeds the slack of its example by this; lowered as the gap shrinks"


@dataclasses.dataclass(frozen=True)
class NSlack(Dual):
    """Cutting planes with a slack per example, solved anew after every constraint.

    Examples
    --------
    >>> NSlack()
    NSlack(epsilon=0.1, batch=1)
    """

    epsilon: float = parameter(0.1, "positive", _EPSILON)
    batch: int = parameter(1, "positive count", "constraints to add before the problem is solved again")

    name = "n-slack"
    native = "cutting-plane"
    losses = ("hinge", "squared_hinge")
    update = "if loss(y) - w.d(y) > xi_i + epsilon for the most violated y: add it, and solve over all that were added"
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
    update = "add the most violated output of every example, then solve the dual over all that were added"
    paper = "Chang and Yih 2013, section 4.4.1 (after Chang et al. 2010)"


@dataclasses.dataclass(frozen=True)
class OneSlack(Dual):
    """Cutting planes with one slack for all examples, as in SVM-Struct.

    Examples
    --------
    >>> OneSlack(cache=0)
    OneSlack(cache=0, inactive=50)
    """

    cache: int = parameter(5, "count", "candidates to keep per example, to make constraints without inference")
    inactive: int = parameter(
        50, "count", "remove a constraint that was inactive this many times in a row when the problem was solved"
    )

    name = "one-slack"
    losses = ("hinge",)
    update = "add one constraint, the sum of C_i times the most violated output of every example, and solve over all"
    paper = "Chang and Yih 2013, section 4.3 (after Joachims, Finley and Yu 2009)"
    default_max_iter = 500

    def weight_copies(self, task: _core.Task) -> int:
        """Return that in which a constraint is put together, and the first one, with its indices."""
        return 1 + 2
