"""Model files: arrays in safetensors, everything else as JSON in its metadata. Loading one never runs code."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import ModelFileError
from marginloom.io.files import StrPath, atomic_write

FORMAT = "marginloom"
FORMAT_VERSION = 1

Tensors = dict[str, NDArray[Any]]


def save_model(path: StrPath, task: str, header: dict[str, Any], tensors: Tensors) -> None:
    """Write a model file, complete or not at all.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    task : str
        The task's name on the command line.
    header : dict
        Anything that JSON can hold.
    tensors : dict
        Arrays by name.
    """
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    metadata = {
        "format": FORMAT,
        "version": str(FORMAT_VERSION),
        "task": task,
        "header": json.dumps(header),
        "checksums": json.dumps({name: checksum(array) for name, array in arrays.items()}),
    }
    with atomic_write(path) as file:
        file.write(save(arrays, metadata))


def load_model(path: StrPath, task: str) -> tuple[dict[str, Any], Tensors]:
    """Read a model file of a task and return its header and arrays.

    Raises
    ------
    ModelFileError
        If the file is missing, not a model of ours, of another task, of a newer version, cut off or damaged.
    """
    name = os.fspath(path)
    metadata, tensors = _read(name)
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"{name}: this is a safetensors file, but not a marginloom model")
    _check_version(name, metadata)
    if metadata.get("task") != task:
        raise ModelFileError(f"{name}: this is a model of the task {metadata.get('task')!r}, expected {task!r}")
    try:
        header = json.loads(metadata["header"])
        checksums = json.loads(metadata["checksums"])
        if not isinstance(header, dict) or not isinstance(checksums, dict):
            raise TypeError
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name}: the header is damaged; train the model again") from error
    if checksums != {key: checksum(array) for key, array in tensors.items()}:
        raise ModelFileError(f"{name}: the content does not match its checksum, so the file is damaged")
    return header, tensors


def checksum(array: NDArray[Any]) -> int:
    """Return a checksum of an array's bytes."""
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0


def _read(name: str) -> tuple[dict[str, str], Tensors]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(name, framework="numpy") as file:
            return dict(file.metadata() or {}), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise ModelFileError(f"{name}: there is no such file") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{name}: this is a folder, expected a model file") from error
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFileError(
            f"{name}: this is not a model file, or it is cut off or damaged ({error}); expected one that "
            "'marginloom train' has written"
        ) from error


def _check_version(name: str, metadata: dict[str, str]) -> None:
    version = metadata.get("version", "")
    if not version.isdigit():
        raise ModelFileError(f"{name}: the format version is {version!r}, expected a number; the file is damaged")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"{name}: this model has the format version {version}, and this marginloom reads up to {FORMAT_VERSION}; "
            "install a newer marginloom"
        )
