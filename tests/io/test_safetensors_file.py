"""Files of arrays are written as they are, in pieces; safetensors itself reads them, and all that we read."""

import io
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.numpy import load

from marginloom.io.model import load_model, save_model
from marginloom.io.safetensors_file import map_safetensors, write_safetensors

ARRAYS = {
    "bytes": np.arange(5, dtype=np.uint8),
    "numbers": np.arange(6, dtype=np.int64).reshape(2, 3),
    "empty": np.zeros(0),
    "weights": np.linspace(0, 1, 7),
}


def written(arrays, metadata):
    file = io.BytesIO()
    write_safetensors(file, arrays, metadata)
    return file.getvalue()


def test_safetensors_reads_what_is_written():
    content = written(ARRAYS, {"text": '\u00e4 "quoted"'})
    found = load(content)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert int.from_bytes(content[:8], "little") % 8 == 0


def mapped(path, content):
    """Return metadata and arrays of a file with that content, or None if it is refused."""
    path.write_bytes(content)
    with path.open("rb") as file:
        try:
            return map_safetensors(file)
        except ValueError:
            return None


def loaded(content):
    """Return the arrays that safetensors finds, or None if it refuses the content."""
    try:
        return load(content)
    except (SafetensorError, ValueError):
        return None


def same(arrays, others):
    return arrays.keys() == others.keys() and all(
        (array.dtype, array.shape, array.tobytes()) == (others[name].dtype, others[name].shape, others[name].tobytes())
        for name, array in arrays.items()
    )


def file_of(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_what_is_written_is_mapped(tmp_path):
    metadata, arrays = mapped(tmp_path / "m", written(ARRAYS, {"text": '\u00e4 "quoted"'}))
    assert metadata == {"text": '\u00e4 "quoted"'}
    assert same(arrays, ARRAYS)
    assert mapped(tmp_path / "n", written({}, {})) == ({}, {})


def entry(dtype, shape, *offsets):
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}}


BROKEN = {
    "nothing": b"",
    "too short": b"\x10\0\0",
    "no header": bytes(8),
    "a header beyond the end": file_of(entry("U8", [4], 0, 4), b"abcd")[:30],
    "a header of absurd size": (2**64 - 1).to_bytes(8, "little") + b"{}",
    "no JSON": file_of(b"{'a'}", b""),
    "no text": file_of(b'{"\xff": 1}', b""),
    "another encoding": file_of(json.dumps(entry("U8", [4], 0, 4)).encode("utf-16"), b"abcd"),
    "a list": file_of([["a", entry("U8", [4], 0, 4)["a"]]], b"abcd"),
    "lists within lists": file_of(b"[" * 100_000, b""),
    "metadata that are no texts": file_of({"__metadata__": {"n": 5}}, b""),
    "metadata that are a list": file_of({"__metadata__": ["n"]}, b""),
    "half a letter as a name": file_of({"\ud800": entry("U8", [4], 0, 4)["a"]}, b"abcd"),
    "an unknown type": file_of(entry("U9", [4], 0, 4), b"abcd"),
    "no type": file_of({"a": {"shape": [4], "data_offsets": [0, 4]}}, b"abcd"),
    "a text as the shape": file_of(entry("U8", "4", 0, 4), b"abcd"),
    "a fraction in the shape": file_of(entry("U8", [4.0], 0, 4), b"abcd"),
    "true in the shape": file_of(entry("U8", [True, 4], 0, 4), b"abcd"),
    "negative sizes": file_of(entry("U8", [-2, -2], 0, 4), b"abcd"),
    "sizes beyond the range": file_of(entry("U8", [0, 2**64], 0, 0), b""),
    "sizes whose product is": file_of(entry("U8", [0, 2**62, 2**62], 0, 0), b""),
    "a million dimensions": file_of(entry("U8", [2**62] * 10**6, 0, 4), b"abcd"),
    "a shape that does not fit": file_of(entry("U8", [3], 0, 4), b"abcd"),
    "half a number": file_of(entry("U64", [1], 0, 4), b"abcd"),
    "places in wrong order": file_of(entry("U8", [4], 4, 0), b"abcd"),
    "one place": file_of(entry("U8", [4], 4), b"abcd"),
    "more than there is": file_of(entry("U8", [5], 0, 5), b"abcd"),
    "less than there is": file_of(entry("U8", [3], 0, 3), b"abcd"),
    "a gap": file_of(entry("U8", [3], 1, 4), b"abcd"),
    "an overlap": file_of(entry("U8", [4], 0, 4) | {"b": entry("U8", [2], 2, 4)["a"]}, b"abcd"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_file_of_arrays_is_refused(tmp_path, what):
    assert mapped(tmp_path / "m", BROKEN[what]) is None
    assert mapped(tmp_path / "m", file_of(entry("U8", [4], 0, 4), b"abcd"))[1]["a"].tobytes() == b"abcd"


@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arrays_are_found_exactly_where_safetensors_finds_them(tmp_path, data):
    """Files that are nearly right, with names in any order."""
    sizes = {"U8": 1, "U64": 8, "I64": 8, "F64": 8}
    header, end = {}, 0
    for name in data.draw(st.permutations("abc")):
        dtype, shape = data.draw(st.sampled_from(sorted(sizes))), data.draw(st.lists(st.integers(0, 3), max_size=3))
        start, end = end, end + sizes[dtype] * int(np.prod(shape))
        header |= {name: {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}}
    for changed in data.draw(st.lists(st.sampled_from("abc"), max_size=1)):
        where = header[changed][data.draw(st.sampled_from(["shape", "data_offsets"]))]
        for place in data.draw(st.sets(st.integers(0, len(where) - 1))) if where else ():
            where[place] = max(0, where[place] + data.draw(st.integers(-2, 2)))
    content = file_of(header, bytes(place % 251 for place in range(end)))
    ours, theirs = mapped(tmp_path / "m", content), loaded(content)
    assert (ours is None) == (theirs is None)
    assert ours is None or same(ours[1], theirs)


def test_the_order_of_arrays_and_the_size_of_pieces_change_nothing(monkeypatch):
    content = written(ARRAYS, {"a": "b"})
    assert written(dict(reversed(ARRAYS.items())), {"a": "b"}) == content
    monkeypatch.setattr("marginloom.io.safetensors_file._PART_BYTES", 3)
    assert written(ARRAYS, {"a": "b"}) == content


def test_saving_takes_no_copy_of_the_weights(tmp_path):
    weights = np.ones(1 << 20)
    save_model(tmp_path / "first", "tag", {}, {"weights": weights[:8]})  # what is imported by it is not counted
    tracemalloc.start()
    try:
        save_model(tmp_path / "m", "tag", {}, {"weights": weights})
        assert tracemalloc.get_traced_memory()[1] < weights.nbytes / 8
    finally:
        tracemalloc.stop()
    assert np.array_equal(load_model(tmp_path / "m", "tag")[1]["weights"], weights)
