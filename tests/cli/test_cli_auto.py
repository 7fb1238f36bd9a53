"""`auto` on the command line, what is said of training without its tolerance, and the length of the help."""

import json
import re

import pytest
from support.program import run

from marginloom.common.parameters import declared
from marginloom.engines import ENGINES
from marginloom.learners import LEARNERS
from marginloom.tasks.registry import OWN

COMMANDS = [task.command for task in OWN if task.command is not None]


def train(corpus, tmp_path, *options, **more):
    return run(
        "train", "tag", corpus / "train.conll", "--features", "words", "--model", tmp_path / "model", *options, **more
    )


def test_the_choice_is_said_in_a_line_and_reported(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--threads", "2", "--json")
    assert "auto chose shared-dcd (2 threads; not deterministic)\n" in done.stderr
    assert json.loads(done.stdout)["algorithm"] == "shared-dcd"


@pytest.mark.parametrize(
    ("options", "line", "threads"),
    [
        ([], "auto chose dcd-ssvm (a small problem, one thread)\n", 1),
        (["--threads", "1"], "auto chose dcd-ssvm (one thread)\n", 1),
        (["--threads", "3"], "auto chose shared-dcd (3 threads; not deterministic)\n", 3),
        (["--algorithm", "dcd-ssvm"], "", 1),
        (["--algorithm", "dcd-ssvm", "--threads", "3"], "", 3),
    ],
    ids=str,
)
def test_threads_and_their_default_are_said_and_reported(corpus, tmp_path, options, line, threads):
    done = train(corpus, tmp_path, "--tol", "0.1", "--json", *options)
    assert line in done.stderr
    assert ("auto" in done.stderr) == bool(line)
    assert json.loads(done.stdout)["threads"] == threads


@pytest.mark.parametrize(
    ("command", "default"),
    [
        (("train", "tag"), "all cores, or fewer for small problems; 1 if you choose an --algorithm other than auto"),
        (("predict",), "all cores"),
        (("evaluate",), "all cores"),
    ],
)
def test_the_help_tells_the_default_number_of_threads(command, default):
    words = " ".join(run(*command, "--help").stdout.translate(str.maketrans("│|", "  ")).split())
    assert f"[default: {default}]" in words


def test_a_turn_to_newton_is_said_in_a_line(tmp_path):
    lines = [
        f"{k % 3} " + " ".join(f"{j}:{(k * (j + 7) % 11 + (k % 3 == j % 3)) * 10.0 ** (j - 3):g}" for j in range(1, 6))
        for k in range(200)
    ]
    (tmp_path / "train.svm").write_text("\n".join(lines) + "\n")
    done = run("train", "classify", tmp_path / "train.svm", "--model", tmp_path / "model", "--C", "1", "--json")
    said = [line for line in done.stderr.splitlines() if line.startswith("auto chose ")]
    assert said[0] == "auto chose shrinking-dcd (classes, a small problem, one thread)"
    assert said[1].startswith("auto chose newton (classes, a small problem, one thread; after ")
    assert len(said) == 2
    result = json.loads(done.stdout)
    assert (result["algorithm"], result["stopped"]) == ("newton", "tolerance")


def test_reproducible_training_keeps_to_what_repeats_itself(corpus, tmp_path):
    done = train(corpus, tmp_path, "--tol", "0.1", "--threads", "2", "--reproducible")
    assert "auto chose dcd-ssvm (one thread, since 2 are not faster for reproducible training)\n" in done.stderr


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
    assert done.stderr.count("marginloom: warning: training has not converged: after 1 pass the gap is") == 1


def test_quiet_training_says_nothing_of_it(corpus, tmp_path):
    assert train(corpus, tmp_path, "--max-iter", "1", "--tol", "0.0001", "--quiet").stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_fits_two_screens(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("train", command, "--help").stdout.splitlines()
    assert len(lines) <= 96
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_all_options_are_under_help_all_with_their_words(command):
    short, long = run("train", command, "--help").stdout, run("train", command, "--help-all").stdout
    for option in ("--inner-passes", "--rho-updates", "--mixing"):
        assert option not in short
        assert option in long
    for owners in declared([*LEARNERS.values(), *ENGINES.values()]).values():
        words = dict.fromkeys(word for _, parameter in owners for word in parameter.kind.words)
        assert "|".join(words) in long
    assert "hinge or squared_hinge" in " ".join(short.split())


def test_what_an_option_means_to_a_learner_begins_a_line():
    page = run("train", "tag", "--help-all").stdout
    texts = page.partition("--batch N")[2].partition("--cache")[0].split("\n")
    assert [text.split()[:5] for text in texts if "Number" in text] == [
        ["Number", "of", "new", "constraints", "after"],
        ["Number", "of", "examples", "with", "new"],
    ]


@pytest.mark.parametrize("page", [(), ("train", "--help")], ids=" ".join)
def test_the_first_pages_name_every_task(page):
    said = run(*page, code=0 if page else 2).stdout
    assert all(re.search(rf"\b{command}\b", said) for command in COMMANDS)


def test_the_list_of_algorithms_begins_with_auto():
    assert run("algorithms").stdout.splitlines()[2].startswith("auto ")
    assert "--reproducible" in run("algorithms", "auto").stdout
