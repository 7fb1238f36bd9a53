"""Model files and checkpoints: arrays in safetensors, the rest as JSON in its metadata. Loading never runs code."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from marginloom.common.memory import require_memory
from marginloom.errors import InputError, ModelFileError
from marginloom.io.files import StrPath, atomic_write
from marginloom.io.names import quoted, shown
from marginloom.io.safetensors_file import map_safetensors, write_safetensors

FORMAT = "marginloom"
FORMAT_VERSION = 1
CHECKPOINT = "checkpoint"  # stands where a model has the name of its task

#: What goes wrong in code that takes the parts of a file for what they should be.
MISFITS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_DEEPEST = 20  # levels of lists and objects; ours have five at most
_PART_BYTES = 1 << 26

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

    Raises
    ------
    InputError
        If the header could not be read again; nothing has been written then.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    content = {
        "version": FORMAT_VERSION,
        "task": task,
        "header": header,
        "checksums": {name: checksum(array) for name, array in arrays.items()},
    }
    content["checksum"] = zlib.crc32(json_text(content).encode())
    with atomic_write(path) as file:  # one metadata entry: the order of several would differ from run to run
        write_safetensors(file, arrays, {FORMAT: json.dumps(content, sort_keys=True)})


@dataclasses.dataclass(frozen=True)
class OpenedFile:
    """A model file or a checkpoint whose metadata have been checked, opened once; `load_model` checks the rest.

    Attributes
    ----------
    name : str
        The file.
    task : str
        The task's name on the command line, or `CHECKPOINT`.
    header : object
        What JSON has of the content.
    checksums : object
        Of the arrays, as the file says.
    tensors : dict
        Arrays by name: views of the file's pages, so that all parts are those of one file even if it is replaced.
    """

    name: str
    task: Any
    header: Any
    checksums: Any
    tensors: Tensors


def load_model(source: StrPath | OpenedFile, task: str) -> tuple[dict[str, Any], Tensors]:
    """Read a model file of a task, or a checkpoint, and return its header and arrays.

    Raises
    ------
    ModelFileError
        If the file is missing, not one of ours, of another task, of a newer version, cut off or damaged.
    """
    kind = _kind(task)
    opened = source if isinstance(source, OpenedFile) else _open(source, kind)
    if opened.task != task:
        if _kind(opened.task) != kind:
            raise ModelFileError(f"{shown(opened.name)}: this is a {_kind(opened.task)}, expected a {kind}")
        raise ModelFileError(f"{shown(opened.name)}: this is a model of the task {opened.task!r}, expected {task!r}")
    header, checksums = opened.header, {key: checksum(array) for key, array in opened.tensors.items()}
    if not isinstance(header, dict) or opened.checksums != checksums:
        raise _damaged(opened.name)
    return header, opened.tensors


def open_model(path: StrPath) -> OpenedFile:
    """Open a model file, to see which task it belongs to; its arrays are not read.

    Raises
    ------
    ModelFileError
        If the file is missing, not one of ours, a checkpoint, of a newer version, cut off or damaged.
    """
    opened = _open(path, "model")
    if opened.task == CHECKPOINT:
        raise ModelFileError(f"{shown(opened.name)}: this is a checkpoint, expected a model")
    return opened


def _open(path: StrPath, kind: str) -> OpenedFile:
    name = os.fspath(path)
    metadata, tensors = _read(name, kind)
    if FORMAT not in metadata:
        raise ModelFileError(f"{shown(name)}: this is a safetensors file, but not a marginloom {kind}")
    try:
        content = parse_json(metadata[FORMAT])
        _check_version(name, content["version"])
        if content.pop("checksum") != _text_checksum(content):
            raise _damaged(name)
        return OpenedFile(name, content["task"], content["header"], content["checksums"], tensors)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise _damaged(name) from error


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; `ValueError` unless it can be printed and walked through without care.

    Examples
    --------
    >>> parse_json('{"labels": [1, 2]}')
    {'labels': [1, 2]}
    """
    value = json.loads(text)
    _check_json(value)
    return value


def json_text(value: Any) -> str:
    r"""Return a JSON text that `parse_json` reads; `InputError` if there is none of that value.

    Examples
    --------
    >>> json_text({"name": "caf\\xe9.txt"})
    '{"name": "caf\\\\xe9.txt"}'
    """
    try:
        _check_json(value)
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"this cannot be written such that it is read again: {error}") from error


def _check_json(value: Any) -> None:
    _check_depth(value, _DEEPEST)
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is text for JSON, and for nothing else


def _check_depth(value: Any, allowed: int) -> None:
    if allowed == 0:
        raise ValueError("lists within lists without end")
    if isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, allowed - 1)


def misfit(path: StrPath, kind: str, error: Exception) -> ModelFileError:
    """Return the error that says, in one line, why the parts of a file do not fit together."""
    reason = f"there is no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:300]
    return ModelFileError(
        f"{shown(path)}: the parts of the {kind} do not fit together ({reason}); it is damaged, or was not written "
        "by marginloom"
    )


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(f"{shown(name)}: the content does not match its checksum, so the file is damaged")


def checksum(array: NDArray[Any]) -> int:
    """Return a checksum of an array's bytes."""
    content = array.reshape(-1).view(np.uint8).data if array.size else b""
    found = 0
    for start in range(0, len(content), _PART_BYTES):  # Ctrl-C is heard between parts
        found = zlib.crc32(content[start : start + _PART_BYTES], found)
    return found


def _kind(task: str) -> str:
    return "checkpoint" if task == CHECKPOINT else "model"


def _read(name: str, kind: str) -> tuple[dict[str, str], Tensors]:
    with _readable(name, kind) as file:
        size = os.fstat(file.fileno()).st_size
        require_memory(
            f"the {kind} {quoted(name)}", {"file": size}, "use it where there is more, or train a smaller one"
        )
        try:
            return map_safetensors(file)
        except (OSError, ValueError) as error:
            raise ModelFileError(
                f"{shown(name)}: this is not a {kind} file, or it is cut off or damaged ({error}); expected one that "
                "'marginloom train' has written"
            ) from error


def _readable(name: str, kind: str) -> BinaryIO:
    """Open a file, or say why it cannot be read."""
    try:
        mode = Path(name).stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelFileError(f"{shown(name)}: this is a folder, expected a {kind} file")
        if not stat.S_ISREG(mode):  # opening a pipe would wait for who writes it
            raise ModelFileError(
                f"{shown(name)}: this is a device or a pipe, and a {kind} can be read from a file only"
            )
        return Path(name).open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelFileError(f"{shown(name)}: there is no such file") from error
    except PermissionError as error:
        raise ModelFileError(
            f"{shown(name)}: permission is denied; change the permissions of the file or its folders, or copy it "
            "elsewhere"
        ) from error
    except OSError as error:
        raise ModelFileError(f"{shown(name)}: the file cannot be opened: the system says {error.strerror!r}") from error
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{quoted(name)} cannot be the name of a file: {error}") from error


def _text_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _check_version(name: str, version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"{shown(name)}: the format version is {version!r}, expected a number; the file is damaged"
        )
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{shown(name)}: this file has the format version {version}, and this marginloom reads up to "
            f"{FORMAT_VERSION}; install a newer marginloom"
        )
