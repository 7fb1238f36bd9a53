"""The real program, run as users run it, and files to run it on."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.launcher import Launcher

PROGRAM = Path(sys.executable).with_name("marginloom")
TIMEOUT = 120
TRAINING_SENTENCES = 120
#: For parsers that are trained within a second.
QUICK_PARSER = ["--hash-bits", "12", "--max-iter", "3", "--C", "0.01", "--tol", "0.5", "--quiet"]


def environment():
    """Return the environment without what would change the program's output, and what each test changes."""
    left_out = ("MARGINLOOM_TRACEBACK", "PYTEST_CURRENT_TEST")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _read_at_the_start():
    """Return what a process reads of the environment as it starts, and never again."""
    names = ("MARGINLOOM_", "PYTHON", "LANG", "LC_")
    return {name: value for name, value in environment().items() if name.startswith(names)}


AT_THE_START = _read_at_the_start()  # before a test changes it
_launcher = functools.cache(Launcher)


def run(*arguments, code=0, stdin=b"", cwd=None, on_one_core=False):
    """Run the program, check its exit code and that it shows no traceback, and return what it said."""
    arguments = [os.fspath(argument) for argument in arguments]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        given.write(stdin)
        given.seek(0)
        streams = (given, out, error)
        if _read_at_the_start() == AT_THE_START:
            options = {"environment": environment(), "cwd": os.fspath(cwd or Path.cwd()), "on_one_core": on_one_core}
            ended = _launcher().run(arguments, streams, options, timeout=TIMEOUT)
        else:
            assert not on_one_core
            stdin, stdout, stderr = streams
            ended = subprocess.run(
                [PROGRAM, *arguments], stdin=stdin, stdout=stdout, stderr=stderr, timeout=TIMEOUT, cwd=cwd,
                env=environment(), check=False,
            ).returncode  # fmt: skip
        said = [_all_of(stream) for stream in (out, error)]
    done = subprocess.CompletedProcess(arguments, ended, *said)
    assert done.returncode == code, f"exit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
    for word in ("Traceback", "this is a bug"):
        assert word not in done.stderr
    return done


def _all_of(file):
    file.seek(0)
    return file.read().decode()


def fails(*arguments, stdin=b"", cwd=None):
    """Run the program, expect failure told in one line and nothing on standard output; return that line."""
    done = run(*arguments, code=1, stdin=stdin, cwd=cwd)
    assert done.stdout == ""
    assert done.stderr.startswith("marginloom: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.rstrip("\n")


def refuses(*arguments, **options):
    """Run the program, expect that it does not accept the arguments; return what it said, in one line."""
    done = run(*arguments, code=2, **options)
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def start(*arguments, **options):
    """Start the program with pipes."""
    return subprocess.Popen(
        [PROGRAM, *map(os.fspath, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        **options,
    )


def wait_for_lines(process, trace, count):
    """Wait until a process has written so many lines into a file."""
    deadline = time.monotonic() + TIMEOUT
    while not trace.exists() or trace.read_text().count("\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline


def last_json(done):
    """Return the JSON object of the last line, which nothing may follow."""
    assert done.stdout.endswith("\n")
    return json.loads(done.stdout.splitlines()[-1])


def json_lines(path):
    """Return the objects of a JSON-lines file."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def names_in(folder):
    """Return the names in a folder, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())


def column(text, number):
    """Return a column (from 0) of text in CoNLL columns, a list per sentence."""
    blocks = text.strip("\n").split("\n\n")
    return [[line.split()[number] for line in block.split("\n")] for block in blocks]


def conllu(words, tags, *, comments=False):
    """Return sentences as CoNLL-U, optionally with comments, a range and an empty node in each."""
    lines = []
    for number, (sentence, labels) in enumerate(zip(words, tags, strict=True)):
        if comments:
            lines += [f"# sent_id = {number}", "# text = " + " ".join(sentence)]
            lines.append("\t".join(["1-2", "".join(sentence[:2]), *["_"] * 8]))
        for place, (word, label) in enumerate(zip(sentence, labels, strict=True), start=1):
            lines.append("\t".join([str(place), word, word.lower(), label, "_", "_", "0", "dep", "_", "_"]))
        if comments:
            lines.append("\t".join([f"{len(sentence)}.1", "empty", *["_"] * 8]))
        lines.append("")
    return "\n".join(lines) + "\n"
