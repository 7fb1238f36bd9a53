"""A disk that fills up under a trace or a checkpoint costs these, never the training."""

import json

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.full_disk import FULL, files_end_at, needs_full_device
from support.oracles import TinyChains

from marginloom import Callback, InputError
from marginloom.errors import OutputWarning
from marginloom.training.checkpoint import FILE_NAME, Checkpoint, Snapshot
from marginloom.training.train import train

TASK = make_task(TinyChains(0, sentences=12), "valued")
OPTIONS = {"max_iter": 6, "tol": 1e-12}


class AfterPass(Callback):
    """Does something after a pass."""

    def __init__(self, iteration, action):
        self.iteration = iteration
        self.action = action

    def after_iteration(self, run, row):
        if row["iteration"] == self.iteration:
            self.action()


class Full(Callback):
    """Lets no file grow beyond a size while passes are made; before that, files stand behind native memory too."""

    def __init__(self, size):
        self.limit = files_end_at(size)

    def before_training(self, run):
        self.limit.__enter__()

    def after_training(self, run):
        self.limit.__exit__(None, None, None)


def is_as_usual(result):
    usual = train(TASK, **OPTIONS)
    assert result.stopped == usual.stopped
    assert result.certificate == usual.certificate
    assert np.array_equal(result.weights, usual.weights)
    assert len(result.trace.rows) == len(usual.trace.rows) == 6


def told(caught):
    """Return what was said of outputs: training that was cut short is warned of, too."""
    return [str(warning.message) for warning in caught if issubclass(warning.category, OutputWarning)]


@pytest.mark.parametrize("size", [10, 1500, 3000])
def test_training_goes_on_without_its_trace(tmp_path, size):
    trace = tmp_path / "trace"
    with pytest.warns(OutputWarning) as caught:
        result = train(TASK, trace_path=trace, callbacks=[Full(size)], **OPTIONS)
    assert [str(trace) in text for text in told(caught)] == [True]
    is_as_usual(result)
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    assert rows[1:] == result.trace.rows[: max(len(rows) - 1, 0)]


@needs_full_device
def test_trace_on_a_full_device_is_told_in_one_warning():
    with pytest.warns(OutputWarning, match="cannot write '/dev/full'") as caught:
        is_as_usual(train(TASK, trace_path=FULL, **OPTIONS))
    assert len(told(caught)) == 1


def test_trace_may_go_nowhere():
    is_as_usual(train(TASK, trace_path="/dev/null", **OPTIONS))


def test_training_goes_on_without_checkpoints(tmp_path):
    folder = tmp_path / "run"
    with pytest.warns(OutputWarning) as caught:
        result = train(TASK, checkpoint=Checkpoint(folder, interval=0), callbacks=[Full(100)], **OPTIONS)
    assert [str(folder / FILE_NAME) in text for text in told(caught)] == [True]
    is_as_usual(result)
    assert not folder.exists()  # nothing was ever in it


def test_checkpoint_before_stays_when_the_disk_fills_up(tmp_path, monkeypatch):
    folder = tmp_path / "run"

    def fill_up():
        monkeypatch.setattr(Snapshot, "save", no_room)

    def no_room(self, path):
        raise OSError(28, "No space left on device")

    with pytest.warns(OutputWarning, match="the one before stays") as caught:
        result = train(TASK, checkpoint=Checkpoint(folder, interval=0), callbacks=[AfterPass(3, fill_up)], **OPTIONS)
    assert len(told(caught)) == 1
    is_as_usual(result)
    assert Snapshot.load(folder / FILE_NAME).progress["iteration"] == 2


def test_checkpoints_are_written_again_when_there_is_room_again(tmp_path):
    folder = tmp_path / "run"
    full = Full(100)
    callbacks = [AfterPass(2, lambda: full.before_training(None)), AfterPass(4, lambda: full.after_training(None))]
    with pytest.warns(OutputWarning) as caught:
        train(TASK, checkpoint=Checkpoint(folder, interval=0), callbacks=callbacks, **OPTIONS)
    assert len(told(caught)) == 1
    assert Snapshot.load(folder / FILE_NAME).progress["iteration"] == 6


def test_folder_that_vanishes_costs_no_more_than_a_full_disk(tmp_path):
    folder = tmp_path / "a" / "run"
    folder.mkdir(parents=True)
    away = AfterPass(2, lambda: folder.parent.rename(tmp_path / "b"))
    with pytest.warns(OutputWarning, match=str(folder)):
        result = train(TASK, checkpoint=Checkpoint(folder, interval=0), callbacks=[away], **OPTIONS)
    is_as_usual(result)


def test_trace_in_the_place_of_the_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match="are the same file"):
        train(TASK, checkpoint=tmp_path / "run", trace_path=tmp_path / "run" / FILE_NAME, **OPTIONS)
