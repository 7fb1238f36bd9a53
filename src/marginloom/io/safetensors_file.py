"""The safetensors format, from and to arrays as they are: a file of many gigabytes takes no memory of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

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
#: Types that are read: those of models and checkpoints.
_DTYPES = {
    name: np.dtype(dtype)
    for name, dtype in {"F64": "<f8", "I64": "<i8", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}.items()
}
_PART_BYTES = 1 << 24
_ALIGNMENT = 8
_MOST, _MOST_DIMENSIONS = 2**63, 8


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


def map_safetensors(file: BinaryIO) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return metadata, and arrays as views of the pages, which are read when they are used and shared by processes.

    Parameters
    ----------
    file : binary file
        Of the system, not a stream; it may be closed afterwards.

    Raises
    ------
    ValueError
        If it is something else. Arrays must follow each other without gaps, up to the end of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     write_safetensors(file, {"weights": np.array([1.5, 2.0])}, {"format": "text"})
    ...     file.flush()
    ...     metadata, arrays = map_safetensors(file)
    >>> metadata, arrays["weights"].tolist()
    ({'format': 'text'}, [1.5, 2.0])
    """
    pages = np.memmap(file, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(pages[:8].tobytes(), "little")
    if not 8 < start <= pages.size:
        raise ValueError("its header would be longer than the file")
    metadata, entries = _header(pages[8:start].tobytes())
    arrays, end = {}, 0
    for entry in entries:
        if entry.first != end or entry.last - end != math.prod(entry.shape) * entry.dtype.itemsize:
            raise ValueError(f"the array {entry.name!r} is not where it should be")
        content = pages[start + entry.first : start + entry.last].view(entry.dtype)
        arrays[entry.name], end = np.asarray(content).reshape(entry.shape), entry.last
    if start + end != pages.size:
        raise ValueError(f"there are {pages.size} bytes, expected {start + end}")
    return metadata, arrays


class _Entry(NamedTuple):
    """Where an array is, counted from the end of the header."""

    first: int
    last: int
    name: str
    dtype: np.dtype[Any]
    shape: list[int]

    @classmethod
    def of(cls, name: str, stored: Any) -> _Entry:
        name.encode()  # half a surrogate pair is text for JSON, and for nothing else
        dtype, shape, (first, last) = _DTYPES[stored["dtype"]], stored["shape"], stored["data_offsets"]
        numbers = (first, last, *shape)
        if len(shape) > _MOST_DIMENSIONS or not all(type(number) is int and 0 <= number < _MOST for number in numbers):
            raise ValueError(f"the array {name!r} has an impossible size")
        return cls(first, last, name, dtype, list(shape))


def _header(content: bytes) -> tuple[dict[str, str], list[_Entry]]:
    """Return metadata, and what is said of the arrays, in the order in which they lie."""
    try:
        header = json.loads(content.decode())
        metadata = header.pop("__metadata__", {})
        entries = sorted(_Entry.of(name, stored) for name, stored in header.items())
        if not all(isinstance(text, str) for text in metadata.values()):
            raise TypeError("the metadata are not texts")
    except (AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"the header cannot be understood: {error!s:.100}") from error
    return metadata, entries


def _write(file: BinaryIO, array: NDArray[Any]) -> None:
    if array.size == 0:
        return
    content = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(content), _PART_BYTES):
        file.write(content[start : start + _PART_BYTES])
