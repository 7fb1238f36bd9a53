"""Files that are read, files that are written, and making sure that no file is both, or is written twice."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from marginloom.errors import InputError
from marginloom.io.names import StrPath, shown

#: What names a file, such as an option of the command line, with the file; a list, since options may be repeated.
NamedFiles = Iterable[tuple[str, StrPath]]


def named_files(given: Mapping[str, StrPath | None]) -> list[tuple[str, StrPath]]:
    """Leave out what is not given.

    Examples
    --------
    >>> named_files({"--model": "m", "--trace": None})
    [('--model', 'm')]
    """
    return [(name, path) for name, path in given.items() if path is not None]


def refuse_overwriting(outputs: NamedFiles, inputs: NamedFiles) -> None:
    """Raise `InputError` if a file to be written is one that is read.

    Links, hard links and other spellings of a path are seen through. Devices and pipes are not files in this sense:
    nothing in them is written over.

    Parameters
    ----------
    outputs, inputs : iterable of (str, path)
        Files with the words that name them in the message. ``"-"`` is standard output, or standard input.

    Examples
    --------
    >>> refuse_overwriting([("-o", "./words.txt")], [("the input", "words.txt")])
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: -o ./words.txt is the same file as the input words.txt, which is read and would be \
overwritten; choose another name
    """
    read = [(_identity(path, sys.stdin), name, path) for name, path in inputs]
    for name, path in outputs:
        written = _identity(path, sys.stdout)
        for identity, other, source in read:
            if written is not None and written == identity:
                raise InputError(
                    f"{_shown(name, path)} is the same file as {_shown(other, source)}, which is read and would be "
                    "overwritten; choose another name"
                )


def refuse_same_outputs(outputs: NamedFiles) -> None:
    """Raise `InputError` if two of the files to be written are the same one, also if it does not exist yet.

    Examples
    --------
    >>> refuse_same_outputs([("--model", "m"), ("--trace", "./m")])
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: --trace ./m and --model m are the same file; choose another name for one of them
    """
    seen: dict[Any, str] = {}
    for name, path in outputs:
        identity = _identity(path, sys.stdout)
        shown = _shown(name, path)
        if identity is not None and identity in seen:
            raise InputError(f"{shown} and {seen[identity]} are the same file; choose another name for one of them")
        seen[identity] = shown


def _shown(name: str, path: StrPath) -> str:
    return f"{name} {shown(path)}".removesuffix(" -")


def _identity(path: StrPath, standard_stream: Any) -> Any:
    """Return what two names of the same file or folder have in common, or None for a device or pipe."""
    if os.fspath(path) == "-" and standard_stream is None:  # it was closed, which is told when it is used
        return None
    try:
        status = os.fstat(standard_stream.fileno()) if os.fspath(path) == "-" else Path(path).stat()
    except (OSError, ValueError):  # not there, or not yet
        return None if os.fspath(path) == "-" else _future_identity(path)
    kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return (status.st_dev, status.st_ino) if kept else None


def _future_identity(path: StrPath) -> Any:
    """Return the same for a file that does not exist: its folder, which may have several paths, and its name."""
    try:
        target = Path(os.path.realpath(path))  # Path.resolve fails where links go in a circle
    except ValueError:
        return None  # a null character: it can never be
    try:
        folder = target.parent.stat()
    except OSError:
        return target
    return folder.st_dev, folder.st_ino, target.name
