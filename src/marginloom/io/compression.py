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

__all__ = ["compressed", "compressing_write"]


def compressed(data: bytes, path: StrPath) -> bytes:
    """Return data as a file of that name has it, which may have more of such pieces, one after the other.

    Examples
    --------
    >>> gzip.decompress(compressed(b"one ", "words.gz") + compressed(b"two", "words.gz")), compressed(b"one", "words")
    (b'one two', b'one')
    """
    match _ending(path):
        case ".gz":
            return gzip.compress(data, mtime=0)
        case ".xz":
            return lzma.compress(data)
    return data


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
    ending = _ending(path)
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


def _ending(path: StrPath) -> str:
    return Path(os.fspath(path)).suffix.lower()
