"""Files of arrays are written as they are, in pieces, and read by safetensors itself."""

import io
import tracemalloc

import numpy as np
from safetensors.numpy import load

from marginloom.io.model import load_model, save_model
from marginloom.io.safetensors_file import write_safetensors

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
