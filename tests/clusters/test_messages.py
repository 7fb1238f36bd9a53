"""Messages hold what was put into them, and nothing else is taken for one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from marginloom.clusters.messages import packed, reason_of, unpacked
from marginloom.errors import InputError, PartError

ARRAYS = some.dictionaries(
    some.text(max_size=5),
    some.one_of(*(arrays(kind, some.integers(0, 9), elements=some.integers(0, 200)) for kind in ("f8", "u8", "u1"))),
    max_size=4,
)


@given(ARRAYS, some.integers(0, 7))
def test_what_is_packed_is_unpacked(given, shift):
    message = packed({"question": "search"}, given)
    moved = np.frombuffer(bytes(shift) + message.tobytes(), dtype=np.uint8)[shift:]  # as it may come from a socket
    header, found = unpacked(moved)
    assert header == {"question": "search"}
    assert list(found) == list(given)
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()
        assert found[name].flags.aligned


MESSAGE = packed({}, {"a": np.ones(3), "b": np.arange(5, dtype=np.uint8)})


@given(some.integers(0, MESSAGE.size - 1))
def test_a_message_that_was_cut_is_none(size):
    with pytest.raises(PartError, match="damaged"):
        unpacked(MESSAGE[:size])


@given(some.integers(0, MESSAGE.size - 1), some.integers(1, 255))
def test_a_message_with_another_byte_is_an_error_or_another_message(place, change):
    spoiled = MESSAGE.copy()
    spoiled[place] ^= change
    try:
        _, found = unpacked(spoiled)
    except PartError:
        return
    assert sum(array.nbytes for array in found.values()) <= MESSAGE.size


@pytest.mark.parametrize(
    "description",
    [None, {}, [["a"]], [["a", "f8", 1]], [["a", "float64", -1]], [["a", "float64", 1.5]], [[1, "float64", 1]]],
)
def test_descriptions_of_no_arrays(description):
    text = json.dumps({"arrays": description}).encode()
    message = np.frombuffer(len(text).to_bytes(8, "little") + text, dtype=np.uint8)
    with pytest.raises(PartError, match="damaged"):
        unpacked(message)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("a.conll:3: no label"), "a.conll:3: no label"),
        (FileNotFoundError(2, "No such file", "a.conll"), "a.conll: No such file"),
        (KeyError("a"), "unexpected KeyError: 'a'; this is a bug, please report it"),
    ],
)
def test_errors_are_told_in_a_sentence(error, said):
    assert reason_of(error) == said
