"""A file is the same one under all its names, also before it is there."""

import itertools
import os

import pytest

from marginloom import InputError
from marginloom.io.overwriting import refuse_overwriting, refuse_same_outputs


def spellings(folder, name):
    """Return paths that lead to the same file in different ways, whether it is there or not."""
    (folder / "sub").mkdir()
    (folder / "link-to-folder").symlink_to(folder)
    (folder / "link-to-file").symlink_to(folder / name)
    (folder / "link-to-link").symlink_to("link-to-file")
    return [
        folder / name,
        str(folder / name),
        os.path.relpath(folder / name),
        f"{folder}/./sub/../{name}",
        folder / "link-to-folder" / name,
        folder / "link-to-file",
        folder / "link-to-link",
    ]


def is_refused(one, other):
    with pytest.raises(InputError, match=r"is the same file as .* would be overwritten; choose another name") as caught:
        refuse_overwriting([("-o", one)], [("the input", other)])
    assert f"-o {os.fspath(one)} " in str(caught.value)
    assert f"the input {os.fspath(other)}," in str(caught.value)
    with pytest.raises(InputError, match="are the same file; choose another name"):
        refuse_same_outputs([("--trace", one), ("--model", other)])


@pytest.mark.parametrize("exists", [True, False])
def test_all_spellings_of_a_path_are_one_file(tmp_path, exists):
    paths = spellings(tmp_path, "a")
    if exists:
        (tmp_path / "a").write_text("kept")
        os.link(tmp_path / "a", tmp_path / "hard-link")
        paths.append(tmp_path / "hard-link")
    for one, other in itertools.product(paths, paths):
        is_refused(one, other)


def test_files_in_a_folder_that_is_not_there_are_told_apart(tmp_path):
    is_refused(tmp_path / "new" / "a", tmp_path / "new" / "." / "a")
    refuse_same_outputs([("--trace", tmp_path / "new" / "a"), ("--model", tmp_path / "new" / "b")])


def test_other_files_are_no_matter(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("the same content")
    outputs = [("--model", tmp_path / "a"), ("--trace", tmp_path / "b"), ("-o", tmp_path / "new")]
    refuse_same_outputs(outputs)
    refuse_overwriting(outputs, [("the input", tmp_path / "c"), ("the model", tmp_path / "not there")])


def test_folder_is_not_a_place_for_a_file(tmp_path):
    is_refused(tmp_path, f"{tmp_path}/")


def test_devices_and_pipes_keep_nothing_that_could_be_lost(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", tmp_path / "pipe"):
        refuse_same_outputs([("--model", path), ("--trace", path)])
        refuse_overwriting([("-o", path)], [("the input", path)])


def test_odd_paths_are_left_to_those_who_open_them(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    for path in (tmp_path / "circle", "with a null \0 character"):
        refuse_overwriting([("-o", path)], [("the input", tmp_path / "a")])
