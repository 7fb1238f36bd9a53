"""Ready features in CRFsuite's text format: train, predict and evaluate without conversion."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.program import PROGRAM, TIMEOUT, environment, fails, last_json, names_in, refuses, run, start

from marginloom import SequenceTagger, read_crfsuite, write_crfsuite
from marginloom.tasks.sequence.datasets import make_tagging
from marginloom.tasks.sequence.model import SequenceModel

OPTIONS = ("--tol", "0.05", "--quiet")


def features(sentence):
    """Return indicators for some words, and values and awkward names for others."""
    tokens = []
    for place, word in enumerate(sentence):
        before = sentence[place - 1] if place else "\\:"
        token = [f"w={word}", f"w-1={before}", f"suffix:{word[-2:]}", "bias"]
        tokens.append(token if place % 3 else {**dict.fromkeys(token, 1), "length": len(word) / 10, "a\\": -1.5})
    return tokens


def made(seed, count=120):
    words, tags = make_tagging(count, seed=seed)
    return [features(sentence) for sentence in words], tags


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with train.crfsuite, dev.crfsuite, and the model of the first."""
    folder = tmp_path_factory.mktemp("crfsuite")
    write_crfsuite(folder / "train.crfsuite", *made(0))
    write_crfsuite(folder / "dev.crfsuite", *made(1, 40))
    run("train", "tag", folder / "train.crfsuite", "--model", folder / "model", *OPTIONS)
    return folder


def labels_of(text):
    """Return the labels of each sequence, each of which a blank line must follow."""
    assert text.endswith("\n\n")
    return [block.split("\n") for block in text[:-2].split("\n\n")]


def test_the_same_bits_as_from_python(folder, tmp_path):
    X, y = made(0)
    SequenceTagger(tol=0.05).fit(X, y).save(tmp_path / "python")
    from_file, from_python = SequenceModel.load(folder / "model"), SequenceModel.load(tmp_path / "python")
    assert from_file.features.name == from_python.features.name == "named"
    np.testing.assert_array_equal(from_file.weights, from_python.weights)
    for name in ("features_text", "features_offsets"):
        np.testing.assert_array_equal(from_file.features.tensors()[name], from_python.features.tensors()[name])
    SequenceTagger(tol=0.05).fit(*read_crfsuite(folder / "train.crfsuite")).save(tmp_path / "read")
    np.testing.assert_array_equal(SequenceModel.load(tmp_path / "read").weights, from_file.weights)


def test_predictions_are_labels_alone_and_those_of_python(folder):
    done = run("predict", folder / "model", folder / "dev.crfsuite")
    X, y = made(1, 40)
    tagger = SequenceTagger.load(folder / "model")
    assert labels_of(done.stdout) == tagger.predict(X)
    scores = last_json(run("evaluate", folder / "model", folder / "dev.crfsuite", "--json"))
    assert scores["scores"]["accuracy"] == tagger.score(X, y) > 0.8
    assert scores["sentences"] == 40


def test_scores_while_training(folder, tmp_path):
    files = [folder / "train.crfsuite", "--dev", folder / "dev.crfsuite", "--test", folder / "dev.crfsuite"]
    done = run("train", "tag", *files, "--model", tmp_path / "m", *OPTIONS, "--json")
    X, y = made(1, 40)
    accuracy = SequenceTagger.load(tmp_path / "m").score(X, y)
    scores = last_json(done)["scores"]
    assert scores["dev"]["accuracy"] == scores["test"]["accuracy"] == accuracy


def test_format_option_for_names_that_do_not_say(folder, tmp_path):
    for name in ("train", "dev"):
        shutil.copy(folder / f"{name}.crfsuite", tmp_path / f"{name}.txt")
    files = [tmp_path / "train.txt", "--dev", tmp_path / "dev.txt"]
    run("train", "tag", *files, "--format", "crfsuite", "--model", tmp_path / "m", *OPTIONS)
    np.testing.assert_array_equal(
        SequenceModel.load(tmp_path / "m").weights, SequenceModel.load(folder / "model").weights
    )
    expected = run("predict", folder / "model", folder / "dev.crfsuite").stdout
    assert run("predict", tmp_path / "m", tmp_path / "dev.txt").stdout == expected
    run("evaluate", tmp_path / "m", tmp_path / "dev.txt")


