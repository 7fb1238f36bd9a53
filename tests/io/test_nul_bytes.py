r"""A NUL byte in a file or an argument is shown as \x00, and no message ends there."""

import pytest
from fuzz.commands import check_run, run_here

from marginloom import DependencyParser, SequenceTagger, read_conllu, read_crfsuite, read_libsvm
from marginloom.errors import InputError
from marginloom.io.conll import read_corpus

ROW = "\t_" * 6
FILES = {
    "id": (read_conllu, f"1\0\ta\t_{ROW}\t_\n", r"line 1: found the ID '1\\x00', expected a number"),
    "head": (read_conllu, "1\ta\t_\t_\t_\t_\t\0\t_\t_\t_\n", r"line 1: found the head '\\x00', expected the number of"),
    "row": (read_conllu, "a\0b\n", "line 1: found 1 column, expected 10 separated by tabs"),
    "columns": (lambda path: read_corpus([path]), "a b\n\0\n", "line 2: found 1 column, expected 2 as in the lines"),
    "attribute": (read_crfsuite, "X\ta\0b:c\n", r"line 1: attribute 'a\\x00b:c': found 'c' after the colon, expected"),
    "value": (read_crfsuite, "X\ta:\0\n", r"found '\\x00' after the colon, expected a number"),
    "declaration": (read_crfsuite, "@\0\tX\n", r"attribute '@\\x00': before the label only @weight:NUMBER"),
    "entry": (read_libsvm, "1 a\0b:1\n", r"line 1: found 'a\\x00b:1': expected index:value with a whole number"),
    "label": (read_libsvm, "a\0,a\0 1:1\n", r"the label a\\x00 stands there twice"),
    "second label": (read_libsvm, "\0,\n", r"found '\\x00,': expected labels with one comma"),
}


@pytest.mark.parametrize("kind", FILES)
def test_messages_on_files_go_on_after_it(tmp_path, kind):
    read, text, message = FILES[kind]
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        read(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("line", ["word[0]\0", "wo\0rd[0]", "prefix[0,\0]", "\0", "\0 word[0]"])
@pytest.mark.parametrize("estimator", [SequenceTagger, DependencyParser])
def test_messages_on_templates_go_on_after_it(tmp_path, line, estimator):
    path = tmp_path / "templates"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"templates, line 1: found '.*\\x00.*', expected "):
        estimator(features=str(path)).fit([[("a", "b")]], [["X"] if estimator is SequenceTagger else [0]])


def test_words_labels_and_names_may_have_it(tmp_path):
    tagger = SequenceTagger(max_iter=2).fit([["a\0b", "c"]], [["X\0Y", "\0"]])
    tagger.save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").predict([["a\0b", "c"]]) == [["X\0Y", "\0"]]
    with pytest.raises(InputError, match=r"a value|neither a number"):
        SequenceTagger(features=None).fit([[{"a\0b": object()}]], [["X"]])


@pytest.mark.parametrize("option", ["--features", "--gazetteer", "--label-cost", "--format", "--constraints", "--loss"])
def test_arguments_with_it_are_told_whole(tmp_path, option):
    """No shell can give such arguments, and Python can."""
    path = tmp_path / "x.conll"
    path.write_text("a X\n")
    code, _, said = run_here(["train", "tag", path, "--model", tmp_path / "m", option, "a\0b"])
    check_run(code, said)
    assert "a\\x00b" in said
    assert "\0" not in said
