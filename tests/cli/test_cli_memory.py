"""`--memory` and what the command says about memory."""

import re

from program import last_json, run

from marginloom.tagging import Tagger

NOTE = r"memory: features \d+\.\d MB, weights \d+\.\d MB"


def train(corpus, model, *options):
    return run("train", "tag", corpus / "train.conll", "--model", model, *options)


def test_the_need_is_said_before_training_unless_quiet(corpus, tmp_path):
    assert re.search(rf"^{NOTE}, working sets up to \d+\.\d MB$", train(corpus, tmp_path / "m").stderr, re.MULTILINE)
    done = train(corpus, tmp_path / "m", "--algorithm", "perceptron")
    assert re.search(rf"^{NOTE}$", done.stderr, re.MULTILINE)
    assert "memory" not in train(corpus, tmp_path / "m", "--quiet").stderr


def test_an_absurdly_small_budget_changes_nothing_but_says_that_it_was_exceeded(corpus, tmp_path):
    free = train(corpus, tmp_path / "free", "--memory", "1G")
    tight = train(corpus, tmp_path / "tight", "--memory", "1")
    assert "working sets up to 1024.0 MB" in free.stderr
    assert "more than the memory that they were given" not in free.stdout
    assert "more than the memory that they were given" in tight.stdout
    weights = [Tagger.load(tmp_path / name).weights.tobytes() for name in ("free", "tight")]
    assert weights[0] == weights[1]


def test_a_budget_that_is_no_size_is_wrong_usage(corpus, tmp_path):
    done = run("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--memory", "much", code=2)
    assert "memory must be a number of bytes" in " ".join(done.stderr.split())


def test_a_learner_without_working_sets_ignores_the_budget_with_a_line(corpus, tmp_path):
    done = train(corpus, tmp_path / "m", "--algorithm", "perceptron", "--memory", "1G", "--json")
    assert "perceptron has no memory: --memory is ignored" in done.stderr
    assert last_json(done)["active"] == 0
