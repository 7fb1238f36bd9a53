"""Bad input is told in one line with file, line, what was found and what was expected; nothing is written."""

import gzip
import lzma

import numpy as np
import pytest
from support.program import TIMEOUT, conllu, fails, names_in, refuses, run, start

from marginloom.io.model import save_model

GOOD = b"the\tDET\ndog\tNOUN\n\nit\tPRON\n\n"
ROWS = conllu([["the", "dog"]], [["DET", "NOUN"]])

# name, content, what the message has to say besides the name
BAD_FILES = {
    "ragged": ("x.conll", GOOD + b"a\tDET\tX\n\n", ["line 6", "found 3 columns", "expected 2"]),
    "one column short": ("x.conll", GOOD + b"\n\na\n", ["line 8", "found 1 column", "expected 2"]),
    "ragged with crlf": ("x.conll", (GOOD + b"a b c\n").replace(b"\n", b"\r\n"), ["line 6", "found 3", "expected 2"]),
    "latin-1": ("x.conll", GOOD + "naïve\tADJ\n".encode("latin-1"), ["line 6", "0xef", "UTF-8"]),
    "utf-16": ("x.conll", GOOD.decode().encode("utf-16"), ["line 1", "0xff", "UTF-8"]),
    "binary": ("x.conll", bytes(range(256)) * 4, ["line", "UTF-8"]),
    "empty": ("x.conll", b"", ["found no sentence", "expected"]),
    "blank lines": ("x.conll", b"\n \n\t\n\n", ["found no sentence", "expected"]),
    "document marks": ("x.conll", b"-DOCSTART- -X-\n\n-DOCSTART- -X-\n\n", ["found no sentence", "expected"]),
    "comments": ("x.conllu", b"# a comment\n\n# another\n\n", ["found no sentence", "expected"]),
    "conllu short": ("x.conllu", ROWS.replace("\t_\t_\n", "\t_\n", 1).encode(), ["line 1", "found 9", "expected 10"]),
    "conllu spaces": ("x.conllu", ROWS.replace("\t", " ").encode(), ["line 1", "found 1 column", "tabs"]),
    "not gzip": ("x.conll.gz", GOOD, [".gz compression is broken"]),
    "gzip cut off": ("x.conll.gz", gzip.compress(GOOD * 50)[:-20], [".gz compression is broken or cut off"]),
    "gzip of no bytes": ("x.conll.gz", b"", [".gz compression is broken or cut off"]),
    "not xz": ("x.conll.xz", GOOD, [".xz compression is broken"]),
    "xz cut off": ("x.conll.xz", lzma.compress(GOOD * 50)[:-20], [".xz compression is broken or cut off"]),
    "ragged in gzip": ("x.conll.gz", gzip.compress(GOOD + b"a\n"), ["line 6", "found 1 column", "expected 2"]),
}