def test_compressed_files_by_their_names(folder, tmp_path):
    packed = tmp_path / "train.crfsuite.gz"
    packed.write_bytes(gzip.compress((folder / "train.crfsuite").read_bytes()))
    run("train", "tag", packed, "--model", tmp_path / "m", *OPTIONS)
    np.testing.assert_array_equal(
        SequenceModel.load(tmp_path / "m").weights, SequenceModel.load(folder / "model").weights
    )


def test_min_count(folder, tmp_path):
    run("train", "tag", folder / "train.crfsuite", "--model", tmp_path / "m", "--min-count", "3", *OPTIONS)
    X, y = made(0)
    SequenceTagger(tol=0.05, min_count=3).fit(X, y).save(tmp_path / "python")
    trained = SequenceModel.load(tmp_path / "m")
    np.testing.assert_array_equal(trained.weights, SequenceModel.load(tmp_path / "python").weights)
    assert trained.feature_count < SequenceModel.load(folder / "model").feature_count


def test_warm_start(folder, tmp_path):
    first = [folder / "train.crfsuite", "--model", tmp_path / "m", "--save-state", "--json", *OPTIONS]
    again = [folder / "train.crfsuite", "--model", tmp_path / "n", "--warm-start", tmp_path / "m", "--json", *OPTIONS]
    assert last_json(run("train", "tag", *first))["iterations"] > 0
    assert last_json(run("train", "tag", *again))["gap"] <= 0.05


def test_standard_input_is_in_the_format_of_the_model(folder):
    text = (folder / "dev.crfsuite").read_bytes()
    expected = run("predict", folder / "model", folder / "dev.crfsuite").stdout
    assert run("predict", folder / "model", "-", stdin=text).stdout == expected
    assert run("predict", folder / "model", "-", stdin=text.replace(b"\n", b"\r\n")).stdout == expected
    assert run("predict", folder / "model", "-", "--threads", "2", stdin=text).stdout == expected


def test_any_label_or_none_may_be_there(folder):
    X, _ = made(1, 40)
    lines = (folder / "dev.crfsuite").read_text().split("\n")
    expected = SequenceTagger.load(folder / "model").predict(X)
    for label in ("", "?", "never:seen"):
        text = "\n".join(label + line[line.index("\t") :] if line else "" for line in lines)
        assert labels_of(run("predict", folder / "model", "-", stdin=text.encode()).stdout) == expected


def test_items_without_attributes_and_surplus_blank_lines(folder):
    done = run("predict", folder / "model", "-", stdin=b"\n\n\nO\n\t\n\n\n\nO\tw=the\tnever seen:2")
    assert [len(sequence) for sequence in labels_of(done.stdout)] == [2, 1]
    for empty in (b"", b"\n\n\n"):
        assert run("predict", folder / "model", "-", stdin=empty).stdout == ""


