"""What a training run returns."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import Algorithm
from marginloom.training.certificate import Certificate
from marginloom.training.memory_plan import MemoryPlan
from marginloom.training.state import State
from marginloom.training.trace import Trace


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run returns.

    Attributes
    ----------
    weights : array
        The weights to predict with.
    certificate : Certificate or None
        For exactly these weights; None for learners without a dual, and if an interruption came before it. Where
        inference is neither exact nor bounded it holds estimates and certifies nothing.
    stopped : str
        Why it ended: ``tolerance`` (the certified gap is within `tol`), ``estimate`` (the gap is, but inference is
        inexact and without bounds, so that it is only an estimate), ``iterations``, ``separated``, ``unchanged``,
        ``early``, ``callback`` or ``interrupted``.
    iterations : int
        Passes that were made.
    weights_iteration : int or None
        Pass after which the weights were these: the last one, or an earlier one if a callback such as `EarlyStopping`
        went back to it. Its row of the trace has the certificate. None if they are those of no whole pass of this run.
    memory : MemoryPlan
        What it was expected to need.
    working_set_mb : float
        What the candidates that a dual learner keeps took in the end.
    primal : float or None
        The objective of exactly these weights if inference is `exact`, else an upper bound of it if inference is
        `bounded`, else an estimate. None for learners without one, and if an interruption came before it.
    exact, bounded : bool
        Whether the task's inference finds the largest violation, and whether it at least gives an upper bound of it.
    chosen : dict
        Parameters that the learner has chosen by itself, such as the first step of SGD.
    shortfall : str
        What to warn of if the passes were used up before the tolerance was reached; empty if not.
    """

    algorithm: Algorithm
    loss: str | None
    weights: NDArray[np.float64]
    certificate: Certificate | None
    trace: Trace
    stopped: str
    iterations: int
    weights_iteration: int | None
    n_threads: int
    seconds: dict[str, float]
    inferences: int
    updates: int
    active: int
    state: State | None
    memory: MemoryPlan
    working_set_mb: float
    primal: float | None
    exact: bool
    bounded: bool
    chosen: dict[str, float]
    shortfall: str
