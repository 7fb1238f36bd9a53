"""A file of JSON objects, one a line, of which the last ones can still change and which a full disk ends."""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from marginloom.errors import OutputWarning
from marginloom.io.compression import compressed
from marginloom.io.files import StrPath, cannot_write, disk_is_full


class JsonLines:
    r"""Writes objects to a file, each as soon as it comes.

    What cannot be written is told in one `OutputWarning`; the file then ends with its last whole line, and nothing more
    is written. In a pipe or a device nothing can be changed, so there the last object waits until another one follows
    or `close` is called.

    Parameters
    ----------
    path : path
        The file; what it held is lost. If its name ends in .gz or .xz every line is compressed for itself, so that the
        last ones can change there too.

    Raises
    ------
    OutputError
        If the file cannot be opened, unless the disk is full.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "lines.jsonl")
    ...     lines = JsonLines(path)
    ...     lines.append({"a": 1})
    ...     lines.append({"b": 2})
    ...     lines.replace_last({"b": 3})
    ...     lines.close()
    ...     path.read_text()
    '{"a": 1}\n{"b": 3}\n'
    """

    def __init__(self, path: StrPath) -> None:
        self._name = os.fspath(path)
        self._file: int | None = None
        self._waiting: bytes | None = None
        self._starts: list[int] = []  # where the lines begin
        self._end = 0  # where the last one ends
        try:
            self._file = os.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except (OSError, ValueError) as error:
            if not disk_is_full(error):
                raise cannot_write(self._name, error) from error
            self._give_up(error)
        else:
            self._can_change = stat.S_ISREG(os.fstat(self._file).st_mode)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line."""
        line = self._encoded(record)
        if self._file is None:
            return
        if self._can_change:
            self._starts.append(self._end)
            self._write(line)
            return
        before, self._waiting = self._waiting, line
        if before is not None:
            self._write(before)

    def replace_last(self, *records: Mapping[str, Any]) -> None:
        """Write other objects where the last ones are; in a pipe or a device only the last of all changes."""
        if self._file is None:
            return
        if not self._can_change:
            self._waiting = self._encoded(records[-1])
            return
        begin = self._starts[-len(records)]
        try:
            os.ftruncate(self._file, begin)
        except OSError as error:
            self._give_up(error)
            return
        self._end = begin
        del self._starts[-len(records) :]
        for record in records:
            self.append(record)

    def close(self) -> None:
        """Write what waits, and close the file."""
        if self._file is not None and self._waiting is not None:
            self._write(self._waiting)
        self._close()

    def _encoded(self, record: Mapping[str, Any]) -> bytes:
        return compressed((json.dumps(record) + "\n").encode(), self._name)

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        try:
            if self._can_change:
                os.lseek(self._file, self._end, os.SEEK_SET)
            left = memoryview(line)
            while left:  # a disk that is nearly full takes a part
                left = left[os.write(self._file, left) :]
        except OSError as error:
            if self._can_change:
                with suppress(OSError):
                    os.ftruncate(self._file, self._end)
            self._give_up(error)
        else:
            self._end += len(line)

    def _give_up(self, error: OSError | ValueError) -> None:
        self._close()
        warnings.warn(
            OutputWarning(f"{cannot_write(self._name, error)}; it ends here, and the run goes on"), stacklevel=2
        )

    def _close(self) -> None:
        file, self._file, self._waiting = self._file, None, None
        if file is not None:
            with suppress(OSError):
                os.close(file)
