"""Names of files are bytes: every command takes those that are not UTF-8, and shows them."""

import json
import os
import shutil
from pathlib import Path

import pytest
from fuzz.samples import PROGRAMS, build_inputs, train_arguments
from support.program import fails, json_lines, last_json, names_in, refuses, run

from marginloom import DependencyParser, SequenceTagger, make_tagging, make_treebank, read_crfsuite, read_libsvm
from marginloom.errors import InputError, ModelFileError

NAME = os.fsdecode(b"caf\xe9")
SHOWN = r"caf\xe9"
FORMATS = {"crfsuite": ["--format", "crfsuite"]}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    build_inputs(folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    """A folder with such a name, on a file system that takes it."""
    folder = tmp_path / NAME
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes text only")
    return folder


def copied(samples, folder, name):
    """Copy the files of a program; return their new names by the old ones."""
    files = {word.rpartition("=")[2] for word in PROGRAMS[name]} & set(names_in(samples))
    copies = {file: folder / f"{NAME} {file}" for file in files}
    for file, copy in copies.items():
        shutil.copy(samples / file, copy)
    return {file: str(copy) for file, copy in copies.items()}


def check_text(value):
    json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_command_takes_files_of_such_names(samples, folder, name):
    files = copied(samples, folder, name)
    model, trace, out = (folder / f"{NAME} {part}" for part in ("model", "trace.jsonl", "out"))
    arguments = train_arguments(name, samples, files)
    arguments[arguments.index("--checkpoint") + 1] = str(folder / f"{NAME} checkpoint")
    check_text(last_json(run(*arguments, "--model", model, "--trace", trace, "--json")))
    check_text(json_lines(trace))
    check_text(last_json(run("inspect", model, "--json")))
    dev = files[next(file for file in files if file.startswith(("dev.", "train.")))]
    format = ["--format", "conllx"] if name == "conllx" else []
    check_text(last_json(run("evaluate", model, dev, "--json", *format)))
    run("predict", model, dev, *format, "-o", out)
    with Path(dev).open("rb") as given:
        piped = run("predict", model, "-", *(format or FORMATS.get(name, [])), stdin=given.read())
    assert out.read_text() == piped.stdout
    del arguments[arguments.index("--checkpoint") :]
    run(*arguments, "--warm-start", model, "--model", folder / f"{NAME} again")


def test_run_goes_on_from_a_checkpoint_in_such_a_folder(samples, folder):
    arguments = train_arguments("classify", samples, copied(samples, folder, "classify"))
    arguments[arguments.index("--checkpoint") + 1] = str(folder / NAME)
    arguments.remove("--quiet")
    said = run(*arguments, "--model", folder / "model", "--resume").stderr
    assert rf"there is no {folder}/{NAME}/checkpoint".replace(NAME, SHOWN) in said


def test_messages_show_them(samples, folder):
    train = ["train", "tag", "--model", folder / "m", "--quiet"]
    assert rf"cannot read '{folder}/none.conll'".replace(NAME, SHOWN) in fails(*train, folder / "none.conll")
    texts = {"conll": "a b\nc\n", "crfsuite": "X\t:1\n", "svm": "1 qid:1 0:1\n", "conllu": "a\n"}
    for ending, text in texts.items():
        wrong = folder / f"{NAME}.{ending}"
        wrong.write_text(text)
        assert f"{wrong}, line {2 if ending == 'conll' else 1}: ".replace(NAME, SHOWN) in fails(*train, wrong)
    wrong = folder / f"{NAME}.svm"
    assert f"{wrong}, line 1: ".replace(NAME, SHOWN) in fails("train", "classify", wrong, "--model", folder / "m")
    assert f"{wrong}: this is not a model".replace(NAME, SHOWN) in fails("inspect", wrong)
    assert f"{folder}/none: there is no such file".replace(NAME, SHOWN) in fails("predict", folder / "none", wrong)
    nowhere = folder / NAME / "m"
    assert SHOWN in fails("train", "tag", samples / "train.conll", "--model", nowhere)
    assert SHOWN in refuses("predict", NAME, "x", NAME, NAME)


def test_python_messages_are_text(folder):
    path = folder / f"{NAME}.svm"
    path.write_text("1 0:1\n")
    for call, error in (
        (lambda: read_libsvm(path), InputError),
        (lambda: read_crfsuite(folder / "none"), InputError),
        (lambda: SequenceTagger.load(path), ModelFileError),
        (lambda: SequenceTagger(features=str(folder / "none")).fit([["a"]], [["A"]]), InputError),
        (lambda: SequenceTagger(max_iter=1).fit([["a"]], [["A"]]).save(folder / "none" / "m"), InputError),
    ):
        with pytest.raises(error) as raised:
            call()
        assert SHOWN in str(raised.value)
        str(raised.value).encode()


def test_a_gazetteer_has_a_name_that_is_text(samples, folder):
    names = copied(samples, folder, "templates")["names.txt"]
    message = "the name of a gazetteer must be text that UTF-8 can hold, not "
    train = ["train", "tag", samples / "train.conll", "--features", "ner", "--model", folder / "m", "--quiet"]
    assert f"{message}'{SHOWN}'" in fails(*train, "--gazetteer", f"{NAME}={names}")
    with pytest.raises(InputError, match=f"{message}5"):
        SequenceTagger(features="ner", gazetteers={5: names}).fit([["a"]], [["A"]])


def test_models_of_such_templates_and_lists_are_read_again(folder):
    templates, clusters, names = (folder / f"{NAME}.{part}" for part in ("templates", "clusters", "names"))
    templates.write_text("word[0]\ncluster[0,2]\ngazetteer[0]\n")
    clusters.write_text("01\tthe\t3\n")
    names.write_text("the\n")
    X, y = make_tagging(10, seed=0)
    options = {"features": str(templates), "clusters": clusters, "gazetteers": {"g": names}, "max_iter": 2}
    tagger = SequenceTagger(**options).fit(X, y)
    tagger.save(folder / NAME)
    assert SequenceTagger.load(folder / NAME).predict(X) == tagger.predict(X)
    templates.write_text("pos[h] pos[m]\n")
    sentences, trees = make_treebank(5, seed=0)
    parser = DependencyParser(features=templates, max_iter=2, hash_bits=8).fit(sentences, trees)
    parser.save(folder / NAME)
    assert DependencyParser.load(folder / NAME).predict(sentences) == parser.predict(sentences)
