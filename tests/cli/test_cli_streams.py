"""Standard streams that are closed, full or read by nobody are told in one line, or do not matter."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import PROGRAM, TIMEOUT, environment, fails, names_in

BUG = ("this is a bug", "Traceback", "Exception ignored", "Errno")
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")


def shell(*arguments, redirect, code, **variables):
    """Run the program from a shell, which can close its streams, and return what it said."""
    command = f"{shlex.join(map(os.fspath, [PROGRAM, *arguments]))} {redirect}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**environment(), **variables},
        check=False,
    )
    assert done.returncode == code, done.stderr
    for word in BUG:
        assert word not in done.stderr
    return done


def one_line(done):
    assert done.stderr.startswith("marginloom: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("command", ["predict", "inspect", "evaluate"])
def test_closed_output_is_told(corpus, model, command):
    inputs = [] if command == "inspect" else [corpus / "dev.conll"]
    said = one_line(shell(command, model, *inputs, redirect=">&-", code=1))
    assert "standard output: it is closed" in said


@needs_full_device
@pytest.mark.parametrize("command", [["predict"], ["inspect"], ["evaluate"], ["algorithms"], ["--help"]], ids=" ".join)
def test_full_output_is_told(corpus, model, command):
    inputs = {"predict": [model, corpus / "dev.conll"], "evaluate": [model, corpus / "dev.conll"], "inspect": [model]}
    said = one_line(shell(*command, *inputs.get(command[0], []), redirect=">/dev/full", code=1))
    assert "standard output: the system says 'No space left on device'" in said


def test_closed_input_is_told(model):
    said = one_line(shell("predict", model, "-", redirect="<&-", code=1))
    assert "standard input: it is closed" in said


def test_input_that_cannot_be_read_is_told(model, tmp_path):
    one_line(shell("predict", model, "-", redirect=f"0>{tmp_path / 'x'}", code=1))


def test_error_does_not_go_to_the_output_where_the_error_stream_is_closed(tmp_path):
    assert shell("inspect", tmp_path / "gone", redirect="2>&-", code=1).stdout == ""


@needs_full_device
def test_failure_keeps_its_exit_code_where_the_error_stream_is_full(tmp_path):
    shell("inspect", tmp_path / "gone", redirect="2>/dev/full", code=1)
    shell("nonsense", redirect="2>/dev/full", code=2)


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full", ">&- 2>&- <&-"])
def test_training_goes_on_where_nobody_hears(corpus, tmp_path, redirect):
    if "/dev/full" in redirect and not Path("/dev/full").exists():
        pytest.skip("there is no full device here")
    quiet = ["--quiet"] if ">&- 2" in redirect else []
    model = tmp_path / "m"
    shell("train", "tag", corpus / "dev.conll", "--model", model, *quiet, redirect=redirect, code=0)
    assert names_in(tmp_path) == ["m"]
    shell("inspect", model, redirect="", code=0)


def test_files_are_whole_where_all_streams_are_closed(corpus, model, tmp_path):
    """A closed stream's number must not become that of a file, into which messages would go."""
    shell("predict", model, corpus / "dev.conll", "-o", tmp_path / "closed", redirect=">&- 2>&- <&-", code=0)
    shell("predict", model, corpus / "dev.conll", "-o", tmp_path / "open", redirect="", code=0)
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "open").read_bytes()


@pytest.mark.parametrize("command", ["predict", "inspect"])
def test_reader_that_has_had_enough_is_no_error(corpus, model, command):
    inputs = [] if command == "inspect" else [corpus / "dev.conll"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, command, model, *inputs], stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_letters_that_the_output_cannot_show_are_shown_by_number(tmp_path):
    (tmp_path / "t.conll").write_text("é\tß\nb\tB\n", encoding="utf-8")
    shell("train", "tag", tmp_path / "t.conll", "--model", tmp_path / "m", redirect="", code=0)
    done = shell("inspect", tmp_path / "m", redirect="", code=0, PYTHONIOENCODING="ascii")
    assert "\\xdf" in done.stdout


def test_unknown_instruction_set_is_told(monkeypatch):
    monkeypatch.setenv("MARGINLOOM_SIMD", "abacus")
    said = fails("--version")
    for part in ("MARGINLOOM_SIMD is 'abacus'", "baseline", "unset it"):
        assert part in said


def test_real_bug_is_still_called_one():
    """Otherwise nobody would hear of it."""
    script = """
import marginloom.cli.inspect as inspect, marginloom.cli as cli
inspect.open_model = None
raise SystemExit(cli.run(["inspect", "x"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert "this is a bug" in done.stderr
