"""Runs that end as those of killed processes do."""

from marginloom import Callback


class Killed(Exception):  # noqa: N818
    pass


class KillAfter(Callback):
    """Ends the process, as far as the run can tell, after some pass and before its checkpoint."""

    def __init__(self, iteration):
        self.iteration = iteration

    def after_iteration(self, run, row):
        if row["iteration"] == self.iteration:
            raise Killed
