"""Reading files plain or compressed, and writing files so that a reader never sees half of one."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import lzma
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, overload

from marginloom.common.memory import require_memory
from marginloom.errors import InputError, OutputError
from marginloom.io.names import StrPath, quoted, shown
from marginloom.io.standard_input import standard_input

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "StrPath",
    "atomic_write",
    "cannot_write",
    "check_writable_target",
    "decode_utf8",
    "disk_is_full",
    "open_binary",
    "read_bytes",
    "temporary_prefix",
    "text_lines",
]

_DECOMPRESSORS: dict[str, Callable[[str], io.BufferedIOBase]] = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile}
_BROKEN_COMPRESSION = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError)
# ValueError: what the operating system interface says about a path with a null character in it.
_READ_FAILURES = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
_DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BUFFER_BYTES = 1 << 17
_PIECE_BYTES = 1 << 24
_FIRST_BYTES = 1 << 24


def read_bytes(path: StrPath, copies: int = 1) -> bytes:
    """Read a whole file; a name that ends in .gz or .xz is decompressed.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input, which is never decompressed.
    copies : int
        How often its content will be held at once, by this function or by who calls it.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    InputError
        If the file is missing, a folder, not readable, larger than the memory that there is, or its compression is
        broken or cut off.

    Examples
    --------
    >>> import gzip, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "words.gz")
    ...     size = path.write_bytes(gzip.compress(b"a word"))
    ...     read_bytes(path)
    b'a word'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"a file is named by a string or a path, not {path!r}"[:300])
    name = os.fspath(path)
    try:
        with nullcontext(standard_input()) if name == "-" else closing(_open_stream(name)) as stream:
            return _read_whole(stream, name, copies)
    except InputError:
        raise
    except _READ_FAILURES as error:
        raise _cannot_read(name, error) from error


def _read_whole(stream: BinaryIO | io.BufferedIOBase, name: str, copies: int) -> bytes:
    """Read in pieces, between which Ctrl-C is heard, having looked whether there is memory for them."""

    def require(size: int) -> None:
        require_memory(f"reading {quoted(name)}", {"text": copies * size}, "give a part of it")

    content = io.BytesIO()
    limit = _FIRST_BYTES
    if isinstance(stream, io.BufferedReader) and name != "-":
        size = Path(name).stat().st_size
        require(size)
        limit = max(limit, size)
    while piece := stream.read(_PIECE_BYTES):
        content.write(piece)
        if content.tell() > limit:  # what is compressed, or a pipe, tells its size by and by: it may double
            require(content.tell())
            limit = 2 * content.tell()
    return content.getvalue()


def open_binary(path: StrPath) -> BinaryIO:
    r"""Open a file for reading as a stream of bytes, decompressed as by `read_bytes`.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` is standard input, which is never decompressed and which closing the stream closes.

    Returns
    -------
    binary file
        Broken compression shows up while reading, as an `InputError` too.

    Raises
    ------
    InputError
        If the file is missing, a folder or not readable.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "words.txt")
    ...     size = path.write_bytes(b"one\ntwo\n")
    ...     with open_binary(path) as stream:
    ...         [line.rstrip() for line in stream]
    [b'one', b'two']
    """
    name = os.fspath(path)
    if name == "-":
        return standard_input()
    try:
        stream = _open_stream(name)
    except _READ_FAILURES as error:
        raise _cannot_read(name, error) from error
    if isinstance(stream, io.BufferedReader):
        return stream
    return io.BufferedReader(_Decompressed(stream, name), _BUFFER_BYTES)


def decode_utf8(data: bytes, name: str, first_line: int = 1) -> str:
    """Decode UTF-8 strictly; a byte order mark at the start of the file is dropped.

    Parameters
    ----------
    data : bytes
        The file's content, or a piece of it that starts at the start of a line.
    name : str
        The file's name, for the error message.
    first_line : int
        The number of the line with which `data` starts, from 1.

    Returns
    -------
    str
        The text.

    Raises
    ------
    InputError
        If a byte is not valid UTF-8; the message names file, line and byte.

    Examples
    --------
    >>> decode_utf8("na\u00efve".encode(), "words.txt") == "na\u00efve"
    True
    """
    if first_line == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise InputError(
            f"{shown(name)}, line {line}: found the byte 0x{data[error.start]:02x} where UTF-8 is expected; "
            "convert the file to UTF-8 (for example with iconv)"
        ) from error


