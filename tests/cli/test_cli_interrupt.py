"""Ctrl-C ends training with a usable model, and says so."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from program import TIMEOUT, json_lines, last_json, names_in, run, start

from marginloom.datasets import make_tagging, write_conll
from marginloom.tagging import Tagger


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "train.conll"
    write_conll(path, *make_tagging(1500, seed=4))
    return path


def wait_for_lines(process, trace, count):
    deadline = time.monotonic() + TIMEOUT
    while not trace.exists() or trace.read_text().count("\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline


def interrupted(*arguments, trace, lines):
    process = start(*arguments, "--trace", trace)
    try:
        wait_for_lines(process, trace, lines)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 130, err
    return subprocess.CompletedProcess([], 130, out.decode(), err.decode())


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light", "averaged-perceptron", "minibatch-perceptron", "ipm"])
def test_interrupted_training_saves_a_usable_model(large, tmp_path, algorithm):
    model, trace = tmp_path / "m", tmp_path / "trace"
    tol = ["--tol", "1e-300"] if algorithm.startswith("dcd") else []
    done = interrupted(
        "train", "tag", large, "--model", model, "--max-iter", "1000000000", "--algorithm", algorithm, *tol,
        "--json", "--save-state", trace=trace, lines=3,
    )  # fmt: skip
    assert "interrupted" in done.stderr
    assert str(model) in done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("memory: ")]
    assert len(said) == 1
    summary = last_json(done)
    assert summary["stopped"] == "interrupted"
    assert summary["gap"] is None
    assert summary["iterations"] == len(json_lines(trace)) - 1
    assert summary["iterations"] >= 2
    tagger = Tagger.load(model)
    assert tagger.certificate is None
    assert tagger.settings["stopped"] == "interrupted"
    assert np.count_nonzero(tagger.weights) == summary["nonzero"] > 0
    assert names_in(tmp_path) == ["m", "trace"]
    assert last_json(run("evaluate", model, large, "--json"))["scores"]["accuracy"] > 0.7
    assert "interrupted" in run("inspect", model).stdout


#: Runs the program with Ctrl-C pressed, once or more often, before the first call of a function of the library.
PRESSED = """
import signal, sys
import marginloom.cli
from marginloom{package} import {module}
original = {module}.{name}
left = [{presses}]
def press(*arguments, **options):
    while left[0] > 0:
        left[0] -= 1
        signal.raise_signal(signal.SIGINT)
    return original(*arguments, **options)
{module}.{name} = press
sys.argv[0] = "marginloom"
marginloom.cli.main()
"""


def pressed(function, corpus, model, *options, presses=1):
    package, module, name = function.split(":")
    script = PRESSED.format(package=package, module=module, name=name, presses=presses)
    files = ("train", "tag", corpus / "train.conll", "--dev", corpus / "dev.conll", "--model", model)
    arguments = (*files, "--max-iter", "3", "--tol", "1e-12", "--json", *options)
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("algorithm", ["ms-dcd", "averaged-perceptron"])
@pytest.mark.parametrize(
    ("function", "passes"),
    [
        (":training:Run._iterate", 1),
        (":training:Run.finish", 3),
        (":trace:Trace.close", 3),
        (":callbacks:ProgressBar.before_training", 0),
        (":callbacks:ProgressBar.after_iteration", 1),
        (":callbacks:ProgressBar.after_training", 3),
        (":tagging:TaggingEvaluator.__call__", 1),
        (":tagging:Tagger.save", 3),
        (":tagging:Tagger.scores", 3),
    ],
)
def test_model_is_saved_wherever_ctrl_c_falls(corpus, tmp_path, algorithm, function, passes):
    model = tmp_path / "m"
    done = pressed(function, corpus, model, "--algorithm", algorithm, "--threads", "2")
    assert f"interrupted after {passes} passes; the model in {model} is usable" in done.stderr
    assert last_json(done)["iterations"] == passes
    assert Tagger.load(model).settings["iterations"] == passes


def test_second_ctrl_c_while_saving_leaves_no_file(corpus, tmp_path):
    done = pressed(":tagging:Tagger.save", corpus, tmp_path / "m", presses=2)
    assert done.stderr.splitlines()[-1] == "marginloom: interrupted"
    assert names_in(tmp_path) == []


def test_second_ctrl_c_while_training_still_saves_the_model(corpus, tmp_path):
    done = pressed(":tagging:TaggingEvaluator.__call__", corpus, tmp_path / "m", presses=2)
    assert "interrupted after 1 passes" in done.stderr
    assert Tagger.load(tmp_path / "m").settings["iterations"] == 1


def test_ctrl_c_before_training_ends_the_program_with_a_word(corpus, tmp_path):
    done = pressed(".cli:tag:read_corpus", corpus, tmp_path / "m")
    assert done.stderr == "marginloom: interrupted\n"
    assert names_in(tmp_path) == []


def test_interrupted_training_can_be_continued(large, tmp_path):
    model, trace = tmp_path / "m", tmp_path / "trace"
    interrupted(
        "train", "tag", large, "--model", model, "--max-iter", "1000000000", "--tol", "1e-300", "--save-state",
        trace=trace, lines=6,
    )  # fmt: skip
    reached = json_lines(trace)[-1]["dual"]
    done = run("train", "tag", large, "--model", tmp_path / "rest", "--warm-start", model, "--max-iter", "1", "--json")
    assert last_json(done)["dual"] >= reached * (1 - 1e-9)


def test_second_interruption_does_no_harm(large, tmp_path):
    """A user who is impatient gets either the model or nothing, never half a file."""
    model, trace = tmp_path / "m", tmp_path / "trace"
    process = start(
        "train", "tag", large, "--model", model, "--max-iter", "1000000000", "--tol", "1e-300", "--trace", trace
    )
    try:
        wait_for_lines(process, trace, 3)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert set(names_in(tmp_path)) <= {"m", "trace"}
    if model.exists():
        Tagger.load(model)
