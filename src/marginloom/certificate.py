"""What is proved of weights, and what to say of a proof that cannot be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from marginloom.errors import CertificateError, InputError
from marginloom.objective import relative_gap
from marginloom.tasks.base import Task

#: How far below 0 a relative gap can be by rounding: differences of features are kept in single precision.
ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Certificate:
    """How far from the optimum the returned weights can be at most: gap = (primal - dual) / primal."""

    primal: float
    dual: float
    gap: float
    exact: bool


def checked_certificate(task: Task, found: Mapping[str, Any]) -> Certificate:
    """Return the certificate of what an engine has found.

    Raises
    ------
    CertificateError
        If the dual is above the primal, which no rounding explains: whatever was computed, it proves nothing.
    InputError
        The same for a task of the user's own, whose methods contradict each other then.

    Examples
    --------
    >>> from marginloom.tasks.sequence import SequenceTask
    >>> task = SequenceTask.from_lists([[[0]]], [[0]], feature_count=1, label_count=2)
    >>> checked_certificate(task, {"primal": 2.0, "dual": 1.5, "exact": True})
    Certificate(primal=2.0, dual=1.5, gap=0.25, exact=True)
    """
    gap = relative_gap(found["primal"], found["dual"])
    assert gap is not None
    if found["exact"] and gap < -ROUNDING:
        bounds = f"a dual of {found['dual']:.9g} above the primal of {found['primal']:.9g}"
        if task.name == "custom":
            raise InputError(
                f"training of {type(task).__name__} ended with {bounds}, which is impossible if its methods agree with "
                "each other: argmax_augmented has missed a better output, or a state was given that holds outputs "
                "which it does not return any more; marginloom.testing.check_task finds most such mistakes, and a task "
                "that may miss the best output says exact = False"
            )
        raise CertificateError(f"the certificate has {bounds}, so one of them is wrong")
    return Certificate(found["primal"], found["dual"], gap, found["exact"])
