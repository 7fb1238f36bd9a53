"""When a run that `auto` has chosen turns to Newton's method: a function of the gaps of its passes, not of time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from marginloom.algorithms import Algorithm, find_algorithm
from marginloom.core.choice import Choice
from marginloom.core.row import Row
from marginloom.core.task import Task
from marginloom.learners import Newton
from marginloom.training.spec import RunSpec

#: Passes from which on the gaps tell how many are to come, and the share of those that Newton's method would take.
FIRST_LOOK, LOOK_SHARE = 4, 0.2


@dataclasses.dataclass(frozen=True)
class Turn:
    """Where a run may turn, and when it does.

    Attributes
    ----------
    algorithm : Algorithm
        Where to.
    passes : float
        Passes to come from which it pays.
    last : float
        Pass by which the run must be within its tolerance, or turn.

    Examples
    --------
    >>> turn = Turn(find_algorithm("newton"), passes=15)
    >>> turn.is_due([{"gap": gap} for gap in (0.99, 0.97, 0.95, 0.93)], tol=0.01)
    True
    >>> turn.is_due([{"gap": gap} for gap in (0.8, 0.4, 0.2, 0.1)], tol=0.01)
    False
    """

    algorithm: Algorithm
    passes: float
    last: float = math.inf

    def is_due(self, rows: Sequence[Row], tol: float) -> bool:
        """Tell whether too many passes are to come, if the gap goes on falling as in the later half of those made."""
        done = len(rows)
        if done < max(FIRST_LOOK, min(LOOK_SHARE * self.passes, self.last / 2)):
            return False
        gap, before = rows[-1]["gap"], rows[-1 - done // 2]["gap"]
        if gap is None or before is None or gap <= tol:
            return False
        if gap >= before:
            return True
        to_come = done // 2 * math.log(gap / tol) / math.log(before / gap)
        return to_come > self.passes or done + to_come > self.last


def planned_turn(choice: Choice | None, task: Task, spec: RunSpec, max_iter: int) -> Turn | None:
    """Return the turn that a choice allows; None if there is none, or parameters were given that it would lose.

    If nobody has asked for a number of passes, a run turns rather than end without its tolerance.
    """
    if choice is None or math.isinf(choice.newton_passes) or spec.learner or spec.engine:
        return None
    if task.core.dimension > Newton.most_weights:
        return None
    return Turn(find_algorithm("newton"), choice.newton_passes, max_iter if spec.max_iter is None else math.inf)
