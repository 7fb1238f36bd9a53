"""Lines of JSON: whole ones only, also on a full disk, and in files that nothing can be changed in."""

import json
import os

import pytest
from support.full_disk import FULL, files_end_at, needs_full_device

from marginloom.errors import OutputError, OutputWarning
from marginloom.io.json_lines import JsonLines


def write(path, rows, last=None):
    """Write rows, and change the last one."""
    lines = JsonLines(path)
    for row in rows:
        lines.append({"row": row})
    if last is not None:
        lines.replace_last({"row": last})
    lines.close()


def test_last_line_can_change_and_others_follow(tmp_path):
    path = tmp_path / "lines"
    path.write_text("something longer that was there before\n" * 9)
    lines = JsonLines(path)
    lines.append({"a": 1})
    lines.append({"b": "long" * 100})
    lines.replace_last({"b": 2})
    lines.append({"c": 3})
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n{"c": 3}\n'  # before it is closed
    lines.close()
    lines.append({"d": 4})
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n{"c": 3}\n'


def test_pipe_gets_the_last_line_as_it_is_in_the_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    lines = JsonLines(path)
    for number in range(3):
        lines.append({"row": number})
    assert os.read(reader, 1000) == b'{"row": 0}\n{"row": 1}\n'
    lines.replace_last({"row": "last"})
    lines.close()
    assert os.read(reader, 1000) == b'{"row": "last"}\n'
    os.close(reader)


def test_full_disk_ends_the_file_after_a_whole_line_with_one_warning(tmp_path):
    path = tmp_path / "lines"
    with files_end_at(100), pytest.warns(OutputWarning) as caught:
        write(path, range(20), "last")
    assert len(caught) == 1
    assert str(path) in str(caught[0].message)
    assert [json.loads(line)["row"] for line in path.read_text().splitlines()] == list(range(9))


def test_last_line_that_has_no_room_for_its_change_is_left_out(tmp_path):
    path = tmp_path / "lines"
    with files_end_at(30), pytest.warns(OutputWarning, match="free some space"):
        write(path, [1, 2], "much longer than it was")
    assert path.read_text() == '{"row": 1}\n'


def test_file_that_cannot_be_made_is_an_error_unless_the_disk_is_full(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="No such file"):
        JsonLines(tmp_path / "missing" / "lines")

    def no_room(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", no_room)
    with pytest.warns(OutputWarning, match="No space left"):
        lines = JsonLines(tmp_path / "lines")
    lines.append({"row": 1})
    lines.replace_last({"row": 2})
    lines.close()


@needs_full_device
def test_device_without_room_is_told_once():
    with pytest.warns(OutputWarning, match="/dev/full") as caught:
        write(FULL, range(3))
    assert len(caught) == 1
