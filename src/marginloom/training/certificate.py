"""What is known of weights, and what to say of a proof that cannot be."""

from __future__ import annotations

import dataclasses

from marginloom import _core
from marginloom.core.row import Row
from marginloom.core.task import Task
from marginloom.training.objective import relative_gap

#: How far below 0 a relative gap can be by rounding: weights are sums of many terms, which may nearly cancel out.
ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Certificate:
    """How far from the optimum the returned weights can be: gap = (primal - dual) / primal.

    The dual is never above the optimum, whatever inference finds. What the other two say depends on inference, which
    searches every example for its largest violation.

    Attributes
    ----------
    primal : float
        The objective of the weights if inference is exact; at least that if it is only bounded; an estimate of it if
        it is neither, which may be too low.
    dual : float
        The dual objective.
    gap : float
        As good as the primal is: the relative gap, an upper bound of it, or an estimate.
    exact : bool
        Inference finds the largest violation.
    bounded : bool
        Inference finds it or gives an upper bound of it. If not, nothing is certified.

    Examples
    --------
    >>> print(Certificate(primal=2.0, dual=1.5, gap=0.25, exact=False, bounded=True))
    primal at most 2, dual 1.5: relative gap at most 25 %, certified by bounds of an inexact inference
    """

    primal: float
    dual: float
    gap: float
    exact: bool
    bounded: bool = True

    def __str__(self) -> str:
        """Say what is known, and no more."""
        known = "" if self.exact else "at most " if self.bounded else "about "
        proof = "an estimate: inference is inexact and gives no bounds"
        if self.bounded:
            proof = "certified" if self.exact else "certified by bounds of an inexact inference"
        return (
            f"primal {known}{self.primal:.6g}, dual {self.dual:.6g}: "
            f"relative gap {known}{100 * self.gap:.3g} %, {proof}"
        )

    def values(self) -> Row:
        """Return what the row of a pass says of its weights once every example was searched with them."""
        return {"primal": self.primal, "dual": self.dual, "gap": self.gap, "certified": self.bounded}


def checked_certificate(task: Task, found: _core.Certificate) -> Certificate:
    """Return the certificate of what an engine has found.

    Raises
    ------
    CertificateError
        If the dual is above the primal, which no rounding explains: whatever was computed, it proves nothing.
    InputError
        The same for a task of the user's own, whose methods contradict each other then.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0]]], [[0]], feature_count=1, label_count=2)
    >>> checked_certificate(task, _core.Certificate(primal=2.0, dual=1.5, proven=True, complete=True))
    Certificate(primal=2.0, dual=1.5, gap=0.25, exact=True, bounded=True)
    """
    gap = relative_gap(found.primal, found.dual)
    assert gap is not None
    bounded = found.proven
    exact = bounded and "exact" in task.core.capabilities
    if bounded and gap < -ROUNDING:
        bounds = f"a dual of {found.dual:.9g} above the primal of {found.primal:.9g}"
        raise task.contradiction(bounds)
    return Certificate(found.primal, found.dual, gap, exact, bounded)
