"""One run at a time in a folder, for as long as its process lives and no longer."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading

import pytest

from marginloom import InputError
from marginloom.errors import OutputError, OutputWarning
from marginloom.io.lock import FolderLock

#: Takes a lock, says so, and keeps it until its input ends.
HOLDER = """
import os, signal, sys
from pathlib import Path
from marginloom.io.lock import FolderLock
with FolderLock(Path(sys.argv[1])).held():
    if sys.argv[2] == "forks" and os.fork() != 0:  # the child says that it is there, and waits
        signal.pause()
    print(os.getpid(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "lock"


def start_holder(path, *, how="alone"):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip().isdigit()
    return process


def test_lock_is_there_while_it_is_held_and_the_folder_too(path):
    lock = FolderLock(path)
    for _ in range(2):
        with lock.held():
            assert path.exists()
            with lock.held():
                pass
            assert path.exists()
        assert not path.parent.exists()


def test_folder_that_is_used_or_was_there_before_stays(path):
    lock = FolderLock(path)
    with lock.held():
        lock.folder_is_used = True
    assert list(path.parent.iterdir()) == []
    with FolderLock(path).held():
        pass
    assert list(path.parent.iterdir()) == []


def test_lock_is_given_back_after_a_failure(path):
    with pytest.raises(ZeroDivisionError), FolderLock(path).held():
        raise ZeroDivisionError
    with FolderLock(path).held():
        pass


def test_second_holder_in_the_same_process_is_refused(path):
    with FolderLock(path).held():
        with pytest.raises(InputError, match=rf"in use by process {os.getpid()} \(this process\)"):
            FolderLock(path).held().__enter__()
        assert path.exists()


def test_other_thread_with_the_same_lock_is_refused(path):
    lock = FolderLock(path)
    refused = []

    def work():
        try:
            with lock.held():
                pass
        except InputError as error:
            refused.append(str(error))

    with lock.held():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert "in use by another thread of this process" in refused[0]


def test_other_process_is_named(path):
    holder = start_holder(path)
    try:
        with pytest.raises(
            InputError, match=rf"'{path.parent}' is in use by process {holder.pid} on .*, since 2"
        ) as caught:
            FolderLock(path).held().__enter__()
        assert "this process" not in str(caught.value)
        path.write_text("")  # as it is before the holder has written its name
        with pytest.raises(InputError, match="in use by another process"):
            FolderLock(path).held().__enter__()
    finally:
        holder.communicate()
    with FolderLock(path).held():
        pass


@pytest.mark.parametrize("how", ["alone", "forks"])
def test_lock_of_a_killed_process_does_not_block(path, how):
    """Not even if a process that it has forked lives on."""
    holder = start_holder(path, how=how)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert path.exists()
    with FolderLock(path).held():
        assert str(os.getpid()) in path.read_text()
    assert list(path.parent.iterdir()) == []
    holder.communicate()


def test_forked_process_leaves_the_lock_alone(path):
    with FolderLock(path).held():
        child = os.fork()
        if child == 0:
            return_code = 1
            try:
                FolderLock(path).held().__enter__()
            except InputError:
                return_code = 0
            finally:
                os._exit(return_code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert path.exists()


def test_lock_that_is_removed_while_another_one_opens_it_is_not_held(path, monkeypatch):
    """The second one has opened the file that the first one removes, and must not take that for the lock."""
    first, second = FolderLock(path), FolderLock(path)
    (path.parent).mkdir()
    block = first.held()
    block.__enter__()
    flock = fcntl.flock

    def end_first(descriptor, how):
        monkeypatch.setattr(fcntl, "flock", flock)
        block.__exit__(None, None, None)
        return flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", end_first)
    with second.held():
        assert path.exists()
        with pytest.raises(InputError, match="in use"):
            FolderLock(path).held().__enter__()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_file_system_without_locks_is_told(path, monkeypatch, number):
    def flock(descriptor, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    said = f"'{path.parent}' cannot be locked .*no other run uses it"
    with pytest.warns(OutputWarning, match=said) as caught, FolderLock(path).held():
        assert list(path.parent.iterdir()) == []
    assert len(caught) == 1
    assert not path.parent.exists()


def test_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    for folder, said in ((tmp_path / "a" / "b", "does not exist"), (tmp_path / "file", "is a file, not a folder")):
        with pytest.raises(OutputError, match=said):
            FolderLock(folder / "lock").held().__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
