"""`--checkpoint` and `--resume`: a program killed in the middle goes on to the model of one that was not."""

import signal
import time

import pytest
from support.killing import check_goes_on
from support.pairs import racing, tolerance
from support.program import TIMEOUT, fails, json_lines, last_json, names_in, refuses, run, start
from typer.testing import CliRunner

from marginloom import InputError, make_relations, write_relations
from marginloom.cli.app import app
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.training.checkpoint import FILE_NAME, Snapshot

ENDLESS = ["--max-iter", "1000000000"]
FOREVER = [*ENDLESS, "--tol", "1e-300"]


def command(corpus, model, *options):
    return ["train", "tag", corpus / "train.conll", "--model", model, *options]


def stopped_in_the_middle(arguments, folder, by=signal.SIGKILL, passes=2):
    """Start the program, end it once it has written the checkpoint of some pass; return what it said."""
    process = start(*arguments, "--checkpoint", folder, "--checkpoint-interval", "0")
    path = folder / FILE_NAME
    try:
        deadline = time.monotonic() + TIMEOUT
        while not path.exists() or Snapshot.load(path).progress["iteration"] < passes:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        process.send_signal(by)
        _, said = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == (-signal.SIGKILL if by == signal.SIGKILL else 130)
    return said.decode()


def finish(corpus, model, folder, *options):
    """Resume with three passes more than the checkpoint has, and train the same without an interruption."""
    passes = Snapshot.load(folder / FILE_NAME).progress["iteration"] + 3
    limits = ["--max-iter", str(passes), "--json", *(options or ["--tol", "1e-300"])]
    trace, whole = model.with_name("trace"), model.with_name("whole")
    resumed = run(*command(corpus, model, *limits, "--trace", trace, "--checkpoint", folder, "--resume"))
    uninterrupted = run(*command(corpus, whole, *limits))
    assert model.read_bytes() == whole.read_bytes()
    assert str(folder / FILE_NAME) in resumed.stderr
    one, other = last_json(resumed), last_json(uninterrupted)
    for name in ("iterations", "inferences", "updates", "active", "primal", "dual", "gap", "stopped", "scores"):
        assert one[name] == other[name]
    settings, *rows = json_lines(trace)
    assert settings["max_iter"] == passes
    assert [row["iteration"] for row in rows] == list(range(1, passes + 1))
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert names_in(folder) == []


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
@pytest.mark.parametrize("patience", [False, True], ids=["to the end", "best pass"])
def test_killed_program_resumes_to_the_same_bits(corpus, tmp_path, algorithm, patience):
    options = ["--algorithm", algorithm, *tolerance(algorithm, 1e-300)]
    if patience:
        options += ["--dev", corpus / "dev.conll", "--patience", "1000000"]
    folder = tmp_path / "run"
    stopped_in_the_middle(command(corpus, tmp_path / "m", *ENDLESS, *options), folder)
    assert not (tmp_path / "m").exists()
    finish(corpus, tmp_path / "m", folder, *options)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_interrupted_program_resumes_to_the_same_bits(corpus, tmp_path, algorithm):
    folder, options = tmp_path / "run", ["--algorithm", algorithm, *tolerance(algorithm, 1e-300)]
    said = stopped_in_the_middle(command(corpus, tmp_path / "m", *ENDLESS, *options), folder, by=signal.SIGINT)
    assert f"--resume goes on after pass {Snapshot.load(folder / FILE_NAME).progress['iteration']}\n" in said
    assert (tmp_path / "m").exists()
    finish(corpus, tmp_path / "m", folder, *options)


@pytest.mark.parametrize("algorithm", racing(2))
def test_killed_program_whose_threads_race_goes_on_after_its_last_pass(corpus, tmp_path, algorithm):
    folder, trace = tmp_path / "run", tmp_path / "trace"
    options = ["--algorithm", algorithm, "--threads", "2", "--tol", "1e-300"]
    stopped_in_the_middle(command(corpus, tmp_path / "m", *ENDLESS, *options), folder)
    saved = Snapshot.load(folder / FILE_NAME)
    passes = saved.progress["iteration"] + 2
    limits = ["--max-iter", str(passes), "--json", "--trace", trace, "--checkpoint", folder, "--resume"]
    done = last_json(run(*command(corpus, tmp_path / "m", *options, *limits)))
    _, *rows = json_lines(trace)
    check_goes_on(saved, rows)
    assert done["iterations"] == len(rows) == passes
    assert done["dual"] == rows[-1]["dual"] >= rows[-2]["dual"] * (1 - 1e-9)


def test_interruption_writes_a_checkpoint_before_its_time(corpus, tmp_path):
    folder, trace = tmp_path / "run", tmp_path / "t"
    process = start(*command(corpus, tmp_path / "m", *FOREVER, "--checkpoint", folder, "--trace", trace))
    try:
        deadline = time.monotonic() + TIMEOUT
        while not trace.exists() or trace.read_text().count("\n") < 4:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert names_in(folder) == [FILE_NAME]
    finish(corpus, tmp_path / "m", folder)


