"""Writing of files that are compressed as their names say."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from marginloom.io.files import StrPath, atomic_write


@contextmanager
def compressing_write(path: StrPath) -> Iterator[BinaryIO | gzip.GzipFile | lzma.LZMAFile]:
    """Write a file in one step, as `atomic_write` does, and compressed if its name ends in .gz or .xz.

    Examples
    --------
    >>> import tempfile
    >>> from marginloom.io.files import read_bytes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with compressing_write(f"{folder}/words.xz") as file:
    ...         size = file.write(b"a word")
    ...     read_bytes(f"{folder}/words.xz")
    b'a word'
    """
    ending = Path(os.fspath(path)).suffix.lower()
    with atomic_write(path) as file:
        if ending == ".gz":
            # Without a name and a time the same content gives the same file.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield packed
        elif ending == ".xz":
            with lzma.LZMAFile(file, "wb") as squeezed:
                yield squeezed
        else:
            yield file
