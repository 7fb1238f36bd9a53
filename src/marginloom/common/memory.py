"""What work will need of memory, compared with what there is before it is taken."""

from __future__ import annotations

import numbers
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from marginloom import _core
from marginloom.common.memory_limits import memory_room
from marginloom.errors import InputError, MemoryWarning

WayOut: TypeAlias = str | Callable[[], str]

MB = 1024**2
#: Less than this is never compared with what there is: asking the system takes longer than the work that needs it.
NEGLIGIBLE = MB
#: Bytes of a weight.
WEIGHT = 8
#: Bytes of a pair of numbers in a list.
PAIR_BYTES = 80
_MOST_WEIGHTS = 2**32 - 1  # their numbers have 32 bits
_UNITS = {"": 1, "K": 1024, "M": MB, "G": 1024**3, "T": 1024**4}
_MOST = 2**63 - 1
_SMALL = 1000  # what is less than such a part of all that is needed is not named


def require_memory(work: str, needs: Mapping[str, int], way_out: WayOut) -> None:
    """Compare what work needs with what there is, before it is taken; work that needs little never asks the system.

    Parameters
    ----------
    work : str
        What needs it, the beginning of a sentence.
    needs : mapping
        Bytes by what they are for.
    way_out : str or callable
        How to need less, for the user; called only if it is told.

    Raises
    ------
    InputError
        If it is more than this process may have.

    Warns
    -----
    MemoryWarning
        If it is more than half of that.

    Examples
    --------
    >>> require_memory("a matrix", {"coefficients": 2**60}, "take fewer columns")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: a matrix needs 1073741824.0 GB of memory, and this process may have ...
    """
    total = sum(needs.values())
    if total < NEGLIGIBLE:
        return
    room = memory_room()
    if 2 * total <= room.size:
        return
    parts = [f"{name} {readable_size(size)}" for name, size in needs.items() if size * _SMALL > total]
    advice = way_out if isinstance(way_out, str) else way_out()
    needed = f"{work} needs {readable_size(total)} of memory" + (f" ({', '.join(parts)})" if len(parts) > 1 else "")
    if total > room.size:
        raise InputError(f"{needed}, and this process may have {readable_size(room.size)} ({room.reason}); {advice}")
    warnings.warn(
        f"{needed}, more than half of the {readable_size(room.size)} that this process may have ({room.reason}); "
        f"if it runs short: {advice}",
        MemoryWarning,
        stacklevel=3,
    )


def memory_beside(needs: Mapping[str, int]) -> int:
    """Return how many bytes may be taken beside those that are needed; 2 at least.

    Examples
    --------
    >>> memory_beside({"weights": 2**62})
    2
    """
    return max(memory_room().size - sum(needs.values()), 2)


def readable_size(size: int) -> str:
    """Return a number of bytes in the unit that suits it; units are powers of 1024.

    Examples
    --------
    >>> readable_size(3 * MB), readable_size(1536 * MB), readable_size(71)
    ('3.0 MB', '1.5 GB', '71 bytes')
    """
    for unit, factor in (("GB", 1024 * MB), ("MB", MB), ("KB", 1024)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def check_weight_count(rows: _core.WeightRows, way_out: Callable[[], str]) -> None:
    """Raise `InputError` if a task has more weights than can be numbered: rows with one for every label.

    Examples
    --------
    >>> rows = _core.WeightRows(count=10**8, columns=300)
    >>> check_weight_count(rows, lambda: "take fewer labels")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: 100,000,000 features times 300 labels make 30,400,000,000 weights, which would ...
    """
    count = rows.count * rows.stride
    if count > _MOST_WEIGHTS:
        raise InputError(
            f"{rows.count:,} features times {rows.columns:,} labels make {count:,} weights, which would take "
            f"{readable_size(WEIGHT * count)}; this process may have {readable_size(memory_room().size)}, and there "
            f"can be {_MOST_WEIGHTS:,} weights at most; {way_out()}"
        )


def parse_size(name: str, size: Any) -> int:
    """Return a number of bytes, given as such or as a text with a unit; K, M, G and T are powers of 1024.

    Examples
    --------
    >>> parse_size("memory", "1.5K")
    1536
    """
    found = size
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE | re.ASCII)
        found = int(float(match[1]) * _UNITS[match[2].upper()]) if match and len(size) < 100 else None
    if isinstance(found, bool) or not isinstance(found, numbers.Integral) or not 1 <= int(found) <= _MOST:
        raise InputError(f"{name} must be a number of bytes from 1, or a size such as '500M' or '2G', not {size!r}")
    return int(found)