def test_a_sequence_is_answered_before_the_next_one_comes(folder):
    process = start("predict", folder / "model", "-")
    try:
        for _ in range(3):
            process.stdin.write(b"\tw=the\n\n")
            process.stdin.flush()
            assert [process.stdout.readline(), process.stdout.readline()] == [b"DET\n", b"\n"]
        out, err = process.communicate(b"\tw=the", timeout=TIMEOUT)
    finally:
        process.kill()
    assert (out, err, process.returncode) == (b"DET\n\n", b"", 0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc")
def test_a_long_stream_has_bounded_memory(folder):
    block = (folder / "dev.crfsuite").read_bytes() * 20
    process = subprocess.Popen(
        [PROGRAM, "predict", folder / "model", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(),
    )

    def peak_after(byte_count):
        for _ in range(byte_count // len(block)):
            process.stdin.write(block)
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    try:
        early = peak_after(4_000_000)
        assert peak_after(40_000_000) - early < 10_000_000
        process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 0


def test_a_model_of_python_features_predicts_such_files(folder, tmp_path):
    X, y = made(0)
    SequenceTagger(tol=0.05).fit(X, y).save(tmp_path / "m")
    expected = run("predict", folder / "model", folder / "dev.crfsuite").stdout
    assert run("predict", tmp_path / "m", folder / "dev.crfsuite").stdout == expected
    text = (folder / "dev.crfsuite").read_bytes()
    assert run("predict", tmp_path / "m", "-", "--format", "crfsuite", stdin=text).stdout == expected
    assert last_json(run("evaluate", tmp_path / "m", folder / "dev.crfsuite", "--json"))["scores"]["accuracy"] > 0.8
    assert "--format crfsuite" in fails("predict", tmp_path / "m", "-", stdin=text)


@pytest.mark.parametrize("option", [["--features", "words"], ["--column", "1"]])
def test_options_for_columns_are_refused(folder, tmp_path, option):
    said = refuses("train", "tag", folder / "train.crfsuite", "--model", tmp_path / "m", *option)
    assert f"{option[0]} cannot be given" in said
    assert names_in(tmp_path) == []
    if option[0] == "--column":
        assert "--column cannot be given" in refuses("evaluate", folder / "model", folder / "dev.crfsuite", *option)


def test_ready_features_and_columns_do_not_mix(folder, corpus, model, tmp_path):
    columns, ready = corpus / "dev.conll", folder / "dev.crfsuite"
    for command in ("predict", "evaluate"):
        assert f"{columns}: the format is conll, and the training data had crfsuite" in fails(
            command, folder / "model", columns
        )
        assert f"{ready}: the format is crfsuite, and the training data had conll" in fails(command, model, ready)
    for training, dev in ((columns, ready), (ready, columns)):
        said = fails("train", "tag", training, "--dev", dev, "--model", tmp_path / "m")
        assert str(dev) in said
        assert "cannot be mixed" in fails("train", "tag", training, dev, "--model", tmp_path / "m")
    assert names_in(tmp_path) == []


# content, what the message has to say besides the name
BAD = {
    "word as value": (b"X\ta\n\nX\tw=12:x\n", ["line 3", "'w=12:x'", "found 'x'", "expected a number", r"\:"]),
    "no number": (b"X\tw=: 2 x\n", ["line 1", "found '2 x'", "expected a number"]),
    "declaration": (b"X\ta\n@group:2\n", ["line 2", "'@group:2'", "only @weight:NUMBER"]),
    "nan": (b"X\ta:nan\n", ["line 1", "NaN or infinite"]),
    "infinite": (b"X\ta:1\nX\ta:inf\n", ["line 2", "NaN or infinite"]),
    "too large": (b"X\ta:1e40\n", ["line 1", "beyond the range"]),
    "no name": (b"X\t:1\n", ["line 1", "no name"]),
    "no name in crlf": (b"X\ta\r\n\r\nX\t:1\r\n", ["line 3", "no name"]),
    "latin-1": ("X\tnaïve\n".encode("latin-1"), ["line 1", "0xef", "UTF-8"]),
    "no label": (b"X\ta\n\ta\n", ["line 2", "no label"]),
    "empty": (b"", ["found no sequence", "expected one item a line"]),
    "blank": (b"\n\r\n\n", ["found no sequence"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files(folder, tmp_path, kind):
    content, parts = BAD[kind]
    path = folder / f"bad {kind}.crfsuite"
    path.write_bytes(content)
    good = folder / "train.crfsuite"
    commands = [
        ["train", "tag", path, "--model", tmp_path / "m"],
        ["train", "tag", good, "--dev", path, "--model", tmp_path / "m"],
        ["evaluate", folder / "model", path],
    ]
    if kind not in ("empty", "blank", "no label"):
        commands.append(["predict", folder / "model", path, "-o", tmp_path / "o"])
    for command in commands:
        said = fails(*command)
        for part in [str(path), *parts]:
            assert part in said
    assert names_in(tmp_path) == []


def test_lines_are_counted_over_a_whole_stream(folder):
    text = (folder / "dev.crfsuite").read_bytes() * 5
    line = text.count(b"\n") + 1
    done = run("predict", folder / "model", "-", stdin=text + b"X\ta:b\n", code=1)
    assert f"-, line {line}: attribute 'a:b'" in done.stderr


def test_inspect_names_the_attributes(folder):
    shown = run("inspect", folder / "model", "--top", "30").stdout
    assert "features   named" in shown
    assert "suffix:" in shown
    assert re.search("^format +crfsuite$", shown, re.MULTILINE)