def text_lines(text: str) -> list[str]:
    r"""Return the lines of a text without their ends, which are those of the formats: other letters end no line.

    Examples
    --------
    >>> text_lines("one\r\ntwo\u2028still two\n")
    ['one', 'two\u2028still two', '']
    """
    return [line.removesuffix("\r") for line in text.split("\n")]


@overload
def atomic_write(path: StrPath, mode: Literal["wb"] = "wb") -> AbstractContextManager[BinaryIO]: ...
@overload
def atomic_write(path: StrPath, mode: Literal["w"]) -> AbstractContextManager[TextIO]: ...
def atomic_write(path: StrPath, mode: Literal["wb", "w"] = "wb") -> AbstractContextManager[Any]:
    r"""Write a file under a temporary name in the same folder; it gets its own name once it is complete.

    If the block raises, the temporary file is removed and what stood at `path` is untouched. An existing
    file keeps its permissions, a link stays a link, and a device or pipe (``/dev/null``) is written directly.

    Parameters
    ----------
    path : str or path-like
        The file to write; its content is not compressed, whatever its name.
    mode : {"wb", "w"}
        Bytes, or text in UTF-8 with ``\n`` line ends.

    Returns
    -------
    context manager
        Yields the open file.

    Raises
    ------
    OutputError
        If the folder is missing or not writable, `path` is a folder, or the disk is full.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bin")
    ...     with atomic_write(path) as file:
    ...         size = file.write(b"weights")
    ...     path.read_bytes()
    b'weights'
    """
    if mode not in ("wb", "w"):
        raise InputError(f"mode is {mode!r}; it must be 'wb' or 'w'")
    return _written_whole(os.fspath(path), mode)


def check_writable_target(path: StrPath) -> None:
    """Raise the error that `atomic_write` would raise, before long work begins.

    Parameters
    ----------
    path : str or path-like
        The file to be written later.

    Raises
    ------
    OutputError
        If `path` is a folder, or its folder is missing or not writable.

    Examples
    --------
    >>> check_writable_target("no such folder/model.bin")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.OutputError: cannot write 'no such folder/model.bin': the folder ... does not exist; ...
    """
    name = os.fspath(path)
    status = _status(name, name)
    # pathlib forgets a slash at the end, so the text itself is looked at.
    if name.endswith(os.sep) or not name or (status is not None and stat.S_ISDIR(status.st_mode)):
        raise OutputError(f"cannot write {quoted(name)}: it names a folder; give the name of a file")
    if status is None or stat.S_ISREG(status.st_mode):
        _check_folder(name, Path(name).resolve().parent)


def _open_stream(name: str) -> io.BufferedIOBase:
    decompressor = _DECOMPRESSORS.get(Path(name).suffix.lower())
    if decompressor is None:
        return Path(name).open("rb")
    status = Path(name).stat()
    # gzip takes a file of no bytes for a complete one, but no compressor writes such a file.
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise EOFError("the file has no bytes")
    return decompressor(name)


