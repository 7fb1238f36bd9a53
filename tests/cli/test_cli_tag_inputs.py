"""Inputs of taggers on the command line: models from Python, standard input, further formats, and what is refused."""

import itertools

import numpy as np
import pytest
from support.program import TIMEOUT, fails, refuses, run, start

from marginloom import SequenceTagger, read_libsvm_sequences
from marginloom.tasks.sequence.datasets import make_tagging
from marginloom.tasks.sequence.model import SequenceModel

OPTIONS = ("--tol", "0.1", "--quiet")


def columns(words, tags, before="", header=""):
    """Return the text of columns, with what stands before the word."""
    lines = [
        "".join(f"{before}{w}\t{t}\n" for w, t in zip(*pair, strict=True)) for pair in zip(words, tags, strict=True)
    ]
    return header + "\n".join(lines) + "\n"


def test_a_tagger_trained_on_words_in_python_predicts_and_evaluates_files(tmp_path, corpus):
    words, tags = make_tagging(60, seed=3)
    tagger = SequenceTagger(tol=0.1).fit(words, tags)
    tagger.save(tmp_path / "model")
    given, gold = make_tagging(20, seed=4)
    path = tmp_path / "test.conll"
    path.write_text(columns(given, gold))
    written = run("predict", tmp_path / "model", path).stdout
    predicted = [[line.split("\t")[-1] for line in block.split("\n")] for block in written.strip().split("\n\n")]
    assert predicted == tagger.predict(given)
    accuracy = run("evaluate", tmp_path / "model", path).stdout
    assert f"{tagger.score(given, gold):.4f}" in accuracy


@pytest.mark.parametrize("task", ["tag", "classify", "multilabel"])
def test_training_reads_standard_input(tmp_path, corpus, task):
    text = (corpus / "train.conll").read_bytes() if task == "tag" else b"1 1:1 2:0.5\n2 2:1\n" * 10
    (tmp_path / "train").write_bytes(text)
    options = () if task == "multilabel" else OPTIONS
    run("train", task, tmp_path / "train", "--model", tmp_path / "file", *options)
    run("train", task, "-", "--model", tmp_path / "stdin", *options, stdin=text)
    arguments = (tmp_path / "train",)
    assert run("predict", tmp_path / "file", *arguments).stdout == run("predict", tmp_path / "stdin", *arguments).stdout


def test_standard_input_is_read_once_and_not_by_a_resumed_run(tmp_path, corpus):
    text = (corpus / "train.conll").read_bytes()
    model = ("--model", tmp_path / "model")
    assert "only once" in refuses("train", "tag", "-", "--dev", "-", *model, stdin=text)
    assert "only once" in refuses("train", "tag", "-", "-", *model, stdin=text)
    resumed = start("train", "tag", "-", *model, "--checkpoint", tmp_path / "c", "--resume")
    _, said = resumed.communicate(text, timeout=TIMEOUT)
    assert resumed.returncode == 2
    assert "--resume reads the training file again" in " ".join(said.decode().split())


def libsvm(words, tags, numbers):
    lines = []
    for group, (sentence, labels) in enumerate(zip(words, tags, strict=True)):
        for word, label in zip(sentence, labels, strict=True):
            indices = sorted({1 + hash_of(word), 101 + hash_of(word[-2:])})
            lines.append(f"{numbers[label]} qid:{group % 3} " + " ".join(f"{i}:1" for i in indices) + "\n")
    return "".join(lines)


def hash_of(text):
    return sum(place * ord(letter) for place, letter in enumerate(text, start=1)) % 100


@pytest.mark.parametrize("named", [False, True])
def test_sequences_in_libsvm_files_are_told_apart_by_qid(tmp_path, named):
    words, tags = make_tagging(60, seed=5)
    different = sorted({tag for sentence in tags for tag in sentence})
    numbers = {tag: tag if named else place for place, tag in enumerate(different)}
    path = tmp_path / "train.svm"
    path.write_text(libsvm(words, tags, numbers))
    X, y, lengths = read_libsvm_sequences(path)
    assert lengths.tolist() == [len(sentence) for sentence in words]
    assert y.tolist() == [numbers[tag] for sentence in tags for tag in sentence]
    run("train", "tag", path, "--dev", path, "--model", tmp_path / "model", *OPTIONS)
    model = SequenceModel.load(tmp_path / "model")
    tagger = SequenceTagger(tol=0.1).fit(X, y, lengths=lengths)
    np.testing.assert_array_equal(model.weights, tagger.model_.weights)
    predicted = run("predict", tmp_path / "model", "-", "--format", "libsvm", stdin=path.read_bytes()).stdout
    expected = iter(tagger.predict(X, lengths=lengths).tolist())
    blocks = ["".join(f"{label}\n" for label in itertools.islice(expected, n)) for n in lengths.tolist()]
    assert predicted == "".join(f"{block}\n" for block in blocks)
    accuracy = tagger.score(X, y, lengths=lengths)
    assert f"{accuracy:.4f}" in run("evaluate", tmp_path / "model", path).stdout
    tagger.save(tmp_path / "python")
    assert run("predict", tmp_path / "python", path).stdout == predicted


