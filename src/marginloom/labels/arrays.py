"""Arrays that have labels as they were given: strings, or whole numbers of 64 bits, signed or not."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

_STRINGS, _TRUTH_VALUES, _WHOLE_NUMBERS, _FLOATS = "strings", "truth values", "whole numbers", "floats"
_KINDS: dict[str, tuple[type, ...]] = {  # a truth value of Python is a whole number too, so it comes first
    _STRINGS: (str,),
    _TRUTH_VALUES: (bool, np.bool_),
    _WHOLE_NUMBERS: (int, np.integer),
    _FLOATS: (float, np.floating),
}


def label_array(labels: Iterable[Any]) -> NDArray[Any]:
    r"""Return labels as the array that numpy makes of them, or as one of objects where numpy would change them.

    It would cut NULs off the ends of strings, make floats of whole numbers of which some are negative and others need
    the 64th bit, and strings or floats of mixed types, which are refused here.

    Parameters
    ----------
    labels : iterable
        All strings, all truth values, all whole numbers, or all floats. An array of one of these types comes back.

    Examples
    --------
    >>> [label_array([label, 1]).dtype.name for label in (2, 2**63)], label_array([2**63, -1])
    (['int64', 'uint64'], array([9223372036854775808, -1], dtype=object))
    >>> label_array(["a", "b"]), label_array(["a", "a\0"])
    (array(['a', 'b'], dtype='<U1'), array(['a', 'a\x00'], dtype=object))
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biufU":
        _check_characters(labels)
        return labels
    given = _as_list(labels)
    kind = _kind_of(given)
    if kind == _STRINGS:
        names = _plain_strings(given)
        return np.array(names, dtype=object if any(name.endswith("\0") for name in names) else np.str_)
    if kind == _WHOLE_NUMBERS:
        return _whole_numbers(given)
    return np.array(given, dtype=bool if kind == _TRUTH_VALUES else np.float64)


def plain_labels(labels: Iterable[Any]) -> NDArray[Any]:
    """Return labels as models have them: an array of `str` objects, or of whole numbers, which truth values become too.

    The whole numbers are of the type int64 if it holds all of them, else of uint64, and objects if none holds all.

    Raises
    ------
    InputError
        If they are neither all strings nor all whole numbers of 64 bits.

    Examples
    --------
    >>> plain_labels(np.array(["b", "a"])), plain_labels([True, False]), plain_labels(np.array([7], dtype=np.uint64))
    (array(['b', 'a'], dtype=object), array([1, 0]), array([7]))
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "bi":
        return labels.astype(np.int64)
    given = _as_list(labels)
    kind = _kind_of(given)
    if kind == _FLOATS:
        raise InputError(f"labels must be all strings or all whole numbers, not {given[0]!r}")
    return np.array(_plain_strings(given), dtype=object) if kind == _STRINGS else _whole_numbers(given)


def whole_floats(labels: Sequence[Any]) -> list[int]:
    """Return floats such as 1.0 as whole numbers; `InputError` if one has a fraction.

    Examples
    --------
    >>> whole_floats([1.0, -0.0])
    [1, 0]
    """
    for label in labels:
        if not label.is_integer():
            raise InputError(f"labels must be all strings or all whole numbers, not {label!r}")
    return [int(label) for label in labels]


def _as_list(labels: Iterable[Any]) -> list[Any]:
    if isinstance(labels, np.ndarray):
        _check_characters(labels)
    if not isinstance(labels, np.ndarray):
        return list(labels)
    if labels.ndim != 1:
        raise InputError(f"labels must be all strings or all whole numbers, not an array of the shape {labels.shape}")
    return list(labels.tolist())


def _kind_of(labels: list[Any]) -> str:
    """Return the kind that all labels are of; whole numbers if there is none."""
    one_of_each_type = {type(label): label for label in labels}
    kinds: dict[str, Any] = {}
    for label in one_of_each_type.values():
        kind = next((name for name, types in _KINDS.items() if isinstance(label, types)), None)
        if kind is None:
            raise InputError(f"labels must be all strings or all whole numbers, not {label!r}")
        kinds.setdefault(kind, label)
    if len(kinds) > 1:
        shown = " and ".join(f"{kind} such as {label!r}" for kind, label in kinds.items())
        raise InputError(f"labels must be all strings or all whole numbers, and there are {shown}")
    return next(iter(kinds), _WHOLE_NUMBERS)


def _plain_strings(labels: list[Any]) -> list[str]:
    """Return strings without what a subclass adds: an enumeration of strings shows another text than it is."""
    return [label if type(label) is str else str.__str__(label) for label in labels]


def _whole_numbers(labels: list[Any]) -> NDArray[Any]:
    numbers = [int(label) for label in labels]
    least, most = min(numbers, default=0), max(numbers, default=0)
    if least < -(2**63) or most >= 2**64:
        found = least if least < -(2**63) else most
        raise InputError(
            f"the label {found} has more than 64 bits; whole numbers may go from -2^63 to 2^64 - 1, or give strings"
        )
    if most < 2**63:
        return np.array(numbers, dtype=np.int64)
    return np.array(numbers, dtype=np.uint64 if least >= 0 else object)


def _check_characters(labels: NDArray[Any]) -> None:
    """Raise `InputError` if strings have characters that there are not, as only a damaged array does."""
    if labels.dtype.kind != "U" or not labels.size:
        return
    codes = np.ascontiguousarray(labels).astype(labels.dtype.newbyteorder("=")).view(np.uint32)
    if codes.max() > sys.maxunicode:
        raise InputError(
            f"labels have the character number {int(codes.max()):,}, and the last one is {sys.maxunicode:,}; the array "
            "is damaged, make it again"
        )
