"""Files are read whole or as streams, written atomically, and every failure is one sentence that helps."""

import doctest
import errno
import gzip
import io
import lzma
import os
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.errors import InputError
from marginloom.io import files
from marginloom.io.files import atomic_write, check_writable_target, decode_utf8, open_binary, read_bytes

COMPRESSORS = {".txt": lambda data: data, ".gz": gzip.compress, ".xz": lzma.compress, ".GZ": gzip.compress}
TEXT = b"".join(b"line %d of the file\n" % number for number in range(20_000))
NOBODY = 65534


def read_stream(path):
    with open_binary(path) as stream:
        return stream.read()


@contextmanager
def as_ordinary_user():
    """Permissions do not bind the root user, so tests of them step down for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only_folder():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "secret.txt").write_bytes(b"x")
        (folder / "secret.txt").chmod(0)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(files).failed == 0


@pytest.mark.parametrize("read", [read_bytes, read_stream])
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_content_comes_back_whatever_the_compression(tmp_path, read, suffix):
    path = tmp_path / f"corpus.conll{suffix}"
    path.write_bytes(COMPRESSORS[suffix](TEXT))
    assert read(path) == TEXT
    assert read(str(path)) == TEXT


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_stream_gives_lines(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(COMPRESSORS[suffix](TEXT))
    with open_binary(path) as stream:
        assert stream.readline() == b"line 0 of the file\n"
        assert sum(1 for _ in stream) == 19_999


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_concatenated_compressed_files_are_read_to_the_end(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(COMPRESSORS[suffix](b"one\n") + COMPRESSORS[suffix](b"two\n"))
    assert read_bytes(path) == read_stream(path) == b"one\ntwo\n"


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_closing_the_stream_closes_the_file(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(COMPRESSORS[suffix](TEXT))
    next_descriptor = os.dup(0)
    os.close(next_descriptor)
    stream = open_binary(path)
    stream.read(10)
    stream.close()
    assert stream.closed
    with path.open("rb") as file:
        assert file.fileno() == next_descriptor


@pytest.mark.parametrize("read", [read_bytes, read_stream])
@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut off", "not compressed", "empty", "bytes changed"])
def test_broken_compression_is_an_error_that_names_the_file(tmp_path, read, suffix, damage):
    whole = COMPRESSORS[suffix](TEXT)
    middle = len(whole) // 2
    content = {
        "cut off": whole[:middle],
        "not compressed": TEXT,
        "empty": b"",
        "bytes changed": whole[:middle] + bytes(50) + whole[middle + 50 :],
    }[damage]
    path = tmp_path / f"corpus{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"corpus\{suffix}'.* compression is broken or cut off .*again"):
        read(path)


@pytest.mark.parametrize("read", [read_bytes, read_stream])
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_missing_file_and_folder_are_told_apart(tmp_path, read, suffix):
    path = tmp_path / f"corpus{suffix}"
    with pytest.raises(InputError, match=rf"corpus\{suffix}'.*no such file; check the path"):
        read(path)
    path.mkdir()
    with pytest.raises(InputError, match=rf"corpus\{suffix}'.*is a folder; give the name of a file"):
        read(path)


@pytest.mark.parametrize("read", [read_bytes, read_stream])
def test_unreadable_file_is_an_error_that_says_so(read_only_folder, read):
    with as_ordinary_user(), pytest.raises(InputError, match=r"secret\.txt'.*permission is denied; change"):
        read(read_only_folder / "secret.txt")


@pytest.mark.parametrize("use", [read_bytes, read_stream, check_writable_target])
def test_path_with_a_null_character_is_an_input_error(use):
    with pytest.raises(InputError, match="null"):
        use("corpus\0.txt")


def test_hyphen_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    assert open_binary("-") is sys.stdin.buffer
    assert open_binary("-").read() == b"from a pipe"


@given(st.text())
def test_valid_utf8_is_decoded_unchanged(text):
    assert decode_utf8(text.encode(), "f", first_line=2) == text


def test_only_the_byte_order_mark_that_starts_the_file_is_dropped():
    assert decode_utf8(b"\xef\xbb\xbfword\xef\xbb\xbf", "f") == "word\ufeff"
    assert decode_utf8(b"\xef\xbb\xbfword", "f", first_line=2) == "\ufeffword"


@pytest.mark.parametrize(
    ("data", "first_line", "line", "byte"),
    [
        (b"caf\xe9 ol\xe9\n", 1, 1, "0xe9"),
        (b"\xef\xbb\xbfone\ntwo\n\xff\n", 1, 3, "0xff"),
        (b"one\r\ntwo \xc3\n", 1, 2, "0xc3"),
        (b"one\n\xed\xa0\x80\n", 41, 42, "0xed"),
        (b"cut off \xe2\x82", 7, 7, "0xe2"),
    ],
)
def test_invalid_utf8_is_an_error_with_file_line_and_byte(data, first_line, line, byte):
    with pytest.raises(InputError, match=rf"^corpus\.txt, line {line}: .*{byte} where UTF-8 is expected; convert"):
        decode_utf8(data, "corpus.txt", first_line)


def test_target_appears_only_when_complete(tmp_path):
    target = tmp_path / "model"
    with atomic_write(target) as file:
        file.write(b"weights")
        file.flush()
        assert not target.exists()
        assert len(names_in(tmp_path)) == 1
    assert target.read_bytes() == b"weights"
    assert names_in(tmp_path) == ["model"]


def test_text_mode_writes_utf8_and_plain_line_ends(tmp_path):
    with atomic_write(tmp_path / "out.txt", "w") as file:
        file.write("naïve\n")
    assert (tmp_path / "out.txt").read_bytes() == "naïve\n".encode()


def test_unknown_mode_is_refused(tmp_path):
    with pytest.raises(InputError, match="mode is 'ab'"):
        atomic_write(tmp_path / "out.txt", "ab")


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, OSError])
def test_failure_leaves_the_target_untouched_and_no_other_file(tmp_path, failure):
    target = tmp_path / "model"
    target.write_bytes(b"old")
    with pytest.raises(failure), atomic_write(target) as file:  # noqa: PT012
        file.write(b"half of the new")
        raise failure
    assert target.read_bytes() == b"old"
    assert names_in(tmp_path) == ["model"]


def test_failure_creates_no_target(tmp_path):
    with pytest.raises(RuntimeError), atomic_write(tmp_path / "model"):
        raise RuntimeError
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_new_file_has_the_permissions_that_the_umask_gives(tmp_path, umask):
    before = os.umask(umask)
    try:
        with atomic_write(tmp_path / "model") as file:
            file.write(b"weights")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_replaced_file_keeps_its_permissions(tmp_path, mode):
    target = tmp_path / "model"
    target.write_bytes(b"old")
    target.chmod(mode)
    with atomic_write(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_link_stays_a_link_to_the_new_content(tmp_path):
    (tmp_path / "versions").mkdir()
    (tmp_path / "model").symlink_to(Path("versions", "1"))
    with atomic_write(tmp_path / "model") as file:
        file.write(b"new")
    assert (tmp_path / "model").is_symlink()
    assert (tmp_path / "versions" / "1").read_bytes() == b"new"


def test_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with atomic_write(pipe) as file:
            file.write(b"through the pipe")
        assert os.read(reader, 100) == b"through the pipe"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert names_in(tmp_path) == ["pipe"]


def write_something(path):
    with atomic_write(path) as file:
        file.write(b"x")


WAYS_TO_FIND_OUT = pytest.mark.parametrize("attempt", [check_writable_target, write_something])


@WAYS_TO_FIND_OUT
def test_missing_folder_is_named(tmp_path, attempt):
    target = tmp_path / "no such" / "model"
    with pytest.raises(InputError, match=r"model': the folder '.*no such' does not exist; create it"):
        attempt(target)
    with pytest.raises(InputError, match=r"folder '.*no such/deeper' does not exist; create it"):
        attempt(tmp_path / "no such" / "deeper" / "model")


@WAYS_TO_FIND_OUT
def test_file_in_place_of_the_folder_is_named(tmp_path, attempt):
    (tmp_path / "corpus").write_bytes(b"")
    with pytest.raises(InputError, match=r"corpus' is a file, not a folder"):
        attempt(tmp_path / "corpus" / "model")


@WAYS_TO_FIND_OUT
@pytest.mark.parametrize("ending", ["", "/", "/new/"])
def test_folder_as_target_is_refused(tmp_path, attempt, ending):
    with pytest.raises(InputError, match="names a folder; give the name of a file"):
        attempt(f"{tmp_path}{ending}")
    assert names_in(tmp_path) == []


@WAYS_TO_FIND_OUT
def test_empty_path_is_refused(attempt):
    with pytest.raises(InputError, match="cannot write ''"):
        attempt("")


@WAYS_TO_FIND_OUT
def test_folder_that_is_not_writable_is_named(read_only_folder, attempt):
    with as_ordinary_user(), pytest.raises(InputError, match=r"folder '.*' is not writable; change"):
        attempt(read_only_folder / "model")


def test_folder_that_became_unwritable_after_the_check_is_named(read_only_folder, monkeypatch):
    monkeypatch.setattr(files, "check_writable_target", lambda path: None)
    with as_ordinary_user(), pytest.raises(InputError, match=r"folder '.*' is not writable; change"):
        write_something(read_only_folder / "model")


def test_check_passes_and_leaves_no_trace_where_writing_would_work(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    check_writable_target(tmp_path / "new")
    check_writable_target(tmp_path / "old")
    assert names_in(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch, step):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(InputError, match=r"model'.*No space left.*free some space"):
        write_something(tmp_path / "model")
    assert names_in(tmp_path) == []
