"""Ctrl-C while files are read and features are made is heard within the work, not after it."""

import _thread
import gc
import operator
from functools import partial

import numpy as np
import pytest

from marginloom import _core
from marginloom.io import files
from marginloom.io.model import checksum
from marginloom.tasks.base.model import _PART, strongest_places

LINES = 4_000_000  # take much longer than the 50 ms after which work looks for signals


def interrupted(work):
    """Call native work while Ctrl-C is pending, and return the exception that ends it.

    The two calls follow each other in C: the interpreter, which would look for signals, has no turn in between, nor
    in a function that others want called when garbage is collected, as hypothesis does.
    """
    gc.disable()
    try:
        with pytest.raises(KeyboardInterrupt) as ended:
            list(map(operator.call, [_thread.interrupt_main, work]))
    finally:
        gc.enable()
    return ended.value


# What is wrong at the end of the text would be found by work that went on, and be the context of the interruption.
@pytest.mark.parametrize(
    "work",
    [
        partial(_core.parse_libsvm, b"1 1:1 2:2 3:3\n" * LINES + b"1 x\n", "file", 1),
        partial(_core.ColumnTable, b"word X\n" * LINES + b"too many columns\n", False, "file", 1, 0),
        partial(_core.AttributeTable, b"X\ta:1\tb:2\n" * LINES + b"X\ta:x\n", "file", 1),
        partial(_core.Vocabulary().encode_strings, ["a"] * LINES + [None], True),
        partial(_core.Vocabulary().encode_tokens, [[["a"]]] * LINES + [[[None]]], True, b"\xff"),
        partial(_core.RowTable, [["a"]] * LINES + [[None]]),
    ],
    ids=["LIBSVM", "columns", "attributes", "strings", "tokens", "rows"],
)
def test_native_work_on_text_ends_at_ctrl_c(work):
    assert interrupted(work).__context__ is None


@pytest.mark.parametrize("method", ["learn", "encode", "hash"])
def test_extraction_ends_at_ctrl_c(method):
    table = _core.ColumnTable(b"a X\n\n" * LINES, False, "file", 1, 0)
    extractor = _core.Extractor("word[0]\nword[1]\n", False, 0, None, {}, _core.Vocabulary(), [], [])
    vocabulary = _core.Vocabulary()
    arguments = {"learn": (vocabulary, 1), "encode": (vocabulary, 1), "hash": (5, 1)}[method]
    interrupted(partial(getattr(extractor, method), table, *arguments))
    assert len(vocabulary) == 0  # nothing was put together


def test_a_file_is_read_in_pieces(monkeypatch, tmp_path):
    sizes = []

    class Stream:
        def close(self):
            pass

        def read(self, size=-1):
            sizes.append(size)
            return b"x" if len(sizes) < 4 else b""

    monkeypatch.setattr(files, "_open_stream", lambda name: Stream())
    assert files.read_bytes(tmp_path / "file") == b"xxx"
    assert len(sizes) == 4
    assert all(0 < size <= 1 << 24 for size in sizes)


def test_checksums_do_not_depend_on_parts(monkeypatch):
    array = np.arange(1000.0)
    whole = checksum(array)
    monkeypatch.setattr("marginloom.io.model._PART_BYTES", 7)
    assert checksum(array) == whole
    assert checksum(np.zeros(0)) == 0


def test_the_strongest_weights_do_not_depend_on_parts(monkeypatch):
    weights = np.random.default_rng(3).integers(-9, 10, size=500).astype(float)
    whole = strongest_places(weights, 20)
    assert weights.size < _PART
    monkeypatch.setattr("marginloom.tasks.base.model._PART", 7)
    assert strongest_places(weights, 20) == whole
    assert whole == np.argsort(-np.abs(weights), kind="stable")[:20].tolist()
