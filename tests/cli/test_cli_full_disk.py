"""A full disk on the command line: a warning where training can go on, another place where a model must be saved."""

import errno
import subprocess

import pytest
from support.full_disk import FULL, needs_full_device
from support.program import PROGRAM, TIMEOUT, environment, fails, json_lines, last_json, names_in, run
from typer.testing import CliRunner

from marginloom import InputError
from marginloom.cli.app import app
from marginloom.commands.common import warnings_as_notes
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.training.checkpoint import FILE_NAME, Snapshot


def command(corpus, model, *options):
    return ["train", "tag", corpus / "train.conll", "--model", model, "--max-iter", "3", "--tol", "1e-300", *options]


def train_here(*arguments):
    """Run the program within this process."""
    with warnings_as_notes():
        return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def full_folders(monkeypatch):
    """Folders in which no model can be written; add to the list to fill one."""
    full = []
    save = SequenceModel.save

    def save_where_there_is_room(self, path):
        if any(folder.resolve() == type(folder)(path).resolve().parent for folder in full):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(self, path)

    monkeypatch.setattr(SequenceModel, "save", save_where_there_is_room)
    return full


@needs_full_device
def test_full_disk_under_the_trace_is_one_warning_and_the_model_is_written(corpus, tmp_path):
    done = run(*command(corpus, tmp_path / "m", "--trace", FULL, "--quiet", "--json"))
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("marginloom: warning: cannot write '/dev/full'")
    assert last_json(done)["iterations"] == 3
    SequenceModel.load(tmp_path / "m")


def test_full_disk_under_the_checkpoint_is_one_warning_and_the_model_is_written(corpus, tmp_path, monkeypatch):
    def no_room(self, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Snapshot, "save", no_room)
    options = ["--checkpoint", tmp_path / "run", "--checkpoint-interval", "0", "--quiet"]
    done = train_here(*command(corpus, tmp_path / "m", *options))
    assert done.exit_code == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"marginloom: warning: cannot write '{tmp_path / 'run' / FILE_NAME}'")
    assert names_in(tmp_path) == ["m"]


@needs_full_device
def test_full_disk_under_standard_error_does_not_cost_the_model(corpus, tmp_path):
    with FULL.open("wb") as nowhere:
        done = subprocess.run(
            [PROGRAM, *map(str, command(corpus, tmp_path / "m", "--trace", FULL))],
            stdout=subprocess.PIPE, stderr=nowhere, timeout=TIMEOUT, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 0
    SequenceModel.load(tmp_path / "m")


@needs_full_device
def test_model_that_cannot_be_written_goes_into_the_working_folder(corpus, tmp_path):
    said = fails(*command(corpus, FULL, "--quiet"), cwd=tmp_path)
    assert said.startswith("marginloom: cannot write '/dev/full'")
    assert repr(str(tmp_path / "full")) in said
    assert SequenceModel.load(tmp_path / "full").settings["iterations"] == 3
    assert names_in(tmp_path) == ["full"]


@needs_full_device
@pytest.mark.parametrize("report", [[], ["--json"]])
def test_place_of_the_model_is_said_also_if_the_report_has_no_room(corpus, tmp_path, report):
    with FULL.open("wb") as nowhere:
        done = subprocess.run(
            [PROGRAM, *map(str, command(corpus, FULL, *report))],
            stdout=nowhere, stderr=subprocess.PIPE, timeout=TIMEOUT, env=environment(), cwd=tmp_path, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode().endswith(f"the model is in {str(tmp_path / 'full')!r} instead\n")
    SequenceModel.load(tmp_path / "full")


@needs_full_device
def test_model_that_cannot_be_written_goes_into_the_checkpoint_folder_first(corpus, tmp_path):
    options = ["--checkpoint", "run", "--checkpoint-interval", "0", "--json", "--trace", "trace"]
    done = run(*command(corpus, FULL, *options), code=1, cwd=tmp_path)
    assert "the model is in 'run/full' instead" in done.stderr.splitlines()[-1]
    assert last_json(done)["iterations"] == len(json_lines(tmp_path / "trace")) - 1 == 3
    assert SequenceModel.load(tmp_path / "run" / "full").settings["iterations"] == 3
    assert names_in(tmp_path) == ["run", "trace"]
    assert names_in(tmp_path / "run") == [FILE_NAME, "full"]  # to try again with --resume


def test_full_checkpoint_folder_leaves_the_working_folder(corpus, tmp_path, full_folders, monkeypatch):
    for name in ("run", "models", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    full_folders += [tmp_path / "run", tmp_path / "models"]
    done = train_here(*command(corpus, tmp_path / "models" / "m", "--checkpoint", tmp_path / "run"))
    assert isinstance(done.exception, InputError)
    assert repr(str(tmp_path / "here" / "m")) in str(done.exception)
    SequenceModel.load(tmp_path / "here" / "m")


def test_model_that_is_saved_elsewhere_replaces_nothing(corpus, tmp_path, full_folders, monkeypatch):
    for name in ("run", "models", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    full_folders.append(tmp_path / "models")
    for name in ("m", "m.1"):
        (tmp_path / "here" / name).write_text("of somebody else")
    done = train_here(*command(corpus, tmp_path / "models" / "m"))
    assert repr(str(tmp_path / "here" / "m.2")) in str(done.exception)
    assert (tmp_path / "here" / "m").read_text() == (tmp_path / "here" / "m.1").read_text() == "of somebody else"
    done = train_here(*command(corpus, tmp_path / "models" / FILE_NAME, "--checkpoint", tmp_path / "run"))
    assert repr(str(tmp_path / "run" / f"{FILE_NAME}.1")) in str(done.exception)  # the name is the checkpoint's


def test_no_room_anywhere_is_said_with_all_places(corpus, tmp_path, full_folders, monkeypatch):
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path)
    full_folders += [tmp_path, tmp_path / "run"]
    done = train_here(*command(corpus, "m", "--checkpoint", "run", "--checkpoint-interval", "0"))
    assert isinstance(done.exception, InputError)
    for place in ("'m'", "'run'", repr(str(tmp_path))):
        assert place in str(done.exception)
    assert names_in(tmp_path / "run") == [FILE_NAME]
