"""Checkpoints whose parts were replaced, with right checksums, raise our errors only, and are not lost."""

import copy
import json
import shutil
from unittest import mock

import numpy as np
import pytest
from support.damaged_models import save_unchecked
from support.program import fails

from marginloom import Checkpoint, EarlyStopping, MarginloomError, MulticlassClassifier, SequenceTagger
from marginloom.cli import run
from marginloom.io.model import CHECKPOINT, load_model, save_model
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.training.checkpoint import FILE_NAME

WORDS, TAGS = make_tagging(8, seed=0)
ROWS = np.round(np.random.default_rng(0).normal(size=(12, 4)), 1)
VALUES = [None, True, -1, 10**400, 0.5, float("nan"), "x", "\ud800", "two\nlines", [[1, 2]], {}]


def fit_tagger(**options):
    callbacks = [EarlyStopping(2)]
    SequenceTagger("averaged-perceptron", features="words", max_iter=4).fit(
        WORDS, TAGS, eval_set=(WORDS, TAGS), callbacks=callbacks, **options
    )


def fit_classifier(**options):
    MulticlassClassifier("fsmo", max_iter=4, tol=1e-9, verbose=True).fit(ROWS, np.arange(12) % 3, **options)


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("marginloom.io.files.os.fsync", lambda number: None)


@pytest.fixture(params=[fit_tagger, fit_classifier])
def unfinished(request, tmp_path):
    """A function that trains, and the parts of a checkpoint that it made."""
    with mock.patch.object(Checkpoint, "remove"):
        request.param(checkpoint=Checkpoint(tmp_path / "good", interval=0))
    header, tensors = load_model(tmp_path / "good" / FILE_NAME, CHECKPOINT)
    return request.param, header, {name: array.copy() for name, array in tensors.items()}


def places(value, path=()):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def replaced(value, path, new):
    changed = holder = copy.deepcopy(value)
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return changed


def refused(fit, folder, header, tensors):
    """Resume from these parts and tell whether it was refused by one of our errors, which leaves the file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_unchecked(folder / FILE_NAME, CHECKPOINT, header, tensors)
    content = (folder / FILE_NAME).read_bytes()
    try:
        fit(checkpoint=Checkpoint(folder, interval=1e9), resume=True)
    except MarginloomError as error:
        assert str(error)  # noqa: PT017
        assert (folder / FILE_NAME).read_bytes() == content
        return True
    return False


def test_unchanged_parts_are_a_good_checkpoint(tmp_path, unfinished):
    assert not refused(unfinished[0], tmp_path / "c", *unfinished[1:])


def test_every_entry_of_the_header_replaced_by_every_type(tmp_path, unfinished):
    fit, header, tensors = unfinished
    count = 0
    for place in places(header):
        for value in VALUES:
            count += refused(fit, tmp_path / "c", replaced(header, place, value), tensors)
    assert count > 100


def test_every_entry_of_the_trace_replaced_by_every_type(tmp_path, unfinished):
    fit, header, tensors = unfinished
    rows = json.loads(tensors["trace"].tobytes())
    count = 0
    for place in [place for place in places(rows) if place[0] == len(rows) - 1] + [(0,)]:
        for value in VALUES:
            text = json.dumps(replaced(rows, place, value)).encode()
            count += refused(fit, tmp_path / "c", header, {**tensors, "trace": np.frombuffer(text, dtype=np.uint8)})
    assert count > 20


@pytest.mark.parametrize("text", [b"", b"5", b"{}", b"[1]", b"[{}]", b"\xff", b"[" * 100_000, b'[{"iteration": 1}]'])
def test_trace_that_is_none(tmp_path, unfinished, text):
    fit, header, tensors = unfinished
    assert refused(fit, tmp_path / "c", header, {**tensors, "trace": np.frombuffer(text, dtype=np.uint8)})


def test_every_array_missing_or_of_another_kind(tmp_path, unfinished):
    fit, header, tensors = unfinished
    count = 0
    for name, array in tensors.items():
        others = {key: value for key, value in tensors.items() if key != name}
        for changed in (None, array[:-1], array[:0], array[np.newaxis], array.astype("<i8"), array.astype("?")):
            count += refused(
                fit, tmp_path / "c", header, others if changed is None else {**others, name: changed.copy()}
            )
    assert count > 2 * len(tensors)


def test_program_tells_it_in_one_line(tmp_path):
    write_conll(tmp_path / "t.conll", WORDS, TAGS)
    arguments = ["train", "tag", str(tmp_path / "t.conll"), "--model", str(tmp_path / "m"), "--max-iter", "4"]
    arguments += ["--tol", "1e-9", "--quiet", "--checkpoint", str(tmp_path / "c"), "--checkpoint-interval", "0"]
    with mock.patch.object(Checkpoint, "remove"):
        assert run(arguments) == 0
    (tmp_path / "m").unlink()
    header, tensors = load_model(tmp_path / "c" / FILE_NAME, CHECKPOINT)
    save_model(tmp_path / "c" / FILE_NAME, CHECKPOINT, {**header, "progress": {"iteration": "two\nlines"}}, tensors)
    said = fails(*arguments, "--resume")
    assert "the parts of the checkpoint do not fit together" in said
    assert not (tmp_path / "m").exists()
