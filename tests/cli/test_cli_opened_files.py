"""Commands that use a model open it once, and prediction on a stream opens nothing after the first piece."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import TIMEOUT, environment, run

from marginloom import make_treebank, write_conllu


def watched(*arguments, pieces=()):
    """Run the program with pieces of standard input that come one by one; see `support.opened_files`."""
    done = subprocess.run(
        [sys.executable, "-m", "support.opened_files", *map(os.fspath, arguments)],
        input=b"\0".join(pieces),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
        env={**environment(), "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["code"] == 0, done.stderr
    return told


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "MODEL"],
        ["inspect", "MODEL", "--json"],
        ["predict", "MODEL", "INPUT"],
        ["predict", "--k-best", "2", "--threads", "2", "MODEL", "INPUT", "-o", "OUT"],
        ["evaluate", "MODEL", "INPUT"],
        ["train", "tag", "INPUT", "--model", "OUT", "--warm-start", "MODEL", "--features", "words"],
    ],
    ids=" ".join,
)
def test_the_model_is_opened_once(corpus, model, tmp_path, arguments):
    files = {"MODEL": model, "INPUT": corpus / "train.conll", "OUT": tmp_path / "out"}
    told = watched(*(files.get(argument, argument) for argument in arguments))
    assert told["opened"].count(str(model)) == 1


def labelled_words(corpus, model, tmp_path):
    return model, [b"the\ndog\n\n", b"it\nbarks\n\n", b"the\n\n", b"cat\n\n"]


def trees(corpus, model, tmp_path):
    write_conllu(tmp_path / "train.conllu", *make_treebank(20, seed=0))
    train("parse", tmp_path / "train.conllu", tmp_path / "m", "--hash-bits", "10")
    write_conllu(tmp_path / "new.conllu", *make_treebank(4, seed=1))
    return tmp_path / "m", [part + b"\n\n" for part in (tmp_path / "new.conllu").read_bytes().split(b"\n\n") if part]


def classes(corpus, model, tmp_path):
    (tmp_path / "train.svm").write_text("1 1:1\n2 2:1\n3 3:1\n")
    train("classify", tmp_path / "train.svm", tmp_path / "m")
    return tmp_path / "m", [b"1 1:2\n", b"1 2:1 3:1\n", b"2 1:1\n"]


def train(task, file, model, *options):
    run("train", task, file, "--model", model, "--tol", "0.5", *options)


@pytest.mark.parametrize("threads", ["1", "-1"])
@pytest.mark.parametrize("made", [labelled_words, trees, classes])
def test_nothing_is_opened_from_the_second_piece_of_a_stream_on(corpus, model, tmp_path, made, threads):
    used, pieces = made(corpus, model, tmp_path)
    told = watched("predict", used, "-", "--threads", threads, pieces=pieces)
    assert len(told["before"]) > len(pieces) > 2
    assert 0 < told["before"][1] == told["before"][-1]
    assert told["opened"].count(str(used)) == 1
    assert told["said"].count("\n\n") == sum(piece.count(b"\n\n") for piece in pieces)
