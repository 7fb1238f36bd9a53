"""Writing the safetensors format from arrays as they are: a file of many gigabytes takes no memory of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_TYPES = {
    **{f"<f{size}": f"F{8 * size}" for size in (2, 4, 8)},
    **{f"<i{size}": f"I{8 * size}" for size in (2, 4, 8)},
    **{f"<u{size}": f"U{8 * size}" for size in (2, 4, 8)},
    "|i1": "I8",
    "|u1": "U8",
    "|b1": "BOOL",
}
_PART_BYTES = 1 << 24
_ALIGNMENT = 8


def write_safetensors(file: BinaryIO, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write arrays, in pieces between which Ctrl-C is heard.

    The same arrays and metadata give the same bytes.

    Parameters
    ----------
    file : binary file
        Where to.
    arrays : mapping
        Contiguous arrays by name.
    metadata : mapping
        Texts by name.

    Examples
    --------
    >>> import io
    >>> from safetensors.numpy import load
    >>> file = io.BytesIO()
    >>> write_safetensors(file, {"weights": np.array([1.5, 2.0])}, {"format": "text"})
    >>> load(file.getvalue())["weights"].tolist()
    [1.5, 2.0]
    """
    # Widest first: all of them then begin at multiples of their size, as their readers like it.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in order:
        start, end = end, end + arrays[name].nbytes
        header[name] = {
            "dtype": _TYPES[arrays[name].dtype.str],
            "shape": list(arrays[name].shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        _write(file, arrays[name])


def _write(file: BinaryIO, array: NDArray[Any]) -> None:
    if array.size == 0:
        return
    content = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(content), _PART_BYTES):
        file.write(content[start : start + _PART_BYTES])
