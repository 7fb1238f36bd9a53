"""Cutting planes: descriptions and parameters; for the algorithms see cpp/learners/cutting_plane.hpp, one_slack.hpp."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.common.parameters import parameter
from marginloom.learners.base import Objective
from marginloom.learners.dual import Dual, costs

_EPSILON = "violation beyond the example's slack from which a constraint is added; shrinks with the gap"


@dataclasses.dataclass(frozen=True)
class NSlack(Dual):
    """Cutting planes with a slack per example, solved anew after every constraint.

    Examples
    --------
    >>> NSlack()
    NSlack(epsilon=0.1, batch=1)
    """

    epsilon: float = parameter(0.1, "positive", _EPSILON)
    batch: int = parameter(1, "positive count", "constraints that are added before the next solution")

    name = "n-slack"
    losses = ("hinge", "squared_hinge")
    update = "if loss(y) - w.d(y) > xi_i + epsilon for the most violated y: add it, and solve over all that were added"
    paper = "Jiang et al. 2021, Algorithm 1 (after Tsochantaridis et al. 2004)"

    def build(self, task: _core.Task, objective: Objective) -> _core.CuttingPlane:
        """Make the native learner for a task."""
        return _cutting_plane(task, objective, self.epsilon, self.batch)


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
    #: Also a block with a candidate, which every example has while the weights are 0, as in the whole first pass.
    example_bytes = Dual.example_bytes + 32 + 48
    losses = ("squared_hinge", "hinge")
    update = "add the most violated output of every example, then solve the dual over all that were added"
    paper = "Chang and Yih 2013, section 4.4.1 (after Chang et al. 2010)"

    def build(self, task: _core.Task, objective: Objective) -> _core.CuttingPlane:
        """Make the native learner for a task."""
        return _cutting_plane(task, objective, self.epsilon, batch=0)  # of a whole pass


@dataclasses.dataclass(frozen=True)
class OneSlack(Dual):
    """Cutting planes with one slack for all examples, as in SVM-Struct.

    Examples
    --------
    >>> OneSlack(cache=0)
    OneSlack(cache=0, inactive=50)
    """

    cache: int = parameter(5, "count", "candidates of an example that are kept for constraints without inference")
    inactive: int = parameter(50, "count", "solutions in which it plays no part after which a constraint is removed")

    name = "one-slack"
    losses = ("hinge",)
    update = "add one constraint, the sum of C_i times the most violated output of every example, and solve over all"
    paper = "Chang and Yih 2013, section 4.3 (after Joachims, Finley and Yu 2009)"
    default_max_iter = 500

    def weight_copies(self, task: _core.Task) -> int:
        """Return that in which a constraint is put together, and the first one, with its indices."""
        return 1 + 2

    def build(self, task: _core.Task, objective: Objective) -> _core.OneSlack:
        """Make the native learner for a task."""
        parameters = _core.OneSlackParameters(cache=self.cache, inactive=self.inactive, memory=objective.memory)
        return _core.OneSlack(task, costs(objective), parameters)


def _cutting_plane(task: _core.Task, objective: Objective, epsilon: float, batch: int) -> _core.CuttingPlane:
    parameters = _core.CuttingPlaneParameters(
        loss=_core.Loss[objective.loss], epsilon=epsilon, batch=batch, memory=objective.memory
    )
    return _core.CuttingPlane(task, costs(objective), parameters)