@pytest.fixture
def files(tmp_path):
    """A folder for what the program reads, apart from the one into which it may write."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def written(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("kind", BAD_FILES)
def test_training_file(files, out, kind):
    name, content, parts = BAD_FILES[kind]
    path = written(files, name, content)
    said = fails("train", "tag", path, "--model", out / "m", "--trace", out / "t")
    for part in [str(path), *parts]:
        assert part in said
    assert names_in(out) == []


@pytest.mark.parametrize("role", ["train", "--dev", "--test"])
def test_every_file_is_checked_before_training(corpus, files, out, role):
    path = written(files, "bad.conll", b"a X\nb\n")
    others = [path] if role == "train" else [role, path]
    said = fails("train", "tag", corpus / "train.conll", *others, "--model", out / "m", "--trace", out / "t")
    assert f"{path}, line 2" in said
    assert names_in(out) == []


@pytest.mark.parametrize("kind", ["ragged", "latin-1", "empty", "gzip cut off"])
def test_file_to_evaluate(model, files, kind):
    name, content, parts = BAD_FILES[kind]
    path = written(files, name, content)
    said = fails("evaluate", model, path)
    for part in [str(path), *parts]:
        assert part in said


@pytest.mark.parametrize("kind", ["ragged", "latin-1", "utf-16", "conllu short", "not gzip", "gzip cut off"])
def test_file_to_predict_leaves_the_output_alone(model, files, out, kind):
    name, content, parts = BAD_FILES[kind]
    path = written(files, name, content)
    written(out, "old", b"what stood here before")
    said = fails("predict", model, path, "-o", out / "old")
    for part in [str(path), *parts]:
        assert part in said
    assert names_in(out) == ["old"]
    assert (out / "old").read_bytes() == b"what stood here before"


def test_ragged_columns_in_a_later_piece_of_a_stream(model, files, out):
    """Prediction reads in pieces, and the second piece must fit the first."""
    path = written(files, "x.conll", GOOD * 6000 + b"a\tDET\tX\n\n")
    said = fails("predict", model, path, "-o", out / "o")
    for part in (f"{path}, line {6000 * 5 + 1}", "found 3 columns", "expected 2"):
        assert part in said
    assert names_in(out) == []


def test_ragged_columns_are_found_however_the_stream_is_cut(model):
    process = start("predict", model, "-")
    process.stdin.write(b"the\tDET\n\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"the\tDET\tDET\n"
    _, err = process.communicate(b"the\tDET\tX\n\n", timeout=TIMEOUT)
    assert process.returncode == 1
    assert b"line 3: found 3 columns, expected 2" in err


def test_wrong_byte_in_a_later_piece_of_a_stream(model, files, out):
    path = written(files, "x.conll", GOOD * 6000 + b"\xff\tDET\n\n")
    said = fails("predict", model, path, "-o", out / "o")
    assert f"{path}, line {6000 * 5 + 1}" in said
    assert names_in(out) == []


def test_bad_standard_input_is_named(model):
    said = run("predict", model, "-", stdin=b"a\tb\nc\n", code=1).stderr
    assert "line 2" in said
    assert "found 1 column" in said


@pytest.mark.parametrize("number", ["3", "99"])
def test_column_that_is_not_there(corpus, out, number):
    said = fails("train", "tag", corpus / "train.conll", "--model", out / "m", "--column", number)
    for part in (str(corpus / "train.conll"), "line 1", "found 2 columns", f"column {number}", "--column"):
        assert part in said
    assert names_in(out) == []


def test_column_that_a_second_file_does_not_have(files, out):
    one, two = written(files, "one", b"a X Y\n"), written(files, "two", b"\na X\n")
    said = fails("train", "tag", one, two, "--model", out / "m")
    for part in (f"{two}, line 2", "found 2 columns", "column 3"):
        assert part in said


def test_column_that_the_file_to_evaluate_does_not_have(model, files):
    path = written(files, "words", b"the\nit\n")
    said = fails("evaluate", model, path)
    for part in (f"{path}, line 1", "found 1 column", "column 2"):
        assert part in said


def test_labels_in_the_column_of_the_words(corpus, out):
    said = fails("train", "tag", corpus / "train.conll", "--model", out / "m", "--column", "1")
    assert "words" in said
    assert names_in(out) == []


def test_file_with_words_only(files, out):
    path = written(files, "words", b"the\ndog\n")
    assert str(path) in fails("train", "tag", path, "--model", out / "m")
    assert names_in(out) == []


def test_formats_cannot_be_mixed(corpus, files, out):
    path = written(files, "x.conllu", ROWS.encode())
    assert "--format" in fails("train", "tag", corpus / "train.conll", path, "--model", out / "m")
    assert names_in(out) == []


def test_cost_of_a_label_that_does_not_occur(corpus, out):
    said = fails("train", "tag", corpus / "train.conll", "--model", out / "m", "--label-cost", "XYZ=2")
    assert "XYZ" in said
    assert "NOUN" in said
    assert names_in(out) == []


def test_infinite_cost_of_a_label(corpus, out):
    said = refuses("train", "tag", corpus / "train.conll", "--model", out / "m", "--label-cost", "NOUN=inf")
    assert "NOUN=inf" in said
    assert names_in(out) == []


def test_input_that_is_not_there(model, files, out):
    gone = files / "gone.conll"
    for arguments in (["train", "tag", gone, "--model", out / "m"], ["predict", model, gone, "-o", out / "o"]):
        said = fails(*arguments)
        assert str(gone) in said
        assert "no such file" in said
    assert str(gone) in fails("evaluate", model, gone)
    assert names_in(out) == []


def test_input_that_is_a_folder(model, files, out):
    for arguments in (["train", "tag", files, "--model", out / "m"], ["predict", model, files, "-o", out / "o"]):
        said = fails(*arguments)
        assert str(files) in said
        assert "folder" in said
    assert names_in(out) == []


def test_output_folder_that_is_not_there(corpus, model, out):
    target = out / "no" / "m"
    for arguments in (
        ["train", "tag", corpus / "train.conll", "--model", target],
        ["train", "tag", corpus / "train.conll", "--model", out / "m", "--trace", target],
        ["predict", model, corpus / "dev.conll", "-o", target],
    ):
        said = fails(*arguments)
        assert str(target) in said
        assert "does not exist" in said
        assert names_in(out) == []


def test_output_that_is_a_folder(corpus, out):
    said = fails("train", "tag", corpus / "train.conll", "--model", out)
    assert str(out) in said
    assert "folder" in said
    assert names_in(out) == []


@pytest.fixture
def other_models(files, model):
    """Files that are no models for these commands, with what has to be said about them."""
    whole = model.read_bytes()
    save_model(files / "other", "translate", {}, {"weights": np.zeros(2)})
    written(files, "cut", whole[: len(whole) // 2])
    written(files, "damaged", whole[:-40] + bytes([whole[-40] ^ 4]) + whole[-39:])
    written(files, "empty", b"")
    written(files, "text", GOOD)
    return {
        "other": ["'translate'", "expected 'tag'"],
        "cut": ["cut off or damaged"],
        "damaged": ["damaged"],
        "empty": ["not a model file"],
        "text": ["not a model file"],
        "gone": ["no such file"],
    }


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_model_that_is_none(corpus, files, out, other_models, command):
    for name, parts in other_models.items():
        rest = {"predict": [corpus / "dev.conll", "-o", out / "o"], "evaluate": [corpus / "dev.conll"]}
        said = fails(command, files / name, *rest.get(command, []))
        for part in [str(files / name), *parts]:
            assert part in said
    assert names_in(out) == []


def test_model_that_is_a_folder(files):
    said = fails("inspect", files)
    assert str(files) in said
    assert "folder" in said


def test_model_trained_from_python_on_features(files, corpus):
    from marginloom import SequenceTagger

    SequenceTagger(max_iter=1).fit([[["a"], ["b"]]], [["X", "Y"]]).save(files / "m")
    said = fails("predict", files / "m", corpus / "dev.conll")
    assert str(files / "m") in said
    assert "from Python" in said
    assert "features   named (2)" in run("inspect", files / "m").stdout
