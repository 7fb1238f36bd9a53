"""The online learners on the command line: their options, their objective and their rules to stop."""

import pytest
from support.program import json_lines, last_json, refuses, run

from marginloom import find_algorithm
from marginloom.tasks.sequence.model import SequenceModel


def train(corpus, model, *options):
    return run("train", "tag", corpus / "train.conll", "--model", model, "--features", "words", *options)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("mira", ["--k-best", "3", "--loss-augmented", "--qp-tolerance", "1e-4", "--qp-sweeps", "50"]),
        ("kbest-mira", ["--unbounded"]),
        ("passive-aggressive", ["--variant", "pa-ii", "--no-averaged"]),
        ("sgd", ["--eta0", "0.25", "--averaged"]),
        ("sgd", ["--loss", "hinge"]),
    ],
)
def test_options_of_a_learner_change_the_model(corpus, tmp_path, algorithm, options):
    common = ("--algorithm", algorithm, "--max-iter", "3", "--C", "0.05", "--json")
    plain = train(corpus, tmp_path / "plain", *common)
    done = train(corpus, tmp_path / "set", *common, *options)
    assert "ignored" not in plain.stderr + done.stderr
    summary = last_json(done)
    assert summary["stopped"] == "iterations"
    assert (summary["dual"], summary["gap"]) == (None, None)
    assert (summary["primal"] is None) == (algorithm != "sgd")
    weights = [SequenceModel.load(tmp_path / name).weights.tobytes() for name in ("plain", "set")]
    assert (weights[0] == weights[1]) == ("--loss" in options)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("minibatch-perceptron", ["--batch-size", "4"]),
        ("minibatch-mira", ["--batch-size", "4", "--k-best", "2", "--threads", "2"]),
        ("ipm", ["--shards", "3", "--threads", "2"]),
        ("ipm-mira", ["--shards", "3", "--sharding", "contiguous", "--mixing", "errors", "--inner-epochs", "2"]),
        ("parameter-mixing", ["--shards", "5"]),
        ("subsample", ["--shards", "2"]),
    ],
)
def test_options_of_an_engine_change_the_model(corpus, tmp_path, algorithm, options):
    common = ("--algorithm", algorithm, "--max-iter", "3", "--json")
    plain = train(corpus, tmp_path / "plain", *common)
    done = train(corpus, tmp_path / "set", *common, *options)
    assert "ignored" not in plain.stderr + done.stderr
    assert last_json(done)["engine"] == find_algorithm(algorithm).engine.name
    weights = [SequenceModel.load(tmp_path / name).weights.tobytes() for name in ("plain", "set")]
    assert weights[0] != weights[1]


def test_sgd_shows_its_primal_and_its_first_step(corpus, tmp_path):
    done = train(corpus, tmp_path / "m", "--algorithm", "sgd", "--max-iter", "3", "--trace", tmp_path / "t")
    assert "No certificate: sgd computes no lower bound" in done.stdout
    assert "eta0 0." in done.stdout
    settings, *rows = json_lines(tmp_path / "t")
    assert settings["loss"] == "hinge"
    assert [row["primal"] is None for row in rows] == [True, True, False]
    assert f"The training objective is {rows[-1]['primal']:.6g}." in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("option", "reason"),
    [(["--stop-separated", "--features", "tagging"], "separated"), (["--stop-unchanged", "0.05"], "unchanged")],
)
def test_rules_of_convergence_end_a_run(corpus, tmp_path, option, reason):
    done = train(corpus, tmp_path / "m", "--algorithm", "averaged-perceptron", "--max-iter", "99", "--json", *option)
    summary = last_json(done)
    assert summary["stopped"] == reason
    assert 1 < summary["iterations"] < 99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "passive-aggressive", "--variant", "pa-3"], "variant must be pa, pa-i or pa-ii, not 'pa-3'"),
        (["--algorithm", "mira", "--batch-size", "4"], "mira has no parameter 'batch_size' (--batch-size on the"),
        (["--algorithm", "ipm", "--sharding", "random"], "sharding must be shuffled or contiguous, not 'random'"),
        (["--algorithm", "mira", "--qp-sweeps", "0"], "qp_sweeps must be a whole number from 1"),
        (["--algorithm", "sgd", "--eta0", "-1"], "eta0 must be a number, 0 or more"),
        (["--algorithm", "sgd", "--variant", "pa"], "sgd has no parameter 'variant' (--variant on"),
        (["--algorithm", "sgd", "--loss", "squared_hinge"], "the learner sgd has the loss hinge"),
        (
            ["--algorithm", "dcd-ssvm", "--stop-separated"],
            "dcd-ssvm has no parameter 'stop_separated' (--stop-separated on",
        ),
        (["--algorithm", "perceptron", "--stop-unchanged", "-1"], "stop_unchanged must be a number, 0 or more"),
    ],
)
def test_wrong_options_are_refused_before_any_work(tmp_path, arguments, message):
    said = refuses("train", "tag", tmp_path / "missing.conll", "--model", tmp_path / "m", *arguments)
    assert message in said
