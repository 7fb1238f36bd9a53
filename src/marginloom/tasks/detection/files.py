"""Files of images with their objects: .npz archives of the arrays `images`, `labels` and `boxes`.

They are read without pickles, so no file can run code. All images of a file have one size; training takes several
files.
"""

from __future__ import annotations

import dataclasses
import io
import math
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.compression import compressing_write
from marginloom.io.files import StrPath, open_binary, read_bytes
from marginloom.io.names import shown
from marginloom.labels.arrays import label_array

__all__ = ["DetectionFile", "read_detections", "write_detections"]


@dataclasses.dataclass(frozen=True)
class DetectionFile:
    """What a file holds.

    Attributes
    ----------
    name : str
        Of the file.
    images : array, n x height x width or n x height x width x channels
        Numbers.
    labels : array of n strings or whole numbers, or None
        The object in each image.
    boxes : array, n x 4, or None
        Its top, left, height and width.
    """

    name: str
    images: NDArray[Any]
    labels: NDArray[Any] | None
    boxes: NDArray[np.int64] | None


def write_detections(path: StrPath, images: ArrayLike, labels: Iterable[Any], boxes: ArrayLike) -> None:
    """Write images with their objects to a file that ``marginloom train detect`` reads.

    Parameters
    ----------
    path : path
        The file, by custom with the ending .npz, or .npz.gz or .npz.xz, which compress it once more.
    images : array, n x height x width or n x height x width x channels
        Numbers; bytes (uint8) are divided by 255 when they are used.
    labels : array of n strings or whole numbers
        What is in each image.
    boxes : array, n x 4
        Where: top, left, height and width, in pixels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_detections(f"{folder}/one.npz", np.ones((1, 4, 4)), ["dot"], [(0, 0, 2, 2)])
    ...     read_detections(f"{folder}/one.npz").labels.tolist()
    ['dot']
    """
    names = label_array(labels)
    if names.dtype == object:
        raise InputError(
            f"{shown(path)}: an .npz archive cannot hold strings that end in NUL, nor whole numbers of which some "
            "are negative and others beyond 2^63 - 1; give other labels"
        )
    arrays = {"images": np.asarray(images), "labels": names, "boxes": np.asarray(boxes, dtype=np.int64)}
    _checked(shown(path), arrays)
    archive = io.BytesIO()  # which is written back and forth; a compressed file cannot be
    np.savez_compressed(archive, allow_pickle=False, **arrays)
    with compressing_write(path) as file:
        file.write(archive.getbuffer())


def read_detections(path: StrPath, *, labelled: bool = True) -> DetectionFile:
    """Read a file that `write_detections`, or ``numpy.savez`` with arrays of these names, wrote.

    Parameters
    ----------
    path : path
        The file; ``-`` is standard input.
    labelled : bool
        Whether labels and boxes must be there.

    Raises
    ------
    InputError
        If the file is missing, no such archive, damaged, or its arrays do not fit together.
    """
    checked("labelled", labelled, "switch")
    name = shown(path)
    if name == "-":
        with open_binary(name) as stream:
            content = stream.read()
    else:
        content = read_bytes(path)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        what = "but a single array" if content.startswith(b"\x93NUMPY") else "or it is cut off"
        raise InputError(f"{name}: this is not an .npz archive, {what}; write one with marginloom.write_detections")
    try:
        archive = np.load(io.BytesIO(content), allow_pickle=False)
        names: tuple[str, ...] = ("images", "labels", "boxes")
        with archive:
            arrays: dict[str, NDArray[Any]] = {key: _member(archive, key) for key in names if key in archive.files}
    except Exception as error:  # numpy and zipfile tell of damage by errors of a dozen kinds
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(
            f"{name}: this is not an .npz archive of plain arrays, or it is damaged ({reason}); write one with "
            "marginloom.write_detections"
        ) from error
    found = _checked(name, arrays)
    if labelled and (found.labels is None or found.boxes is None):
        raise InputError(f"{name}: the arrays labels and boxes are needed here, and the archive has {sorted(arrays)}")
    return found


def _member(archive: Any, key: str) -> NDArray[Any]:
    """Read an array whose header does not ask for more memory than the archive has bytes for it."""
    member = key if key in archive.zip.namelist() else f"{key}.npy"
    with archive.zip.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        size, there = math.prod(shape) * dtype.itemsize, archive.zip.getinfo(member).file_size - stream.tell()
    if not dtype.hasobject and size != there:
        raise ValueError(f"the array {key} should take {size} bytes, and there are {there}")
    array: NDArray[Any] = archive[key]
    return array


def _checked(name: str, arrays: dict[str, NDArray[Any]]) -> DetectionFile:
    if "images" not in arrays:
        raise InputError(f"{name}: there is no array with the name images in the archive")
    images, labels, boxes = arrays["images"], arrays.get("labels"), arrays.get("boxes")
    if images.ndim not in (3, 4) or 0 in images.shape or images.dtype.kind not in "biuf":
        raise InputError(
            f"{name}: images is an array of {images.dtype} with the shape {images.shape}; expected numbers, images x "
            "rows x columns, and channels if there are any"
        )
    if labels is not None and (labels.shape != images.shape[:1] or labels.dtype.kind not in "iuU"):
        raise InputError(
            f"{name}: labels is an array of {labels.dtype} with the shape {labels.shape}; expected a string or a whole "
            f"number for each of the {len(images)} images"
        )
    if boxes is not None:
        if boxes.shape != (len(images), 4) or boxes.dtype.kind not in "iu":
            raise InputError(
                f"{name}: boxes is an array of {boxes.dtype} with the shape {boxes.shape}; expected whole numbers, "
                f"top, left, height and width for each of the {len(images)} images"
            )
        boxes = boxes.astype(np.int64)
    return DetectionFile(name, images, labels, boxes)
