"""Wrong usage ends with 2, options that do not apply are refused, and nothing is written."""

import subprocess
import sys

import pytest
from support.program import names_in, refuses, run


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--C", "0"], ["C must be a positive number", "0"]),
        (["--C", "-1"], ["C must be a positive number", "-1"]),
        (["--C", "nan"], ["C must be a positive number", "nan"]),
        (["--C", "inf"], ["C must be a positive number", "inf"]),
        (["--tol", "0"], ["tol must be a positive number"]),
        (["--max-iter", "0"], ["max_iter", "from 1"]),
        (["--max-iter", "many"], ["max-iter", "int"]),
        (["--min-count", "0"], ["min_count", "from 1"]),
        (["--threads", "0"], ["threads", "0"]),
        (["--seed", "-1"], ["seed", "-1"]),
        (["--patience", "0", "--dev", "x"], ["patience", "from 1"]),
        (["--patience", "3"], ["--patience", "--dev"]),
        (["--delta", "0"], ["delta must be a positive number"]),
        (["--inner-passes", "-1"], ["inner_passes", "from 0"]),
        (["--loss", "log"], ["loss", "hinge", "log"]),
        (["--algorithm", "dcd-svm"], ["dcd-svm", "dcd-ssvm"]),
        (["--features", "letters"], ["letters", "words"]),
        (["--label-cost", "NOUN"], ["LABEL=", "NOUN"]),
        (["--label-cost", "NOUN=-1"], ["LABEL=", "NOUN=-1"]),
        (["--label-cost", "NOUN=nan"], ["LABEL=", "NOUN=nan"]),
        (["--column", "0"], ["column", "1"]),
        (["--format", "xml"], ["xml", "conll", "conllu"]),
        (["--nonsense"], ["--nonsense"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value[0].startswith("--") else "",
)
def test_wrong_option_is_refused(corpus, tmp_path, options, parts):
    said = refuses("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", *options)
    for part in parts:
        assert part in said
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("algorithm", "option"),
    [
        ("dcd-ssvm", ["--loss-augmented"]),
        ("perceptron", ["--delta", "0.1"]),
        ("averaged-perceptron", ["--inner-passes", "3"]),
    ],
)
def test_option_of_another_learner_is_refused(corpus, tmp_path, algorithm, option):
    said = refuses("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--algorithm", algorithm, *option)
    assert option[0] in said
    assert f"{algorithm} has no parameter" in said
    assert names_in(tmp_path) == []


def test_common_options_that_the_algorithm_does_not_have_are_refused(corpus, tmp_path):
    arguments = ["train", "tag", corpus / "train.conll", "--algorithm", "perceptron", "--max-iter", "2", "--model"]
    plain = run(*arguments, tmp_path / "plain")
    assert plain.stderr.startswith("memory: ")
    assert plain.stderr.count("\n") == 1
    several = refuses(*arguments, tmp_path / "m", "--C", "3", "--tol", "0.1", "--loss", "hinge", "--quiet")
    assert "perceptron has no C, no tol and no loss (--C, --tol and --loss): leave them out" in several
    assert names_in(tmp_path) == ["plain"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "tag"],
        ["train", "tag", "x.conll"],
        ["train", "tag", "--model", "m"],
        ["train", "dance", "x.conll", "--model", "m"],
        ["predict"],
        ["predict", "m"],
        ["evaluate", "m"],
        ["inspect"],
        ["sing"],
    ],
    ids=" ".join,
)
def test_missing_or_unknown_arguments(arguments):
    done = run(*arguments, code=2)
    assert "Usage" in done.stderr + done.stdout


@pytest.mark.parametrize("options", [["--threads", "0"], ["--format", "xml"]], ids=lambda options: " ".join(options))
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_wrong_option_of_other_commands_is_refused(corpus, model, command, options):
    said = refuses(command, model, corpus / "dev.conll", *options)
    assert options[1] in said


def test_column_zero_is_refused_by_evaluate(corpus, model):
    assert "column" in refuses("evaluate", model, corpus / "dev.conll", "--column", "0")


def test_unknown_algorithm_is_refused_with_a_suggestion():
    assert "did you mean 'dcd-light'" in refuses("algorithms", "dcd-lite")


def test_k_best_with_auto_says_nothing_where_it_has_an_effect(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--max-iter", "1", "--k-best", "2")
    assert "k_best" not in run(*arguments).stderr


def test_auto_warns_of_k_best_where_its_choice_has_none(tmp_path):
    (tmp_path / "few.svm").write_text("1,2 1:1 2:2\n2 1:2 2:1\n1 1:0.5 2:2\n2 1:3 2:1\n")
    arguments = ("train", "multilabel", tmp_path / "few.svm", "--model", tmp_path / "m", "--k-best", "2")
    assert "label-dcd" in (said := run(*arguments).stderr)
    assert "k_best (--k-best) has no effect" in said


def test_parts_of_speech_that_no_feature_uses_are_said_to_be_unused(corpus, tmp_path):
    arguments = ("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--max-iter", "1")
    done = run(*arguments, "--features", "words", "--pos-column", "1")
    assert "the features words have no template with pos[...]: pos_column is not used" in done.stderr


def test_commands_start_without_heavy_imports():
    heavy = ("scipy", "sklearn", "matplotlib")
    code = f"import sys, marginloom.cli.train; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
