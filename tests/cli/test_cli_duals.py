"""The dual learners on the command line: every algorithm ends well, and options reach the learner they belong to."""

import math

import pytest
from support.pairs import GENERAL
from support.program import json_lines, last_json, refuses, run

from marginloom.algorithms import ALGORITHMS
from marginloom.common.parameters import option_name
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.model import SequenceModel

STOPPED = {"tolerance", "iterations", "early"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    write_conll(folder / "train.conll", *make_tagging(25, seed=3))
    return folder / "train.conll"


def train(path, model, *options):
    return run("train", "tag", path, "--model", model, "--features", "words", "--json", "--quiet", *options)


@pytest.mark.parametrize("algorithm", GENERAL)
def test_every_algorithm_ends_with_a_sensible_report(small, tmp_path, algorithm):
    summary = last_json(train(small, tmp_path / "m", "--algorithm", algorithm, "--max-iter", "4", "--threads", "2"))
    learner = ALGORITHMS[algorithm].learner
    assert (summary["algorithm"], summary["learner"]) == (algorithm, learner.name)
    assert summary["stopped"] in STOPPED
    assert summary["loss"] == (learner.losses[0] if learner.losses else None)
    assert summary["inferences"] == (2 if algorithm == "subsample" else 25) * summary["iterations"]
    assert summary["updates"] > 0
    assert summary["nonzero"] > 0
    if learner.has_dual():
        assert 0 < summary["dual"] <= summary["primal"]
        assert summary["gap"] == pytest.approx((summary["primal"] - summary["dual"]) / summary["primal"])
        assert summary["active"] > 0
        assert math.isfinite(summary["gap"])
    else:
        assert (summary["dual"], summary["gap"]) == (None, None)
    assert SequenceModel.load(tmp_path / "m").weights.any()


OPTIONS = [
    ("cpd", "--epsilon", "0.7"),
    ("n-slack", "--epsilon", "0.7"),
    ("n-slack", "--batch", "9"),
    ("one-slack", "--cache", "0"),
    ("one-slack", "--inactive", "0"),
    ("bcfw", "--inner-passes", "3"),
    ("bcfw", "--averaged", None),
    ("fsmo", "--variant", "as-published"),
    ("fsmo", "--batch", "11"),
    ("fsmo", "--scope", "all"),
    ("fsmo", "--inner-stop", None),
    ("dcd-light", "--delta", "0.9"),
]
HASTY = ["--inner-iterations", "0", "--inner-change", "1e6", "--inner-times", "1"]


@pytest.fixture(scope="module")
def plain(small):
    """Return the weights of an algorithm without further options, trained once."""
    known = {}

    def weights(algorithm, common):
        if algorithm not in known:
            train(small, small.parent / algorithm, *common)
            known[algorithm] = SequenceModel.load(small.parent / algorithm).weights.tobytes()
        return known[algorithm]

    return weights


@pytest.mark.parametrize(("algorithm", "option", "value"), OPTIONS)
def test_an_option_reaches_its_learner(small, plain, tmp_path, algorithm, option, value):
    given = [option, *HASTY] if option == "--inner-stop" else [option] if value is None else [option, value]
    common = ["--algorithm", algorithm, "--max-iter", "6", "--tol", "1e-9", "--C", "0.5"]
    train(small, tmp_path / "set", *common, *given, "--trace", tmp_path / "t")
    learner = json_lines(tmp_path / "t")[0]["learner"]
    name = option.removeprefix("--").replace("-", "_")
    assert learner["name"] == ALGORITHMS[algorithm].learner.name
    assert str(learner[name]) == {None: "True"}.get(value, value)
    if (algorithm, option) != ("one-slack", "--inactive"):  # which may leave the same solution
        assert SequenceModel.load(tmp_path / "set").weights.tobytes() != plain(algorithm, common)


def test_stopping_rules_of_fsmo_are_reported(small, tmp_path):
    options = ["--algorithm", "fsmo", "--tol", "1e-9", "--outer-stop", "--outer-change", "0.2"]
    summary = last_json(train(small, tmp_path / "m", *options))
    assert summary["stopped"] == "early"
    assert summary["gap"] > 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "cpd", "--epsilon", "0"], "epsilon must be a positive number, not 0.0"),
        (["--algorithm", "n-slack", "--batch", "0"], "batch must be a whole number from 1"),
        (["--algorithm", "one-slack", "--cache", "-1"], "cache must be a whole number from 0"),
        (["--algorithm", "fsmo", "--variant", "published"], "variant must be pairwise or as-published"),
        (["--algorithm", "fsmo", "--variant", "pa-i"], "variant must be pairwise or as-published"),
        (["--algorithm", "fsmo", "--inner-change", "nan"], "inner_change must be a positive number"),
        (["--algorithm", "bcfw", "--loss", "squared_hinge"], "the learner frank-wolfe has the loss hinge"),
        (["--algorithm", "one-slack", "--loss", "squared_hinge"], "the learner one-slack has the loss hinge"),
        (["--algorithm", "fsmo", "--loss", "squared_hinge"], "the learner fsmo has the loss hinge"),
        (["--algorithm", "bcfw", "--epsilon", "0.1"], "bcfw has no parameter 'epsilon' (--epsilon on"),
        (["--algorithm", "cpd", "--cache", "3"], "cpd has no parameter 'cache' (--cache on"),
        (["--algorithm", "one-slack", "--inner-stop"], "one-slack has no parameter 'inner_stop' (--inner-stop on"),
        (["--algorithm", "dcd-ssvm", "--variant", "pairwise"], "dcd-ssvm has no parameter 'variant' (--variant on"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_are_refused_before_any_work(tmp_path, arguments, message):
    said = refuses("train", "tag", tmp_path / "missing.conll", "--model", tmp_path / "m", *arguments)
    assert message in said


def test_help_has_every_option_of_learners_with_the_words_of_each():
    said = " ".join(run("train", "tag", "--help-all").stdout.split())
    plain = said.replace("- ", "").replace("-", "")
    helps = {}
    for algorithm in ALGORITHMS.values():
        for parameter in algorithm.learner.parameters():
            helps.setdefault(parameter.name, set()).add(parameter.help)
    for name, texts in helps.items():
        assert option_name(name) in said
        assert all(text[1:].replace("-", "") in plain for text in texts), name
    assert any(len(texts) > 1 for texts in helps.values())  # which differ between learners
