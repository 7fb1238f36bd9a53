"""Model files and checkpoints: arrays in safetensors, the rest as JSON in its metadata. Loading never runs code."""

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
CHECKPOINT = "checkpoint"  # stands where a model has the name of its task

_DTYPES = {"F64": "<f8", "I64": "<i8", "U64": "<u8", "U8": "u1"}

Tensors = dict[str, NDArray[Any]]


def save_model(path: StrPath, task: str, header: dict[str, Any], tensors: Tensors) -> None:
    """Write a model file or a checkpoint, complete or not at all.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    task : str
        The task's name on the command line, or `CHECKPOINT`.
    header : dict
        Anything that JSON can hold.
    tensors : dict
        Arrays by name.
    """
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    content = {
        "version": FORMAT_VERSION,
        "task": task,
        "header": header,
        "checksums": {name: checksum(array) for name, array in arrays.items()},
    }
    content["checksum"] = _text_checksum(content)
    with atomic_write(path) as file:  # one metadata entry: the order of several would differ from run to run
        file.write(save(arrays, {FORMAT: json.dumps(content, sort_keys=True)}))


def load_model(path: StrPath, task: str) -> tuple[dict[str, Any], Tensors]:
    """Read a model file of a task, or a checkpoint, and return its header and arrays.

    Raises
    ------
    ModelFileError
        If the file is missing, not one of ours, of another task, of a newer version, cut off or damaged.
    """
    name = os.fspath(path)
    kind = _kind(task)
    content, tensors = _content(name, kind)
    if content["task"] != task:
        if _kind(content["task"]) != kind:
            raise ModelFileError(f"{name}: this is a {_kind(content['task'])}, expected a {kind}")
        raise ModelFileError(f"{name}: this is a model of the task {content['task']!r}, expected {task!r}")
    header, checksums = content["header"], content["checksums"]
    if not isinstance(header, dict) or checksums != {key: checksum(array) for key, array in tensors.items()}:
        raise _damaged(name)
    return header, tensors


def task_of(path: StrPath) -> str:
    """Return the name of the task that a model file belongs to, without reading its arrays.

    Raises
    ------
    ModelFileError
        If the file is missing, not one of ours, a checkpoint, of a newer version, cut off or damaged.
    """
    name = os.fspath(path)
    task = str(_content(name, "model")[0]["task"])
    if task == CHECKPOINT:
        raise ModelFileError(f"{name}: this is a checkpoint, expected a model")
    return task


def _content(name: str, kind: str) -> tuple[dict[str, Any], Tensors]:
    """Return the checked metadata, which has a task, a header and checksums, and the arrays, not checked yet."""
    metadata, tensors = _read(name, kind)
    if FORMAT not in metadata:
        raise ModelFileError(f"{name}: this is a safetensors file, but not a marginloom {kind}")
    try:
        content = json.loads(metadata[FORMAT])
        _check_version(name, content["version"])
        if content.pop("checksum") != _text_checksum(content):
            raise _damaged(name)
        return {key: content[key] for key in ("task", "header", "checksums")}, tensors
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise _damaged(name) from error


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(f"{name}: the content does not match its checksum, so the file is damaged")


def checksum(array: NDArray[Any]) -> int:
    """Return a checksum of an array's bytes."""
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0


def _kind(task: str) -> str:
    return "checkpoint" if task == CHECKPOINT else "model"


def _read(name: str, kind: str) -> tuple[dict[str, str], Tensors]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(name, framework="numpy"):  # checks that the header fits the file
            pass
        return _map(name)
    except FileNotFoundError as error:
        raise ModelFileError(f"{name}: there is no such file") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{name}: this is a folder, expected a {kind} file") from error
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFileError(
            f"{name}: this is not a {kind} file, or it is cut off or damaged ({error}); expected one that "
            "'marginloom train' has written"
        ) from error


def _map(name: str) -> tuple[dict[str, str], Tensors]:
    """Return metadata, and the arrays as views of the pages, which are read when they are used and shared by processes.

    Both are from the same pages: a file that is replaced in the meantime must not give half of each.
    """
    pages = np.memmap(name, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(pages[:8].tobytes(), "little")
    tensors = {}
    header = json.loads(pages[8:start].tobytes())
    metadata = dict(header.pop("__metadata__", {}))
    for key, entry in header.items():
        first, last = entry["data_offsets"]
        content = pages[start + first : start + last].view(_DTYPES[entry["dtype"]])
        tensors[key] = np.asarray(content).reshape(entry["shape"])
    return metadata, tensors


def _text_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _check_version(name: str, version: Any) -> None:
    if not isinstance(version, int):
        raise ModelFileError(f"{name}: the format version is {version!r}, expected a number; the file is damaged")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{name}: this file has the format version {version}, and this marginloom reads up to {FORMAT_VERSION}; "
            "install a newer marginloom"
        )
