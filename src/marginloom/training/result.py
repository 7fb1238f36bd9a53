"""What a training run returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.algorithms import Algorithm
from marginloom.core.row import Row
from marginloom.training.certificate import Certificate
from marginloom.training.memory_plan import MemoryPlan
from marginloom.training.plan import Plan
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
    asked : dict or None
        With several processes: what questions to parts have cost, by the names of ``world`` in a row of the trace.
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
    asked: Row | None = None

    def shared(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what other processes need to have the same result: JSON values, and arrays."""
        header = {name: getattr(self, name) for name in _PLAIN}
        header["certificate"] = None if self.certificate is None else dataclasses.asdict(self.certificate)
        header["settings"], header["rows"] = self.trace.settings, self.trace.rows
        header["state"] = None if self.state is None else self.state.header()
        return header, {"weights": self.weights, **({} if self.state is None else self.state.tensors("state."))}

    @classmethod
    def from_shared(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], plan: Plan) -> Result:
        """Return the result of which another process has `shared` this; nobody is warned twice."""
        certificate, state = header["certificate"], header["state"]
        trace = Trace(header["settings"])
        trace.rows = header["rows"]
        return cls(
            algorithm=plan.algorithm,
            loss=plan.loss,
            weights=arrays["weights"],
            certificate=None if certificate is None else Certificate(**certificate),
            trace=trace,
            n_threads=plan.n_threads,
            memory=plan.memory,
            state=None if state is None else State.from_parts(state, arrays, "state."),
            shortfall="",
            **{name: header[name] for name in _PLAIN},
        )


#: What JSON can hold of a result, apart from the trace.
_PLAIN = (
    "stopped",
    "iterations",
    "weights_iteration",
    "seconds",
    "inferences",
    "updates",
    "active",
    "working_set_mb",
    "primal",
    "exact",
    "bounded",
    "chosen",
    "asked",
)
