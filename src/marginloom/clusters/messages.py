"""Arrays by name as messages: a description in JSON, and the bytes of each array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import MarginloomError, PartError
from marginloom.training.world import TYPES, Answer, Arrays

#: Bytes that say how long the description is.
_LENGTH = 8

#: Name, type and length of every array, in their order.
Description = list[tuple[str, str, int]]


def description(arrays: Arrays) -> Description:
    """Say what arrays there are.

    Examples
    --------
    >>> description({"weights": np.zeros(2)})
    [('weights', 'float64', 2)]
    """
    return [(name, array.dtype.name, array.size) for name, array in arrays.items()]


def checked_description(given: Any) -> Description:
    """Return a description that was read; `PartError` if it is none.

    Examples
    --------
    >>> checked_description([["weights", "object", 2]])
    Traceback (most recent call last):
    marginloom.errors.PartError: a message is damaged: ['weights', 'object', 2] describes no array
    """
    found: Description = []
    if not isinstance(given, list):
        raise PartError("a message is damaged: it does not describe its arrays")
    for item in given:
        match item:
            case [str() as name, str() as kind, int() as size] if kind in TYPES and size >= 0:
                found.append((name, kind, size))
            case _:
                raise PartError(f"a message is damaged: {item!r} describes no array")
    return found


def as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array, without a copy where it is in one piece.

    Examples
    --------
    >>> as_bytes(np.zeros(2)).size
    16
    """
    return np.ascontiguousarray(array).view(np.uint8)


def packed(header: Mapping[str, Any], arrays: Arrays) -> NDArray[np.uint8]:
    """Return JSON values and arrays in one piece.

    Examples
    --------
    >>> header, arrays = unpacked(packed({"question": "search"}, {"weights": np.ones(2)}))
    >>> header["question"], arrays["weights"].tolist()
    ('search', [1.0, 1.0])
    """
    text = json.dumps({**header, "arrays": description(arrays)}).encode()
    text += b" " * (-(len(text) + _LENGTH) % 8)  # so that numbers of eight bytes lie where they should
    pieces = [np.frombuffer(len(text).to_bytes(_LENGTH, "little") + text, dtype=np.uint8)]
    for array in arrays.values():
        piece = as_bytes(array)
        pieces += [piece, np.zeros(-piece.size % 8, dtype=np.uint8)]
    return np.concatenate(pieces)


def unpacked(message: NDArray[np.uint8]) -> tuple[dict[str, Any], Answer]:
    """Return what was packed, as views of the message; `PartError` if it is damaged."""
    start = _LENGTH + int.from_bytes(message[:_LENGTH].tobytes(), "little")
    try:
        header = json.loads(message[_LENGTH:start].tobytes())
    except ValueError as error:
        raise PartError(f"a message is damaged: {error}") from error
    if not isinstance(header, dict):
        raise PartError("a message is damaged: it has no header")
    arrays = {}
    for name, kind, size in checked_description(header.pop("arrays", None)):
        length = size * np.dtype(kind).itemsize
        if start + length > message.size:
            raise PartError(f"a message is damaged: it ends within {name!r}")
        given = message[start : start + length].view(kind)
        arrays[name] = np.require(given, requirements="A") if size else np.empty(0, kind)  # which may lie anywhere
        start += length + -length % 8
    if start != message.size:
        raise PartError("a message is damaged: something follows its arrays")
    return header, arrays


def check_finite(arrays: Arrays) -> None:
    """Raise `PartError` if an array that has come from another process has NaN or infinite values.

    Examples
    --------
    >>> check_finite({"weights": np.array([1.0, np.nan])})
    Traceback (most recent call last):
    marginloom.errors.PartError: a message is damaged: 'weights' has NaN or infinite values
    """
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise PartError(f"a message is damaged: {name!r} has NaN or infinite values")


def reason_of(error: BaseException | None) -> str:
    """Return what another process is told of an error.

    Examples
    --------
    >>> reason_of(PartError("it is lost")), reason_of(MemoryError())
    ('it is lost', 'there is not enough memory')
    """
    if error is None or isinstance(error, MarginloomError):
        return str(error or "")
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError):
        said = error.strerror or str(error)
        return f"{error.filename}: {said}" if error.filename else f"the system says {said!r}"
    return f"unexpected {type(error).__name__}: {error}; this is a bug, please report it"
