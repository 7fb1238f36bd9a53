"""Nothing that is read is written over, and no two outputs are the same file, under whatever names."""

import os
import shutil
import subprocess

import pytest
from support.program import PROGRAM, environment, names_in, run
from typer.testing import CliRunner

from marginloom import InputError, ObjectDetector, make_digit_detection, write_detections
from marginloom.cli.app import app
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.training.checkpoint import FILE_NAME, LOCK_NAME


def fails(*arguments):
    """Run the program within this process, expect that it fails; return what it says."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(done.exception, InputError), done.output
    return str(done.exception)


def refuses(*arguments):
    """Run the program within this process, expect that it does not accept the arguments; return what it says."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 2
    return " ".join(done.output.split())


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(model, tmp_path):
    """A folder with a model, files to read, and other names for all of them."""
    shutil.copy(model, tmp_path / "m")
    write_conll(tmp_path / "t.conll", *make_tagging(20, seed=0))
    write_conll(tmp_path / "d.conll", *make_tagging(20, seed=1))
    (tmp_path / "templates").write_text("word[0]\n")
    (tmp_path / "names").write_text("dog\n")
    (tmp_path / "clusters").write_text("0101 dog 3\n")
    other_names(tmp_path)
    return tmp_path


def other_names(folder):
    """Give every file two more names in sub-folders."""
    (folder / "soft").mkdir()
    (folder / "hard").mkdir()
    for path in [path for path in folder.iterdir() if path.is_file()]:
        (folder / "soft" / path.name).symlink_to(path)
        os.link(path, folder / "hard" / path.name)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PREFIXES = ["", "./", "soft/", "hard/", "soft/../soft/"]


@pytest.mark.parametrize("read", ["t.conll", "m"])
def test_predict_does_not_write_over_what_it_reads(folder, read):
    before = contents(folder)
    for prefix in PREFIXES:
        said = fails("predict", "m", "t.conll", "-o", prefix + read)
        assert "would be overwritten" in said
        assert f"-o {prefix + read} " in said
    assert contents(folder) == before


def test_predict_does_not_write_over_a_redirected_input(folder):
    before = contents(folder)
    with (folder / "t.conll").open("rb") as stream:
        done = subprocess.run(
            [PROGRAM, "predict", "m", "-", "-o", "t.conll"],
            stdin=stream, capture_output=True, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"-o t.conll is the same file as the input, " in done.stderr
    assert contents(folder) == before


def test_predict_does_not_append_its_output_to_its_input(folder):
    before = contents(folder)
    with (folder / "t.conll").open("ab") as stream:
        done = subprocess.run(
            [PROGRAM, "predict", "m", "t.conll"],
            stdout=stream, stderr=subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert b"standard output is the same file as the input t.conll" in done.stderr
    assert contents(folder) == before


def test_predict_writes_over_what_it_does_not_read(folder):
    (folder / "out").write_text("of an earlier run")
    run("predict", "m", "t.conll", "-o", "out")
    assert (folder / "out").read_text() == run("predict", "m", "t.conll").stdout


TRAIN = [
    "train", "tag", "t.conll", "--dev", "d.conll", "--features", "templates", "--gazetteer", "animals=names",
    "--clusters", "clusters", "--warm-start", "m", "--max-iter", "1",
]  # fmt: skip


@pytest.mark.parametrize("read", ["t.conll", "d.conll", "templates", "names", "clusters", "m"])
def test_train_does_not_write_over_what_it_reads(folder, read):
    before = contents(folder)
    for path in (prefix + read for prefix in PREFIXES):
        for outputs in (["--model", path], ["--model", "new", "--trace", path]):
            said = fails(*TRAIN, *outputs)
            assert "would be overwritten" in said
            assert f"{path} is the same file as " in said
    assert contents(folder) == before


@pytest.mark.parametrize("name", [FILE_NAME, LOCK_NAME])
def test_files_of_the_checkpoint_folder_are_not_read(folder, name):
    (folder / "run").mkdir()
    (folder / "t.conll").rename(folder / "run" / name)
    before = contents(folder)
    said = fails("train", "tag", f"run/{name}", "--model", "new", "--checkpoint", "run", "--resume")
    assert "would be overwritten" in said
    assert contents(folder) == before


def test_place_of_an_interrupted_model_is_not_read(folder):
    (folder / "t.conll").rename(folder / "new.interrupted")
    said = fails("train", "tag", "new.interrupted", "--model", "new")
    assert "interrupted training's new.interrupted is the same file as the training file" in said


def test_cost_matrix_is_not_written_over(tmp_path):
    (tmp_path / "t.libsvm").write_text("1 1:1\n2 2:1\n")
    (tmp_path / "costs").write_text("1 2 3\n")
    said = fails("train", "classify", "t.libsvm", "--cost-matrix", "costs", "--model", "costs")
    assert "--cost-matrix costs, which is read and would be overwritten" in said
    assert (tmp_path / "costs").read_text() == "1 2 3\n"


@pytest.mark.parametrize(
    "outputs",
    [
        ["--model", "x", "--trace", "x"],
        ["--model", "x", "--trace", "./x"],
        ["--model", "x", "--trace", "link/x"],
        ["--model", "x", "--trace", "dangling"],
        ["--model", "x", "--trace", "x.interrupted"],
        ["--model", "x", "--checkpoint", "x"],
        ["--model", "x", "--trace", "run", "--checkpoint", "link/run"],
        *(
            [*option, f"{folder}/{name}", "--checkpoint", "run"]
            for option in (["--model"], ["--model", "m", "--trace"])
            for folder in ("run", "link/run")
            for name in (FILE_NAME, LOCK_NAME)
        ),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_outputs_of_training_are_different_files(corpus, tmp_path, outputs, exists):
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to("x")
    if exists:
        (tmp_path / "run").mkdir()
    before = names_in(tmp_path)
    said = refuses("train", "tag", corpus / "train.conll", *outputs)
    assert "are the same file; choose another name" in said
    assert names_in(tmp_path) == before


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """A folder with a detector and images, of which it finds something in the first."""
    folder = tmp_path_factory.mktemp("detector")
    made = make_digit_detection(4, seed=0)
    write_detections(folder / "images.npz", made.images, made.labels, made.boxes)
    y = list(zip(made.labels, made.boxes, strict=True))
    ObjectDetector(max_iter=1).fit(made.images, y).save(folder / "model")
    run("predict", folder / "model", folder / "images.npz", "--draw", folder / "pictures")
    return folder


@pytest.mark.parametrize("read", ["model", "images.npz"])
def test_pictures_are_not_drawn_over_what_is_read(detector, tmp_path, read):
    shutil.copytree(detector, tmp_path, dirs_exist_ok=True)
    last = max((tmp_path / "pictures").iterdir())
    for link in (lambda: last.symlink_to(tmp_path / read), lambda: os.link(tmp_path / read, last)):
        last.unlink()
        link()
        before = contents(tmp_path)
        said = fails("predict", "model", "images.npz", "--draw", "pictures", "-o", "out")
        assert f"--draw pictures/{last.name} is the same file as" in said
        assert contents(tmp_path) == before


def test_pictures_and_output_are_different_files(detector, tmp_path):
    last = max((detector / "pictures").iterdir()).name
    for output, folder in ((f"new/{last}", "new"), ("new", "new"), ("new", "./new")):
        (tmp_path / "new").mkdir(exist_ok=True)
        arguments = ("predict", detector / "model", detector / "images.npz", "--draw", folder, "-o", output)
        assert "are the same file" in refuses(*arguments)
        assert names_in(tmp_path / "new") == []