def _cannot_read(name: str, error: Exception) -> InputError:
    suffix = Path(name).suffix
    if isinstance(error, _BROKEN_COMPRESSION):
        found = f"its {suffix} compression is broken or cut off ({error}); copy or compress it again"
    elif isinstance(error, FileNotFoundError):
        found = "there is no such file; check the path"
    elif isinstance(error, IsADirectoryError):
        found = "it is a folder; give the name of a file"
    elif isinstance(error, PermissionError):
        found = "permission is denied; change the permissions of the file or its folders, or copy it elsewhere"
    else:
        found = f"the system says {_reason(error)!r}; check the path and the disk"
    return InputError(f"cannot read {quoted(name)}: {found}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class _Decompressed(io.RawIOBase):
    """A decompressing stream whose failures are the errors that users see."""

    def __init__(self, stream: io.BufferedIOBase, name: str) -> None:
        self._stream = stream
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        try:
            return self._stream.readinto(buffer)
        except _READ_FAILURES as error:
            raise _cannot_read(self._name, error) from error

    def close(self) -> None:
        self._stream.close()
        super().close()


def _status(path: str | Path, name: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise cannot_write(name, error) from error


def _check_folder(name: str, folder: Path) -> None:
    status = _status(folder, name)
    advice = "create it or choose another path"
    if status is None:
        raise OutputError(f"cannot write {quoted(name)}: the folder {quoted(folder)} does not exist; {advice}")
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"cannot write {quoted(name)}: {quoted(folder)} is a file, not a folder; choose another path")
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise _folder_not_writable(name, folder)


def _folder_not_writable(name: str, folder: Path) -> OutputError:
    advice = "change its permissions or choose another path"
    return OutputError(f"cannot write {quoted(name)}: the folder {quoted(folder)} is not writable; {advice}")


def disk_is_full(error: Exception) -> bool:
    """Tell whether the system refuses to write because there is no room, or not for this user."""
    return getattr(error, "errno", None) in _DISK_IS_FULL


def cannot_write(name: str, error: Exception) -> OutputError:
    """Return the error that users see for one of the system."""
    advice = "free some space" if disk_is_full(error) else "check the path"
    return OutputError(
        f"cannot write {quoted(name)}: the system says {_reason(error)!r}; {advice} or choose another path"
    )


@contextmanager
def _written_whole(name: str, mode: Literal["wb", "w"]) -> Iterator[IO[Any]]:
    check_writable_target(name)
    # Asked of the name as given: /dev/stdout resolves to something that has no name in the file system.
    status = _status(name, name)
    replaces = status is None or stat.S_ISREG(status.st_mode)
    writer = _replacing(name, mode, status) if replaces else _writing_directly(name, mode)
    with writer as file:
        yield file


@contextmanager
def _writing_directly(name: str, mode: str) -> Iterator[IO[Any]]:
    with _disk_errors_named(name), _open_for_writing(Path(name), mode, name) as file:
        yield file


@contextmanager
def _replacing(name: str, mode: str, status: os.stat_result | None) -> Iterator[IO[Any]]:
    target = Path(name).resolve()
    temporary = target.with_name(f"{temporary_prefix(target.name)}{secrets.token_hex(8)}.tmp")
    file: IO[Any] | None = None
    try:
        file = _open_for_writing(temporary, mode.replace("w", "x"), name)
        with _disk_errors_named(name):
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
        _put_in_place(name, temporary, target, status)
    except BaseException:
        try:
            if file is not None:
                with suppress(OSError):  # closing tries once more to write what a full disk refused
                    file.close()
        finally:  # also if a second interruption comes meanwhile
            temporary.unlink(missing_ok=True)
        raise


def temporary_prefix(name: str) -> str:
    """Return how the temporary names of a file begin, by which leftovers of a killed process can be found."""
    return f".marginloom-{name[:40]}-"


def _open_for_writing(path: Path, mode: str, name: str) -> IO[Any]:
    try:
        return path.open(mode) if "b" in mode else path.open(mode, encoding="utf-8", newline="\n")
    except PermissionError as error:
        raise _folder_not_writable(name, path.parent) from error
    except OSError as error:
        raise cannot_write(name, error) from error


@contextmanager
def _disk_errors_named(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if disk_is_full(error):
            raise cannot_write(name, error) from error
        raise


def _put_in_place(name: str, temporary: Path, target: Path, status: os.stat_result | None) -> None:
    try:
        if status is not None:
            temporary.chmod(stat.S_IMODE(status.st_mode))
        temporary.replace(target)
    except OSError as error:
        raise cannot_write(name, error) from error