def test_a_killed_extractor_of_relations_resumes_to_the_same_bits(tmp_path):
    write_relations(tmp_path / "train.jsonl", make_relations(60, seed=0))
    train = ["train", "relations", tmp_path / "train.jsonl", "--algorithm", "dcd-ssvm", "--tol", "1e-300"]
    folder, model, whole = tmp_path / "run", tmp_path / "m", tmp_path / "whole"
    stopped_in_the_middle([*train, "--model", model, *ENDLESS], folder)
    assert not model.exists()
    limits = ["--max-iter", str(Snapshot.load(folder / FILE_NAME).progress["iteration"] + 3)]
    resumed = run(*train, "--model", model, *limits, "--checkpoint", folder, "--resume")
    assert str(folder / FILE_NAME) in resumed.stderr
    run(*train, "--model", whole, *limits)
    assert model.read_bytes() == whole.read_bytes()
    assert names_in(folder) == []


def test_finished_run_leaves_no_checkpoint_and_resume_begins_again(corpus, tmp_path):
    options = ["--max-iter", "3", "--checkpoint", tmp_path / "run", "--checkpoint-interval", "0", "--resume"]
    first = run(*command(corpus, tmp_path / "m", *options))
    content = (tmp_path / "m").read_bytes()
    again = run(*command(corpus, tmp_path / "m", *options))
    for done in (first, again):
        assert "starting from the beginning" in done.stderr
        assert str(tmp_path / "run" / FILE_NAME) in done.stderr
    assert names_in(tmp_path / "run") == []
    assert (tmp_path / "m").read_bytes() == content
    assert run(*command(corpus, tmp_path / "m", *options, "--quiet")).stderr == ""


def test_checkpoint_outlives_a_model_that_cannot_be_written(corpus, tmp_path, monkeypatch):
    def full(*_):
        raise InputError("the disk is full")

    options = ["--max-iter", "3", "--checkpoint", tmp_path / "run", "--checkpoint-interval", "0", "--tol", "1e-300"]
    with monkeypatch.context() as patch:
        patch.setattr(SequenceModel, "save", full)
        done = CliRunner().invoke(app, [str(argument) for argument in command(corpus, tmp_path / "m", *options)])
    assert isinstance(done.exception, InputError)
    assert names_in(tmp_path / "run") == [FILE_NAME]
    finish(corpus, tmp_path / "m", tmp_path / "run")


def test_refusals_leave_everything_as_it_is(corpus, tmp_path):
    folder = tmp_path / "run"
    stopped_in_the_middle(command(corpus, tmp_path / "m", *FOREVER), folder)
    content = (folder / FILE_NAME).read_bytes()
    again = command(corpus, tmp_path / "m", "--checkpoint", folder, "--max-iter", "1")
    said = fails(*again)
    assert "--resume" in said
    assert str(folder / FILE_NAME) in said
    assert "C = 0.1, and now it is 2.0" in fails(*again, "--quiet", "--resume", "--C", "2")
    assert "seed = 0, and now it is 5" in fails(*again, "--quiet", "--resume", "--seed", "5")
    assert "other evaluation sets" in fails(*again, "--quiet", "--resume", "--dev", corpus / "dev.conll")
    assert (folder / FILE_NAME).read_bytes() == content
    (folder / FILE_NAME).write_bytes(content[:-9])
    assert "damaged" in fails(*again, "--quiet", "--resume")
    assert sorted(names_in(tmp_path)) == ["run"]


def test_wrong_usage(corpus, tmp_path):
    model = tmp_path / FILE_NAME
    assert "--resume needs --checkpoint DIR" in refuses(*command(corpus, model, "--resume"))
    assert "needs --checkpoint DIR" in refuses(*command(corpus, model, "--checkpoint-interval", "5"))
    folder = ["--checkpoint", tmp_path]
    assert "0 or more" in refuses(*command(corpus, tmp_path / "m", *folder, "--checkpoint-interval", "-1"))
    assert "choose another name" in refuses(*command(corpus, model, *folder))
    assert "does not exist" in fails(*command(corpus, tmp_path / "m", "--checkpoint", tmp_path / "a" / "b"))
    assert names_in(tmp_path) == []


def test_folder_in_use_is_refused_until_its_process_is_gone(corpus, tmp_path):
    folder = tmp_path / "run"
    first = start(*command(corpus, tmp_path / "m", *FOREVER, "--checkpoint", folder, "--checkpoint-interval", "0"))
    try:
        deadline = time.monotonic() + TIMEOUT
        while not (folder / FILE_NAME).exists():
            assert first.poll() is None, first.communicate()
            assert time.monotonic() < deadline
        for options in ([], ["--resume"]):
            said = fails(*command(corpus, tmp_path / "other", "--checkpoint", folder, *options))
            assert f"'{folder}' is in use by process {first.pid} on " in said
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    finish(corpus, tmp_path / "m", folder)
    assert names_in(tmp_path) == ["m", "run", "trace", "whole"]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("interval", ["0", "1000000"])
def test_folder_stays_unless_it_was_made_for_nothing(corpus, tmp_path, is_there, interval):
    folder = tmp_path / "run"
    if is_there:
        folder.mkdir()
    run(*command(corpus, tmp_path / "m", "--checkpoint", folder, "--checkpoint-interval", interval))
    assert folder.exists() == (is_there or interval == "0")
    assert not folder.exists() or names_in(folder) == []
