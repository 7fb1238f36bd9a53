"""Ctrl-C, and the signals of batch systems and terminals, end training with a usable model, and say so."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support.full_disk import FULL, needs_full_device
from support.pairs import tolerance
from support.program import PROGRAM, TIMEOUT, environment, json_lines, last_json, names_in, run, start, wait_for_lines

from marginloom.cli import _exit_code
from marginloom.tasks.parse.datasets import write_conllu
from marginloom.tasks.parse.model import ParseModel
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.training.checkpoint import FILE_NAME, Snapshot


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "train.conll"
    write_conll(path, *make_tagging(1500, seed=4))
    return path


FOREVER = ["--max-iter", "1000000000", "--tol", "1e-300"]
#: What ends the program, with its exit code.
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def interrupted(*arguments, trace, lines, by=(signal.SIGINT, 130), cwd=None):
    number, code = by
    process = start(*arguments, "--trace", trace, cwd=cwd)
    try:
        wait_for_lines(process, trace, lines)
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == code, err
    return subprocess.CompletedProcess([], code, out.decode(), err.decode())


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
    tagger = SequenceModel.load(model)
    assert tagger.certificate is None
    assert tagger.settings["stopped"] == "interrupted"
    assert np.count_nonzero(tagger.weights) == summary["nonzero"] > 0
    assert names_in(tmp_path) == ["m", "trace"]
    assert last_json(run("evaluate", model, large, "--json"))["scores"]["accuracy"] > 0.7
    assert "interrupted" in run("inspect", model).stdout


@pytest.mark.parametrize("by", SIGNALS)
def test_every_signal_leaves_checkpoint_and_model_and_no_other_file(large, tmp_path, by):
    done = interrupted(
        "train", "tag", large, "--model", tmp_path / "m", *FOREVER, "--json", "--checkpoint", tmp_path / "run",
        trace=tmp_path / "trace", lines=4, by=by,
    )  # fmt: skip
    assert f"interrupted after {last_json(done)['iterations']} pass" in done.stderr
    passes = Snapshot.load(tmp_path / "run" / FILE_NAME).progress["iteration"]
    assert f"--resume goes on after pass {passes}\n" in done.stderr
    assert names_in(tmp_path) == ["m", "run", "trace"]
    assert names_in(tmp_path / "run") == [FILE_NAME]
    assert SequenceModel.load(tmp_path / "m").settings["stopped"] == "interrupted"
    assert passes >= 3


@pytest.mark.parametrize("by", SIGNALS)
def test_model_that_is_there_is_kept_by_an_interruption(large, tmp_path, by):
    (tmp_path / "m").write_text("of an earlier run")
    (tmp_path / "m.interrupted").write_text("of an earlier interruption")
    done = interrupted("train", "tag", large, "--model", "m", *FOREVER, trace=tmp_path / "trace", lines=3, by=by,
                       cwd=tmp_path)  # fmt: skip
    assert "the model in m.interrupted is usable, but not certified; m is left as it was" in done.stderr
    assert "model  m.interrupted\n" in done.stdout
    assert (tmp_path / "m").read_text() == "of an earlier run"
    assert SequenceModel.load(tmp_path / "m.interrupted").settings["stopped"] == "interrupted"
    assert names_in(tmp_path) == ["m", "m.interrupted", "trace"]


def test_device_that_is_there_has_nothing_to_keep(large, tmp_path):
    done = interrupted("train", "tag", large, "--model", "/dev/null", *FOREVER, trace=tmp_path / "trace", lines=3)
    assert "the model in /dev/null is usable" in done.stderr


@needs_full_device
def test_interrupted_model_that_cannot_be_written_goes_elsewhere(large, tmp_path):
    done = interrupted("train", "tag", large, "--model", FULL, *FOREVER, trace=tmp_path / "trace", lines=3,
                       by=(signal.SIGTERM, 1), cwd=tmp_path)  # fmt: skip
    assert done.stderr.splitlines()[-1].endswith(f"the model is in '{tmp_path / 'full'}' instead")
    assert SequenceModel.load(tmp_path / "full").settings["stopped"] == "interrupted"


def test_ignored_hangup_stays_ignored(large, tmp_path):
    """As under nohup."""
    trace = tmp_path / "trace"
    process = start("train", "tag", large, "--model", tmp_path / "m", *FOREVER, "--trace", trace,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    try:
        wait_for_lines(process, trace, 3)
        process.send_signal(signal.SIGHUP)
        wait_for_lines(process, trace, trace.read_text().count("\n") + 3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 143
    SequenceModel.load(tmp_path / "m")


def test_closed_terminal_does_not_cost_the_model(large, tmp_path):
    """It sends SIGHUP, and then takes no more output."""
    trace = tmp_path / "trace"
    master, slave = os.openpty()
    process = subprocess.Popen(
        [PROGRAM, "train", "tag", large, "--model", tmp_path / "m", *FOREVER, "--trace", trace],
        stdin=slave, stdout=slave, stderr=slave, env=environment(), start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    try:
        os.close(slave)
        os.set_blocking(master, False)
        while not trace.exists() or trace.read_text().count("\n") < 3:
            with suppress(BlockingIOError):
                os.read(master, 1 << 16)  # a terminal that nobody reads takes no more, either
            assert process.poll() is None
        os.close(master)
        process.wait(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 129
    assert SequenceModel.load(tmp_path / "m").settings["stopped"] == "interrupted"
    assert names_in(tmp_path) == ["m", "trace"]


#: Runs the program with a signal raised, once or more often, before the first call of a function of the library.
PRESSED = """
import signal, sys
import marginloom.cli
from marginloom{package} import {module}
original = {module}.{name}
left = [{presses}]
def press(*arguments, **options):
    while left[0] > 0:
        left[0] -= 1
        signal.raise_signal({number})
    return original(*arguments, **options)
{module}.{name} = press
sys.argv[0] = "marginloom"
marginloom.cli.main()
"""


def pressed_in(function, *arguments, presses=1, by=(signal.SIGINT, 130)):
    package, module, name = function.split(":")
    number, code = by
    script = PRESSED.format(package=package, module=module, name=name, presses=presses, number=int(number))
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def pressed(function, corpus, model, *options, algorithm="dcd-ssvm", **how):
    files = ("train", "tag", corpus / "train.conll", "--dev", corpus / "dev.conll", "--model", model)
    limits = ("--max-iter", "3", *tolerance(algorithm, 1e-12))
    return pressed_in(function, *files, "--algorithm", algorithm, *limits, "--json", *options, **how)


@pytest.mark.parametrize("algorithm", ["ms-dcd", "averaged-perceptron"])
@pytest.mark.parametrize(
    ("function", "passes"),
    [
        (".training:run:Run._iterate", {0, 1}),  # whether the first pass hears of it before its end
        (".training:run:Run.finish", {3}),
        (".training:trace:Trace.close", {3}),
        (".training:callbacks:ProgressBar.before_training", {0}),
        (".training:callbacks:ProgressBar.after_iteration", {1}),
        (".training:callbacks:ProgressBar.after_training", {3}),
        (".tasks.sequence:model:SequenceEvaluator.__call__", {1}),
        (".tasks.sequence:model:SequenceModel.save", {3}),
        (".tasks.sequence:model:SequenceEvaluator.report", {3}),
    ],
)
def test_model_is_saved_wherever_ctrl_c_falls(corpus, tmp_path, algorithm, function, passes):
    model = tmp_path / "m"
    done = pressed(function, corpus, model, "--threads", "2", algorithm=algorithm)
    iterations = last_json(done)["iterations"]
    assert iterations in passes
    made = "1 pass" if iterations == 1 else f"{iterations} passes"
    assert f"interrupted after {made}; the model in {model} is usable" in done.stderr
    assert SequenceModel.load(model).settings["iterations"] == iterations


@pytest.mark.parametrize("by", SIGNALS)
def test_first_signal_while_saving_lets_it_end(corpus, tmp_path, by):
    (tmp_path / "m").write_text("of an earlier run")
    done = pressed(".io:files:os.fsync", corpus, tmp_path / "m", by=by)
    assert f"the model in {tmp_path / 'm'} is usable" in done.stderr  # training had ended before
    assert SequenceModel.load(tmp_path / "m").settings["stopped"] == "iterations"
    assert names_in(tmp_path) == ["m"]


@pytest.mark.parametrize(
    ("function", "by"),
    [*((".tasks.sequence:model:SequenceModel.save", by) for by in SIGNALS), (".io:files:os.fsync", SIGNALS[1])],
)
def test_second_signal_while_saving_leaves_no_file(corpus, tmp_path, function, by):
    done = pressed(function, corpus, tmp_path / "m", presses=2, by=by)
    assert done.stderr.splitlines()[-1] == "marginloom: interrupted"
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("by", SIGNALS)
def test_second_signal_while_training_still_saves_the_model(corpus, tmp_path, by):
    done = pressed(".tasks.sequence:model:SequenceEvaluator.__call__", corpus, tmp_path / "m", presses=2, by=by)
    assert "interrupted after 1 pass;" in done.stderr
    assert SequenceModel.load(tmp_path / "m").settings["iterations"] == 1


@pytest.mark.parametrize("function", [".training:run:Run.state", ".training:run:Run.finish"])
@pytest.mark.parametrize("by", SIGNALS)
def test_second_signal_between_training_and_saving_still_saves_the_model(corpus, tmp_path, function, by):
    done = pressed(function, corpus, tmp_path / "m", "--save-state", presses=3, by=by)
    assert f"interrupted after 3 passes; the model in {tmp_path / 'm'} is usable" in done.stderr
    assert SequenceModel.load(tmp_path / "m").settings["iterations"] == 3


@pytest.mark.parametrize("by", SIGNALS)
def test_signal_before_training_ends_the_program_with_a_word(corpus, tmp_path, by):
    done = pressed(
        ".tasks.sequence:commands:read_corpus", corpus, tmp_path / "m", "--checkpoint", tmp_path / "run", by=by
    )
    assert done.stderr == "marginloom: interrupted\n"
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("function", "presses", "by"),
    [
        *((".tasks.sequence:model:SequenceModel.predict", 1, by) for by in SIGNALS),
        (".io:files:os.fsync", 1, SIGNALS[1]),
        (".io:files:os.fsync", 2, SIGNALS[1]),
    ],
)
def test_interrupted_prediction_leaves_no_file(corpus, model, tmp_path, function, presses, by):
    (tmp_path / "out").write_text("of an earlier run")
    arguments = ("predict", model, corpus / "dev.conll", "-o", tmp_path / "out")
    done = pressed_in(function, *arguments, by=by, presses=presses)
    assert done.stderr == "marginloom: interrupted\n"
    assert names_in(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "of an earlier run"


@pytest.mark.parametrize("by", SIGNALS)
def test_interrupted_evaluation_ends_with_a_word(corpus, model, by):
    done = pressed_in(".tasks.sequence:commands:read_corpus", "evaluate", model, corpus / "dev.conll", by=by)
    assert done.stderr == "marginloom: interrupted\n"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not show threads")
def test_signals_go_to_the_main_thread_alone(model):
    """Of two that come together Python would forget both if the second one went to a thread of numpy's."""
    process = start("predict", model, "-")
    try:
        process.stdin.write(b"the\n\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"the DET\n"
        threads = {path.name: (path / "status").read_text() for path in Path(f"/proc/{process.pid}/task").iterdir()}
        blocked = {name: int(re.search(r"^SigBlk:\s*(\w+)", text, re.M)[1], 16) for name, text in threads.items()}
        wanted = sum(1 << (number - 1) for number, _ in SIGNALS)
        assert blocked.pop(str(process.pid)) & wanted == 0
        assert all(mask & wanted == wanted for mask in blocked.values())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("by", SIGNALS)
def test_prediction_that_waits_for_input_ends_at_once(model, tmp_path, by):
    number, code = by
    process = start("predict", model, "-", "-o", tmp_path / "out")
    try:
        deadline = time.monotonic() + TIMEOUT
        while not names_in(tmp_path):  # the output has its temporary name
            assert process.poll() is None
            assert time.monotonic() < deadline
        process.send_signal(number)
        process.wait(timeout=TIMEOUT)  # its input stays open
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == code
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
        SequenceModel.load(model)


#: Words whose search takes many seconds, and took many minutes in trees that need not be projective.
LONG_SENTENCE = 1800


@pytest.fixture(scope="module")
def long_sentence(tmp_path_factory):
    """A treebank of a few words and of a sentence that is no sentence."""
    path = tmp_path_factory.mktemp("long") / "train.conllu"
    words = [(f"w{k % 40}", f"T{k % 6}") for k in range(LONG_SENTENCE)]
    write_conllu(path, [words[:3], words], [[0, 1, 2], list(range(LONG_SENTENCE))])
    return path


def parse(treebank, model, *options):
    return (
        "train",
        "parse",
        treebank,
        "--model",
        model,
        "--order",
        "2",
        "--hash-bits",
        "10",
        *options,
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_one_long_search_hears_a_signal(long_sentence, tmp_path, algorithm, threads):
    options = ("--algorithm", algorithm, "--threads", threads, "--non-projective", "--json")
    options += tuple(tolerance(algorithm, 1e-12))
    done = pressed_in(".training:run:Run._iterate", *parse(long_sentence, tmp_path / "m", *options), by=SIGNALS[1])
    assert f"interrupted after 0 passes; the model in {tmp_path / 'm'} is usable, but not certified" in done.stderr
    assert last_json(done)["inferences"] < 2  # of the long sentence none
    assert ParseModel.load(tmp_path / "m").settings["stopped"] == "interrupted"
    assert names_in(tmp_path) == ["m"]


def test_certificate_that_is_interrupted_within_a_search_costs_nothing_and_proves_nothing(tmp_path):
    treebank = tmp_path / "train.conllu"
    words = [(f"w{k % 40}", f"T{k % 6}") for k in range(700)]
    write_conllu(treebank, [words[:3], words], [[0, 1, 2], list(range(700))])
    (tmp_path / "m").write_text("of an earlier run")
    done = pressed_in(".training:run:Run._certify", *parse(treebank, tmp_path / "m", "--max-iter", "1"), by=SIGNALS[1])
    kept = tmp_path / "m.interrupted"
    assert f"interrupted after 1 pass; the model in {kept} is usable, but not certified" in done.stderr
    assert ParseModel.load(kept).certificate is None
    assert (tmp_path / "m").read_text() == "of an earlier run"
    assert names_in(tmp_path) == ["m", "m.interrupted", "train.conllu"]


@pytest.mark.parametrize("by", SIGNALS)
def test_second_signal_while_a_checkpoint_is_written_loses_neither_it_nor_the_model(corpus, tmp_path, by):
    options = ("--checkpoint", tmp_path / "run", "--checkpoint-interval", "0")
    done = pressed(".io:files:os.fsync", corpus, tmp_path / "m", *options, presses=2, by=by)
    assert f"interrupted after 1 pass; the model in {tmp_path / 'm'} is usable" in done.stderr
    assert SequenceModel.load(tmp_path / "m").settings["iterations"] == 1
    assert names_in(tmp_path / "run") == [FILE_NAME]
    passes = Snapshot.load(tmp_path / "run" / FILE_NAME).progress["iteration"]
    assert f"--resume goes on after pass {passes}\n" in done.stderr


def test_checkpoint_of_an_interrupted_certificate_is_that_of_the_pass_before(corpus, tmp_path):
    """The run that goes on makes the pass and its certificate again, to the same bits."""
    options = ("--checkpoint", tmp_path / "run", "--checkpoint-interval", "0", "--algorithm", "dcd-ssvm")
    files = ("train", "tag", corpus / "train.conll", *options, "--max-iter", "30", "--tol", "0.05")
    expected = tmp_path / "expected"
    passes = last_json(run(*files, "--model", expected, "--json"))["iterations"]
    done = pressed_in(".training:run:Run._certify", *files, "--model", tmp_path / "m", presses=2)
    assert re.search(r"interrupted after (\d+) passes", done.stderr)[1] == str(passes)
    assert f"--resume goes on after pass {passes - 1}\n" in done.stderr
    run(*files, "--model", tmp_path / "again", "--resume")
    assert (tmp_path / "again").read_bytes() == expected.read_bytes()


def test_interruption_of_an_import_is_told_as_one(capsys):
    """Python reports it as the error of a class that was being made."""

    def import_something():
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    assert _exit_code(import_something) == 130
    assert capsys.readouterr().err == "marginloom: interrupted\n"


def test_library_that_does_not_fit_into_memory_is_no_bug(capsys):
    def import_something():
        raise ImportError("libdense.so: failed to map segment from shared object")

    assert _exit_code(import_something) == 1
    assert capsys.readouterr().err == (
        "marginloom: there is not enough memory to start the program; allow more, see ulimit -v\n"
    )
