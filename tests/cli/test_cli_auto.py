"""`auto` on the command line, what is said of training without its tolerance, and the length of the help."""

import json

import pytest
from support.program import run

from marginloom.parameters import KINDS
from marginloom.tasks.registry import OWN

COMMANDS = [task.command for task in OWN if task.command is not None]


def train(corpus, tmp_path, *options, **more):
    return run(
        "train", "tag", corpus / "train.conll", "--features", "words", "--model", tmp_path / "model", *options, **more
    )


def test_the_choice_is_said_in_a_line_and_reported(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--threads", "2", "--json")
    assert "auto: shared-dcd (2 threads; not the same bits every time)\n" in done.stderr
    assert json.loads(done.stdout)["algorithm"] == "shared-dcd"


def test_reproducible_training_keeps_to_what_repeats_itself(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--threads", "2", "--reproducible")
    assert "auto: dcd-ssvm (the same bits, for which 2 threads are no help)\n" in done.stderr


def test_a_named_algorithm_that_does_not_repeat_itself_is_wrong_usage(corpus, tmp_path):
    options = ("--algorithm", "shared-dcd", "--threads", "2", "--reproducible")
    assert "does not give the same bits" in train(corpus, tmp_path, *options, code=2).stderr


def test_options_of_the_chosen_learner_and_engine_can_be_given(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--inner-passes", "1", "--engine", "master-worker", "--json")
    assert json.loads(done.stdout)["engine"] == "master-worker"


def test_options_that_the_chosen_learner_does_not_have_are_told_in_a_line(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--eta0", "0.5", "--quiet")
    said = "eta0 (--eta0) has no effect: auto has chosen dcd-ssvm, which has no eta0"
    assert done.stderr == f"marginloom: warning: {said}\n"


def test_training_without_its_tolerance_is_told_in_a_line(corpus, tmp_path):
    done = train(corpus, tmp_path, "--max-iter", "1", "--tol", "0.0001")
    assert done.stderr.count("marginloom: warning: training has not converged: after 1 passes the gap is") == 1


def test_quiet_training_says_nothing_of_it(corpus, tmp_path):
    assert train(corpus, tmp_path, "--max-iter", "1", "--tol", "0.0001", "--quiet").stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_fits_two_screens(command):
    assert len(run("train", command, "--help").stdout.splitlines()) <= 96


@pytest.mark.parametrize("command", COMMANDS)
def test_all_options_are_under_help_all_with_their_words(command):
    short, long = run("train", command, "--help").stdout, run("train", command, "--help-all").stdout
    for option in ("--inner-passes", "--rho-updates", "--mixing"):
        assert option not in short
        assert option in long
    for kind in KINDS.values():
        assert "|".join(kind.words) in long
    assert "hinge|squared_hinge" in short


def test_the_list_of_algorithms_begins_with_auto():
    assert run("algorithms").stdout.startswith("auto ")
    assert "--reproducible" in run("algorithms", "auto").stdout
