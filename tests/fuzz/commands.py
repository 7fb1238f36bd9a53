"""The program within this process, which is fast, and as a real one."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from unittest import mock

from fuzz.contract import ACCEPTED, REFUSED, check_message
from marginloom.cli import run

FORBIDDEN = ("Traceback", "this is a bug", "Exception ignored", "not enough memory", "Segmentation", r"\udc")


class _Input(io.TextIOWrapper):
    def __init__(self, content):
        super().__init__(io.BytesIO(content), encoding="utf-8")


def run_here(arguments, stdin=b""):
    """Run a command line in this process; return its exit code, output and messages."""
    out, messages = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    with (
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", messages),
        mock.patch.object(sys, "stdin", _Input(stdin)),
    ):
        code = run([os.fspath(argument) for argument in arguments])
    texts = []
    for stream in (out, messages):
        stream.flush()
        texts.append(stream.detach().getvalue())
    return code, texts[0], texts[1].decode()


def check_run(code, messages):
    """Check what the exit code promises, and return the outcome."""
    for word in FORBIDDEN:
        assert word not in messages, messages
    assert code in (0, 1, 2), f"exit code {code}: {messages}"
    if code == 1:
        told = [line for line in messages.splitlines() if re.match("marginloom: (?!warning: )", line)]
        assert len(told) == 1, messages
        assert messages.rstrip("\n").endswith(told[0]), messages
        check_message(told[0])
    return ACCEPTED if code == 0 else REFUSED


def checked_command(arguments, *, output=None, stdin=b"", runner=run_here):
    """Run a command line and check its promises; `output` is a file that must be there exactly if it succeeds."""
    folder = Path(output).parent if output is not None else None
    before = _content(folder)
    code, _, messages = runner(arguments, stdin)
    result = check_run(code, messages)
    if folder is not None:
        after = _content(folder)
        written = {path: content for path, content in after.items() if before.get(path) != content}
        gone = before.keys() - after.keys()
        assert not gone, f"lost: {gone}"
        if code == 0:
            assert Path(output) in after, "no output was written"
            written.pop(Path(output), None)
        assert not written, f"exit code {code}, and these were written: {sorted(map(str, written))}"
    return result


def _content(folder):
    if folder is None or not folder.exists():
        return {}
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
