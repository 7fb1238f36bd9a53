"""Mistakes that newcomers make are answered with what to do, and a usual terminal is wide enough."""

import pytest
from support.program import fails, refuses, run
from support.terminal import shown_lines

from marginloom import load


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["tag", "train.conll"], "No such command: 'tag'. Did you mean 'marginloom train tag'?"),
        (["train", "train.conll"], "Name the task before the files, as in 'marginloom train tag train.conll'."),
        (["train", "ner", "train.conll"], "No such task: 'ner'. Did you mean 'tag'?"),
        (["train", "parser", "x"], "No such task: 'parser'. Did you mean 'parse'?"),
        (
            ["train", "sing"],
            "No such task: 'sing'. The tasks are tag, parse, classify, detect, multilabel and relations.",
        ),
    ],
    ids=" ".join,
)
def test_a_missing_or_unknown_task_is_answered_with_one(arguments, answer):
    assert answer in refuses(*arguments)


@pytest.mark.parametrize("command", [[], ["train"], ["train", "tag"], ["predict"], ["inspect"], ["algorithms"]])
def test_help_has_a_short_name(command):
    assert run(*command, "-h").stdout == run(*command, "--help").stdout


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_in_the_place_of_the_input_is_said_to_come_first(command, corpus, model):
    assert "the model comes first" in refuses(command, corpus / "dev.conll", model)
    assert "the model comes first" not in fails(command, corpus / "dev.conll", corpus / "train.conll")


def test_a_column_with_a_typing_error_is_answered_with_the_one_that_is_meant(tmp_path):
    (tmp_path / "t.conllu").write_text("1\tdogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n\n")
    said = fails("train", "tag", tmp_path / "t.conllu", "--model", tmp_path / "m", "--column", "lema")
    assert said.endswith("did you mean lemma?")


def test_one_label_is_nothing_to_learn(tmp_path):
    (tmp_path / "text.txt").write_text("The dog barks.\n")
    said = run("train", "tag", tmp_path / "text.txt", "--model", tmp_path / "m").stderr
    assert "every token has the label 'barks.', so there is nothing to learn" in said


def test_files_of_other_tasks_are_answered_with_the_task(tmp_path):
    (tmp_path / "sets.svm").write_text("1,2 1:1\n3 2:1\n")
    said = fails("train", "classify", tmp_path / "sets.svm", "--model", tmp_path / "m")
    assert "line 1: found 2 labels" in said
    assert "marginloom train multilabel" in said


def test_features_without_names_are_not_shown(corpus, tmp_path):
    run("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--hash-bits", "8")
    text = run("inspect", tmp_path / "m").stdout
    assert not any(" hash " in line for line in text.splitlines())
    assert "Hashed features have no names and are not shown; train without --hash-bits to see them." in " ".join(
        text.split()
    )
    assert any("hash" in entry["feature"] for entry in load(tmp_path / "m").model_.strongest(5))


def test_costs_of_labels_are_shown_by_label_unless_they_are_the_same(tmp_path):
    rows = "".join(f"{k % 2},{2 + k % 3} {1 + k % 4}:1\n" for k in range(12))
    (tmp_path / "sets.svm").write_text(rows)
    for options, shown in (((), "2.0 1.0 for each"), (("--label-cost", "0=3"), "0: 6.0 3.0, 1: 2.0 1.0")):
        run("train", "multilabel", tmp_path / "sets.svm", "--model", tmp_path / "m", *options)
        (line,) = (line for line in run("inspect", tmp_path / "m").stdout.splitlines() if "label_costs" in line)
        assert shown in line


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("command", [["algorithms"], ["algorithms", "dcd-ssvm"], ["train", "tag", "--help-all"]])
def test_pages_fit_the_terminal(command, columns):
    assert max(len(line) for line in shown_lines(columns, *command) if "marginloom" not in line) <= columns


@pytest.mark.parametrize("columns", [80, 100])
def test_a_model_is_shown_in_lines_that_fit_the_terminal(columns, model):
    lines = shown_lines(columns, "inspect", model)
    assert max(map(len, lines)) <= columns
    first, *_ = (line for line in lines if "strongest weights" in line)
    assert all(line[:1] != "+" for line in lines[lines.index(first) :])  # no entry is cut in two
