"""Plain Python values as bytes and back, without pickle: nothing that is decoded can run code.

A value is a tag and its content; sizes are numbers of seven bits a byte, lowest first, the top bit set on all but the
last.

=====  =============================================================================
tag    content
=====  =============================================================================
N T F  nothing: None, True, False
i      size, then an int as that many bytes, lowest first, in two's complement
f      a float as eight bytes, lowest first
s b    size, then a text in UTF-8, or bytes
( [    count, then the items of a tuple or list
? z u  number of dimensions, each size, then the numbers of an array in C order: bool, int64, uint64
d      the same for float64
=====  =============================================================================
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

_MOST_NESTED = 100
_SINGLE: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_ARRAYS = {b"?": np.dtype("?"), b"z": np.dtype("<i8"), b"u": np.dtype("<u8"), b"d": np.dtype("<f8")}


def encode_value(value: Any) -> bytes:
    """Return a plain value as bytes; equal values of the same kind have equal bytes.

    Parameters
    ----------
    value
        None, bool, int, float, str, bytes, tuples and lists of such, numpy scalars and arrays of bools, integers or
        floats. A numpy scalar counts as the Python number that it is equal to; integer arrays count as int64 (uint64
        where they must), float arrays as float64.

    Returns
    -------
    bytes
        What `decode_value` takes.

    Raises
    ------
    InputError
        If the value is anything else.

    Examples
    --------
    >>> decode_value(encode_value((1, [None, "a"], 2.5)))
    (1, [None, 'a'], 2.5)
    """
    parts: list[bytes] = []
    _encode(value, parts, 0)
    return b"".join(parts)


def decode_value(data: bytes) -> Any:
    """Return the value that `encode_value` made these bytes of.

    Tuples stay tuples and lists stay lists; numpy scalars have become Python numbers and arrays have the types named
    there.

    Raises
    ------
    InputError
        If the bytes are not an encoded value.

    Examples
    --------
    >>> decode_value(encode_value(np.array([1, 2], dtype=np.int16)))
    array([1, 2])
    """
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (IndexError, OverflowError, ValueError) as error:
        raise InputError(f"these bytes are not an encoded output ({error})") from error
    if reader.position != len(data):
        raise InputError("these bytes are not an encoded output (something follows it)")
    return value


def _encode(value: Any, parts: list[bytes], depth: int) -> None:
    if isinstance(value, np.generic):
        value = _python_number(value)
    kind = type(value)  # a subclass, such as a named tuple, would not come back as what it was
    if value is None or kind is bool:
        parts.append(b"N" if value is None else b"T" if value else b"F")
    elif kind is int:
        content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        parts += (b"i", _number(len(content)), content)
    elif kind is float:
        parts += (b"f", struct.pack("<d", math.nan if math.isnan(value) else value + 0.0))  # -0.0 equals 0.0
    elif kind in (str, bytes):
        content = value.encode("utf-8", "surrogatepass") if kind is str else value
        parts += (b"s" if kind is str else b"b", _number(len(content)), content)
    elif kind in (tuple, list):
        if depth >= _MOST_NESTED:
            raise InputError(f"an output is nested more than {_MOST_NESTED} deep; override encode and decode")
        parts += (b"(" if kind is tuple else b"[", _number(len(value)))
        for item in value:
            _encode(item, parts, depth + 1)
    elif kind is np.ndarray:
        _encode_array(value, parts)
    else:
        raise _cannot_encode(value)


def _encode_array(array: NDArray[Any], parts: list[bytes]) -> None:
    match array.dtype.kind:
        case "b":
            tag = b"?"
        case "i":
            tag = b"z"
        case "u":
            tag = b"u" if array.size and array.max() > np.iinfo(np.int64).max else b"z"
        case "f" if array.dtype.itemsize <= 8:
            tag = b"d"
            array = np.where(np.isnan(array), np.nan, array.astype(np.float64) + 0.0)
        case _:
            raise _cannot_encode(array)
    parts += (tag, _number(array.ndim), *(_number(size) for size in array.shape))
    parts.append(array.astype(_ARRAYS[tag]).tobytes())


def _python_number(scalar: np.generic) -> Any:
    fits = isinstance(scalar, np.bool_ | np.integer | np.str_ | np.bytes_) or (
        isinstance(scalar, np.floating) and scalar.dtype.itemsize <= 8
    )
    return scalar.item() if fits else scalar


def _cannot_encode(value: Any) -> InputError:
    of = f" of {value.dtype}" if isinstance(value, np.ndarray | np.generic) else ""
    return InputError(
        f"an output, or a part of one, is a {type(value).__name__}{of}, which has no encoding of its own; return plain "
        "values (numbers, strings, tuples, lists, arrays of numbers) or override encode and decode"
    )


def _number(value: int) -> bytes:
    content = bytearray()
    while value >= 0x80:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)


class _Reader:
    """Reads values one after the other, and never past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self._data):
            raise ValueError("they end too early")
        content = self._data[self.position : end]
        self.position = end
        return content

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("a size is out of range")

    def value(self, depth: int) -> Any:
        tag = self.take(1)
        if tag in _SINGLE:
            return _SINGLE[tag]
        if tag in _ARRAYS:
            return self.array(_ARRAYS[tag])
        match tag:
            case b"i":
                return int.from_bytes(self.take(self.number()), "little", signed=True)
            case b"f":
                return struct.unpack("<d", self.take(8))[0]
            case b"s":
                return self.take(self.number()).decode("utf-8", "surrogatepass")
            case b"b":
                return self.take(self.number())
            case b"(" | b"[" if depth < _MOST_NESTED:
                items = [self.value(depth + 1) for _ in range(self.number())]
                return tuple(items) if tag == b"(" else items
        raise ValueError("there is no such kind of value")

    def array(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        shape = [self.number() for _ in range(self.number())]
        content = self.take(math.prod(shape) * dtype.itemsize)
        if dtype.kind == "b":
            return np.frombuffer(content, dtype=np.uint8).reshape(shape).astype(np.bool_)
        return np.frombuffer(content, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))
