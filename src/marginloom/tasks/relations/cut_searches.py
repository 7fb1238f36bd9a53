"""Searches that were cut off at their solver's limit."""

from __future__ import annotations

import warnings

from marginloom.errors import InputWarning
from marginloom.tasks.relations.task import RelationsTask
from marginloom.training.callbacks import Callback
from marginloom.training.run import Run


def warn_of_cut_searches(task: RelationsTask, told: int = 0) -> int:
    """Warn of searches that were cut off at the solver's limit, beyond those already told of; return how many."""
    report = task.search_report()
    cut = int(report["cut_off"])
    if cut > told:
        text = (
            f"{cut - told:,} of {report['searches']:,} searches reached the limit of the solver; their best output may "
            "not be the best of all, and certificates use their bounds. Raise node_limit (--node-limit) or time_limit "
            "(--time-limit)"
        )
        warnings.warn(InputWarning(text), stacklevel=4)
    return cut


class CutSearches(Callback):
    """Reports how many searches of a run were cut off at the solver's limit."""

    def __init__(self, task: RelationsTask) -> None:
        self._task = task
        self._told = 0

    def after_training(self, run: Run) -> None:
        """Warn of searches in training."""
        self._told = warn_of_cut_searches(self._task, self._told)

    def after_certificate(self, run: Run) -> None:
        """Warn of searches for a certificate."""
        self._told = warn_of_cut_searches(self._task, self._told)
