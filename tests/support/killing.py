"""Runs that end as those of killed processes do, and what a run that is resumed must go on from."""

from marginloom import Callback
from marginloom.training.checkpoint import FILE_NAME, Snapshot


class Killed(Exception):  # noqa: N818
    pass


class KillAfter(Callback):
    """Ends the process, as far as the run can tell, after some pass and before its checkpoint."""

    def __init__(self, iteration):
        self.iteration = iteration

    def after_iteration(self, run, row):
        if row["iteration"] == self.iteration:
            raise Killed


def saved_in(folder):
    """Return what the checkpoint in a folder holds."""
    return Snapshot.load(folder / FILE_NAME)


def check_goes_on(saved, rows):
    """Check that a trace continues a checkpoint, also where threads race and no two runs are bit-identical."""
    done = saved.progress["iteration"]
    assert len(saved.rows) == done > 0
    assert rows[:done] == saved.rows
    assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) > done
    if saved.rows[-1]["dual"] is not None:
        assert rows[done]["dual"] >= saved.rows[-1]["dual"] * (1 - 1e-9)
