"""A folder that one run at a time may use."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marginloom.errors import InputError, OutputWarning
from marginloom.io.files import cannot_write, check_writable_target, disk_is_full
from marginloom.io.names import quoted


class _NoLocksError(Exception):
    """The file system has no locks, or no room for the file."""


class FolderLock:
    """Keeps a second run out of a folder, from this process or another one.

    The lock is the operating system's, on a file in the folder: it ends with the process that holds it, however that
    ends, so that nothing has to be tidied up before the next run. What stands in the file only tells others who holds
    it. Where the file system has no locks there is a warning, and nobody is kept out.

    Parameters
    ----------
    path : path
        The file, which is there while the lock is held. Its folder is made if only its last part does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FolderLock(Path(folder, "run.lock"))
    ...     with lock.held(), lock.held():  # whoever holds it may ask again
    ...         lock.path.exists()
    ...     lock.path.exists()
    True
    False
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Whether the folder is to stay when the lock is given back, although it was made for it.
        self.folder_is_used = False
        self._thread = threading.RLock()
        self._times = 0
        self._descriptor: int | None = None
        self._made_folder = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the time of a ``with`` block; blocks of the same thread may lie within each other.

        Raises
        ------
        InputError
            If somebody else holds it; the message says who.
        OutputError
            If the folder cannot be made or written to.
        """
        if not self._thread.acquire(blocking=False):
            raise self._in_use("another thread of this process")
        try:
            if self._times == 0:
                self._take()
            self._times += 1
            try:
                yield
            finally:
                self._times -= 1
                if self._times == 0:
                    self._give_back()
        finally:
            self._thread.release()

    def _take(self) -> None:
        try:
            while self._descriptor is None:
                self._descriptor = self._locked_file()
        except _NoLocksError as error:
            said = f"the folder {quoted(self.path.parent)} cannot be locked (the system says {str(error)!r})"
            warnings.warn(OutputWarning(f"{said}: take care that no other run uses it"), stacklevel=2)
            return
        _held_here.add(self)
        with suppress(OSError):  # on a full disk others are not told by whom they are kept out
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, _about_this_process(), 0)

    def _locked_file(self) -> int | None:
        """Return a descriptor of the locked file, or None if its holder was about to remove it."""
        self._made_folder |= _make_folder(self.path.parent)
        check_writable_target(self.path)
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the folder has gone with it
            return None
        except OSError as error:
            if disk_is_full(error):
                raise _NoLocksError(error.strerror) from error
            raise cannot_write(str(self.path), error) from error
        try:
            if self._lock(descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def _lock(self, descriptor: int) -> bool:
        """Lock an open file, and tell whether it still is the one at our path."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._in_use(_holder(descriptor)) from error
        except OSError as error:
            self.path.unlink(missing_ok=True)
            raise _NoLocksError(error.strerror) from error
        return _is_at(self.path, descriptor)

    def _give_back(self) -> None:
        _held_here.discard(self)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                if _is_at(self.path, descriptor):
                    self.path.unlink()
            os.close(descriptor)
        if self._made_folder and not self.folder_is_used:
            with suppress(OSError):  # something else is in it
                self.path.parent.rmdir()
        self._made_folder = self.folder_is_used = False

    def _in_use(self, holder: str) -> InputError:
        return InputError(
            f"the folder {quoted(self.path.parent)} is in use by {holder}; wait until that has ended, or choose "
            "another folder"
        )

    def _forget(self) -> None:
        """Leave the lock to the process that this one was forked from."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None
        self._made_folder = False


#: Locks of this process. A forked process has their descriptors too, and would keep the locks of one that was killed.
_held_here: set[FolderLock] = set()


def _forget_all() -> None:
    for lock in _held_here:
        lock._forget()
    _held_here.clear()


os.register_at_fork(after_in_child=_forget_all)


def _make_folder(folder: Path) -> bool:
    """Make a folder, and tell whether that was needed."""
    if folder.exists():
        return False
    check_writable_target(folder)
    try:
        folder.mkdir()
    except FileExistsError:  # made by another process in the meantime
        return False
    except OSError as error:
        if disk_is_full(error):
            raise _NoLocksError(error.strerror) from error
        raise cannot_write(str(folder), error) from error
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _about_this_process() -> bytes:
    started = time.strftime("%Y-%m-%d %H:%M:%S")
    return json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": started}).encode()


def _holder(descriptor: int) -> str:
    try:
        told = json.loads(os.pread(descriptor, 1000, 0))
        process, host, since = int(told["process"]), str(told["host"]), str(told["since"])
    except (OSError, ValueError, TypeError, KeyError):  # it has only just got the lock
        return "another process"
    own = " (this process)" if (process, host) == (os.getpid(), socket.gethostname()) else ""
    return f"process {process}{own} on {host}, since {since}"
