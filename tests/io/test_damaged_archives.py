"""A damaged .npz archive is told in one sentence, whatever is wrong with it."""

import io
import zipfile

import numpy as np
import pytest
from support.program import fails

from marginloom import InputError, read_detections, write_detections


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "images.npz"
    write_detections(path, np.ones((2, 4, 4)), ["dot", "dash"], [(0, 0, 2, 2), (1, 1, 2, 2)])
    return path


def with_member(path, name, change):
    """Write the archive again with the bytes of one member changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, change(content) if member == f"{name}.npy" else content)
    path.write_bytes(out.getvalue())


def other_header(old, new):
    def change(content):
        assert old in content
        return content.replace(old, new + b" " * (len(old) - len(new)), 1)

    return change


MEMBERS = {
    "header that does not end": ("images", other_header(b"}", b"(")),
    "header that is not one": ("images", other_header(b"{'descr'", b"'''descr")),
    "shape negative": ("images", other_header(b"(2, 4, 4)", b"(-2, 4)")),
    "shape beyond the bytes": ("images", other_header(b"(2, 4, 4), }            ", b"(99999999, 999, 4), }")),
    "shape beyond all memory": ("images", other_header(b"(2, 4, 4), }            ", b"(9999999999999, 9), }")),
    "type unknown": ("images", other_header(b"'<f8'", b"'<x8'")),
    "version unknown": ("boxes", lambda content: content[:6] + b"\x09\x00" + content[8:]),
    "cut off": ("boxes", lambda content: content[:-3]),
    "too long": ("boxes", lambda content: content + b"more"),
    "of no bytes": ("labels", lambda content: b""),
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_damaged_array(archive, kind):
    with_member(archive, *MEMBERS[kind])
    with pytest.raises(InputError, match=f"{archive}: this is not an .npz archive of plain arrays, or it is damaged"):
        read_detections(archive)


#: Where a field of an archive lies, and what it holds.
ARCHIVES = {"encrypted": (6, b"\x01\x00"), "unknown compression": (8, b"\x63\x00")}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_archive_that_zipfile_cannot_read(archive, kind):
    place, new = ARCHIVES[kind]
    content = bytearray(archive.read_bytes())
    directory = content.index(b"PK\x01\x02") + 2  # has the same fields again, two bytes further on
    for start in (place, directory + place):
        content[start : start + 2] = new
    archive.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        read_detections(archive)


def test_no_byte_of_an_archive_makes_another_error(archive):
    whole = archive.read_bytes()
    random = np.random.default_rng(0)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        archive.write_bytes(damaged)
        try:
            read_detections(archive)
        except InputError as error:
            assert str(archive) in str(error)  # noqa: PT017


def test_program_tells_it(archive, tmp_path):
    with_member(archive, *MEMBERS["header that does not end"])
    said = fails("train", "detect", archive, "--model", tmp_path / "m")
    assert f"{archive}: this is not an .npz archive" in said
