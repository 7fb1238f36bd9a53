"""Pictures in the PNG format."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.io.files import StrPath, atomic_write

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = 2


def write_png(path: StrPath, picture: NDArray[Any]) -> None:
    """Write a picture.

    Parameters
    ----------
    path : path
        The file; it is replaced in one step.
    picture : array of uint8, height x width x 3
        Red, green and blue.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_png(f"{folder}/red.png", np.array([[[255, 0, 0]]], dtype=np.uint8))
    ...     pathlib.Path(folder, "red.png").read_bytes()[1:4]
    b'PNG'
    """
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
        raise InputError(f"a picture must be bytes, height x width x 3, not {picture.dtype} of shape {picture.shape}")
    height, width = picture.shape[:2]
    unfiltered = np.zeros((height, 1), dtype=np.uint8)  # every row begins with the number of its filter
    rows = np.concatenate([unfiltered, picture.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB, 0, 0, 0)
    with atomic_write(path) as file:
        file.write(_SIGNATURE)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