def test_a_libsvm_file_without_qid_is_refused_with_its_line(tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("1 qid:1 1:1\n2 1:1\n")
    assert "line 2: found no qid" in fails("train", "tag", path, "--model", tmp_path / "model")
    path.write_text("1 qid:one 1:1\n")
    assert "line 1: found 'qid:one'" in fails("train", "tag", path, "--model", tmp_path / "model")
    assert "--min-count cannot be given" in refuses("train", "tag", path, "--min-count", "2", "--model", tmp_path / "m")


HEADER = "# global.columns = NER ID FORM UPOS\n"


def test_columns_of_conllu_plus_are_those_that_the_first_line_names(tmp_path):
    words, tags = make_tagging(60, seed=6)
    plain, plus = tmp_path / "train.conll", tmp_path / "train.conllup"
    plain.write_text(columns(words, tags))
    lines = [
        "# a comment\n"
        + "O\t1-2\tboth\t_\n"
        + "".join(f"O\t{i}\t{w}\t{t}\n" for i, (w, t) in enumerate(zip(*pair, strict=True), 1))
        for pair in zip(words, tags, strict=True)
    ]
    plus.write_text(HEADER + "\n".join(lines) + "\n")
    for path in (plain, plus):
        run("train", "tag", path, "--model", path.with_suffix(".model"), *OPTIONS)
    models = [SequenceModel.load(path.with_suffix(".model")) for path in (plain, plus)]
    np.testing.assert_array_equal(models[0].weights, models[1].weights)
    written = run("predict", tmp_path / "train.model", plus).stdout
    assert written.startswith(HEADER + "# a comment\nO\t1-2\tboth\t_\n")
    assert written.count("\n") == plus.read_text().count("\n")
    other = tmp_path / "other.conllup"  # the same columns in another order
    lines = [line.split("\t") for line in plus.read_text().split("\n")]
    turned = ["\t".join([line[1], line[2], line[3], line[0]]) if len(line) == 4 else line[0] for line in lines[1:]]
    other.write_text("\n".join(["# global.columns = ID FORM UPOS NER", *turned]))
    again = [line.split("\t") for line in run("predict", tmp_path / "train.model", other).stdout.split("\n")]
    there = [line.split("\t") for line in written.split("\n")]
    assert [line[2] for line in again if len(line) == 4] == [line[3] for line in there if len(line) == 4]
    other.write_text("# global.columns = ID FORM NER\n1\ta\tO\n\n")
    said = fails("predict", tmp_path / "train.model", other)
    assert "line 1: found the columns ID FORM NER, expected UPOS among them (it holds the labels); name it in" in said


@pytest.mark.parametrize("header", ["", "# global.columns = ID UPOS\n", "# global.columns = ID FORM FORM\n"])
def test_conllu_plus_without_its_first_line_is_refused(tmp_path, header):
    path = tmp_path / "train.conllup"
    path.write_text(header + "1\ta\tN\n\n")
    assert "line 1: found" in fails("train", "tag", path, "--model", tmp_path / "model")


def test_invalid_gold_on_the_command_line(tmp_path):
    path = tmp_path / "train.conll"
    path.write_text("a O\nb I-X\n\nc B-X\nd I-X\n\n")
    train = ("train", "tag", path, "--constraints", "bio", "--model", tmp_path / "model", "--tol", "0.1")
    assert "line 2: I-X after O" in fails(*train)
    assert (
        "repaired 1 gold label in 1 sentence that violated the constraints bio"
        in run(*train, "--invalid-gold", "repair").stderr
    )
    assert "skipped 1 of 2 sentences" in run(*train, "--invalid-gold", "skip").stderr
    assert "skipped" not in run(*train, "--invalid-gold", "skip", "--quiet").stderr
    assert "must be one of error, repair, skip" in refuses(*train, "--invalid-gold", "mend")
    pair = ("train", "tag", path, "--forbid", "O I-X", "--model", tmp_path / "model", "--invalid-gold", "repair")
    assert "cannot be repaired" in fails(*pair)


def test_labels_are_refused_as_features(tmp_path):
    path, own = tmp_path / "train.conll", tmp_path / "own.txt"
    path.write_text("a N B\nb V O\n\n")
    own.write_text("word[0]\nword[0] column[-1,3]\n")
    model = ("--model", tmp_path / "model")
    assert "column 3 holds the labels" in fails(
        "train", "tag", path, "--features", "chunking", "--pos-column", "3", *model
    )
    assert "column 3 holds the labels" in fails("train", "tag", path, "--features", own, *model)
    run("train", "tag", path, "--features", own, "--column", "2", *model, *OPTIONS)
    run("train", "tag", path, "--features", "chunking", "--pos-column", "2", *model, *OPTIONS)


def test_a_file_of_tabs_with_spaces_in_its_cells_is_refused_or_warned_about(tmp_path):
    path = tmp_path / "train.conll"
    train = ("train", "tag", path, "--model", tmp_path / "model", "--tol", "0.1")
    path.write_text("a\tN\tO\nNew York\tB\n\n")
    assert "line 2: found a space within what tabs separate" in fails(*train)
    path.write_text("a\tO\nNew York\tB\n\n")
    assert "line 2: found 3 columns, expected 2 as in the lines before; it has tabs, and spaces" in fails(*train)
    path.write_text("New York\tB\nLos Angeles\tB\n\n")
    assert "line 1: the line has tabs, and spaces within" in run(*train).stderr
    path.write_text("a\tO\nb O\n\nc \t O\n")
    assert "spaces within" not in run(*train).stderr
