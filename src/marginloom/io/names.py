"""Names of files, which are bytes, in messages and in files of ours, which are text."""

from __future__ import annotations

import os
import re
from typing import TypeAlias

__all__ = ["StrPath", "quoted", "shown", "shown_escapes"]

StrPath: TypeAlias = "str | os.PathLike[str]"

# What Python makes of bytes that are not UTF-8, and other halves of letters, which no text can hold.
_NO_TEXT = re.compile("[\ud800-\udfff]")
_FIRST_ESCAPED = 0xDC00
_QUOTED_BYTE = re.compile(r"(?<!\\)((?:\\\\)*)\\udc([89a-f][0-9a-f])")


def shown(path: StrPath) -> str:
    r"""Return the name of a file as text: a byte that is not UTF-8 is shown by its number.

    The name itself opens the file; this one is for messages, and for what a model keeps.

    Examples
    --------
    >>> print(shown("words.txt"), shown("caf\udce9.txt"))
    words.txt caf\xe9.txt
    """
    return _NO_TEXT.sub(lambda found: shown_escapes(found[0]), os.fspath(path))


def quoted(path: object) -> str:
    r"""Return the same in quotes, with line ends and other control characters escaped; what is no path as Python does.

    Examples
    --------
    >>> print(quoted("a\nb.txt"), quoted("caf\udce9.txt"))
    'a\nb.txt' 'caf\xe9.txt'
    """
    return _QUOTED_BYTE.sub(r"\1\\x\2", repr(os.fspath(path) if isinstance(path, os.PathLike) else path))


def shown_escapes(letters: str) -> str:
    r"""Return halves of letters by their numbers; those that stand for a byte by that of the byte.

    Examples
    --------
    >>> print(shown_escapes("\udce9\ud800"))
    \xe9\ud800
    """
    return "".join(
        f"\\x{ord(letter) - _FIRST_ESCAPED:02x}" if "\udc80" <= letter <= "\udcff" else f"\\u{ord(letter):04x}"
        for letter in letters
    )
