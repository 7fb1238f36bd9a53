"""The row of the trace that a pass leaves."""

from __future__ import annotations

from marginloom import _core
from marginloom.common.memory import MB
from marginloom.core.row import Row
from marginloom.training.objective import relative_gap


def pass_row(
    report: _core.PassReport, *, iteration: int, algorithm: str, seconds: float, inferences: int, updates: int
) -> Row:
    """Return the row of a pass, without a certificate and scores.

    Parameters
    ----------
    report : _core.PassReport
        What the engine tells of the pass.
    iteration : int
        Its number.
    algorithm : str
        The preset that has made it.
    seconds : float
        Since the start of training.
    inferences, updates : int
        Since then as well.

    Returns
    -------
    dict
        The row, see `marginloom.training.trace.Trace`.
    """
    row: Row = {
        "iteration": iteration,
        "algorithm": algorithm,
        "seconds": seconds,
        "primal": report.primal_estimate,
        "dual": report.dual,
        "gap": relative_gap(report.primal_estimate, report.dual),
        "certified": False,
        "wrong": report.wrong,
        "training_loss": report.training_loss,
        "inferences": inferences,
        "updates": updates,
        "active": report.active,
        "working_set_mb": report.working_set_bytes / MB,
        "candidates": {
            "found": report.found,
            "accepted": report.accepted,
            "stale": report.found - report.accepted,
        },
        "weights_age": report.weights_age,
        "threads": [
            {
                "inference": thread.inference,
                "update": thread.update,
                "publishing": thread.publishing,
                "waiting": thread.waiting,
            }
            for thread in report.threads
        ],
        "scores": {},
    }
    if report.cascade is not None:
        row["cascade"] = _cascade(report.cascade)
    return row


def _cascade(report: _core.CascadeReport) -> Row:
    return {
        "solutions": report.solutions,
        "runs": report.runs,
        "layers": report.layers,
        "candidates": report.candidates,
        "support_vectors": report.support_vectors,
        "sent": report.sent,
        "received": report.received,
        "computing": report.computing,
        "last": report.last,
        "seconds": report.seconds,
    }
