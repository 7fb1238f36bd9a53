"""Whatever is written under a name that ends in .gz or .xz is compressed, and read again the same."""

import gzip
import json
import lzma

import numpy as np
import pytest
from support.full_disk import files_end_at

from marginloom import (
    make_tagging,
    make_treebank,
    read_conllu,
    read_crfsuite,
    read_detections,
    read_libsvm,
    write_conllu,
    write_crfsuite,
    write_detections,
    write_libsvm,
)
from marginloom.errors import InputError, OutputWarning
from marginloom.io.conll import read_corpus
from marginloom.io.json_lines import JsonLines
from marginloom.tasks.sequence.datasets import write_conll

WORDS, TAGS = make_tagging(5, seed=0)
SENTENCES, TREES = make_treebank(5, seed=0)
DECOMPRESSORS = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress, ".GZ": gzip.decompress}
WRITERS = {
    "conllu": (lambda path: write_conllu(path, SENTENCES, TREES), lambda path: list(map(list, read_conllu(path)))),
    "crfsuite": (lambda path: write_crfsuite(path, [[["a"]]], [["é"]]), read_crfsuite),
    "svm": (lambda path: write_libsvm(path, np.eye(2), ["a", "b"]), lambda path: read_libsvm(path)[1].tolist()),
    "conll": (
        lambda path: write_conll(path, WORDS, TAGS),
        lambda path: read_corpus([path]).labels(1).values().tolist(),
    ),
    "npz": (
        lambda path: write_detections(path, np.ones((2, 4, 4)), ["a", "b"], [(0, 0, 2, 2), (1, 1, 2, 2)]),
        lambda path: read_detections(path).labels.tolist(),
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("ending", [".gz", ".xz", ".GZ"])
def test_writers_compress_and_readers_read_it(tmp_path, kind, ending):
    write, read = WRITERS[kind]
    plain, packed = tmp_path / f"x.{kind}", tmp_path / f"x.{kind}{ending}"
    for path in (plain, packed):
        write(path)
    content = DECOMPRESSORS[ending](packed.read_bytes())
    if kind == "npz":  # an archive has the time in it
        assert len(content) == len(plain.read_bytes())
    else:
        assert content == plain.read_bytes()
    assert read(packed) == read(plain)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_same_content_gives_the_same_file(tmp_path, ending):
    for name in ("one", "two"):
        write_conllu(tmp_path / f"{name}{ending}", SENTENCES, TREES)
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


@pytest.mark.parametrize("ending", DECOMPRESSORS)
def test_lines_of_json_are_compressed_and_the_last_can_change(tmp_path, ending):
    path = tmp_path / f"lines{ending}"
    lines = JsonLines(path)
    lines.append({"a": 1})
    lines.append({"b": "long" * 100})
    lines.replace_last({"b": 2})
    lines.append({"c": 3})
    whole = '{"a": 1}\n{"b": 2}\n{"c": 3}\n'
    assert DECOMPRESSORS[ending](path.read_bytes()).decode() == whole  # before it is closed
    lines.close()
    assert DECOMPRESSORS[ending](path.read_bytes()).decode() == whole


def write_rows(path, count):
    lines = JsonLines(path)
    for number in range(count):
        lines.append({"row": number})
    lines.close()


def test_compressed_lines_of_json_on_a_full_disk_end_with_a_whole_one(tmp_path):
    path = tmp_path / "lines.gz"
    with files_end_at(100), pytest.warns(OutputWarning):
        write_rows(path, 9)
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert rows == [{"row": number} for number in range(len(rows))]
    assert rows


@pytest.mark.parametrize(
    "write",
    [lambda path: write_conll(path, [["a\udce9"]]), lambda path: write_conllu(path, [[("a\udce9", "X")]], [[0]])],
)
def test_what_utf8_cannot_hold_is_refused_before_anything_is_written(tmp_path, write):
    with pytest.raises(InputError, match="halves of letters"):
        write(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_word_that_begins_with_a_byte_order_mark_is_refused_in_columns(tmp_path):
    with pytest.raises(InputError, match="byte order mark"):
        write_conll(tmp_path / "x", [["\ufeffa"]])
