"""`--save-state` and `--warm-start`: going on where a run ended, and never on something else."""

import numpy as np
import pytest
from support.pairs import tolerance
from support.program import fails, json_lines, last_json, names_in, run

from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.model import SequenceModel


def train(path, model, *options):
    return last_json(run("train", "tag", path, "--model", model, "--json", "--features", "words", *options))


def test_warm_start_needs_fewer_passes(corpus, tmp_path, model):
    cold = train(corpus / "train.conll", tmp_path / "cold", "--tol", "0.001", "--max-iter", "1000")
    warm = train(
        corpus / "train.conll", tmp_path / "warm", "--tol", "0.001", "--max-iter", "1000", "--warm-start", model
    )
    assert warm["stopped"] == cold["stopped"] == "tolerance"
    assert warm["gap"] <= 0.001
    assert 0 < warm["iterations"] < cold["iterations"]
    # Both are within a thousandth of the same optimum.
    assert warm["dual"] <= cold["primal"]
    assert cold["dual"] <= warm["primal"]


def test_warm_start_does_not_begin_at_nothing(corpus, tmp_path, model):
    certified = SequenceModel.load(model).certificate
    trace = tmp_path / "t"
    train(corpus / "train.conll", tmp_path / "m", "--warm-start", model, "--tol", "0.001", "--trace", trace)
    assert json_lines(trace)[1]["dual"] >= certified.dual * (1 - 1e-9)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light", "perceptron", "averaged-perceptron"])
def test_interrupted_halfway_and_continued_is_the_same_as_in_one_go(corpus, tmp_path, algorithm):
    """The state has everything: random state, duals or averages."""
    path, common = corpus / "train.conll", ["--algorithm", algorithm, *tolerance(algorithm, 1e-12), "--save-state"]
    train(path, tmp_path / "whole", *common, "--max-iter", "6")
    train(path, tmp_path / "half", *common, "--max-iter", "3")
    train(path, tmp_path / "rest", *common, "--max-iter", "3", "--warm-start", tmp_path / "half")
    whole, rest = SequenceModel.load(tmp_path / "whole"), SequenceModel.load(tmp_path / "rest")
    if algorithm.startswith("dcd"):
        # The first half ends with a certificate, which takes the rounding errors out of the weights.
        assert np.allclose(whole.weights, rest.weights, rtol=0, atol=1e-6)
    else:
        assert np.array_equal(whole.weights, rest.weights)
    assert np.array_equal(whole.state.arrays["random"], rest.state.arrays["random"])


def test_another_cost_may_follow(corpus, tmp_path, model):
    warm = train(corpus / "train.conll", tmp_path / "m", "--C", "1", "--warm-start", model, "--max-iter", "500")
    cold = train(corpus / "train.conll", tmp_path / "m", "--C", "1", "--max-iter", "500")
    assert warm["stopped"] == cold["stopped"] == "tolerance"
    assert warm["dual"] <= cold["primal"]
    assert cold["dual"] <= warm["primal"]


def test_model_without_a_state_is_named(corpus, tmp_path):
    run("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--max-iter", "1")
    said = fails(
        "train", "tag", corpus / "train.conll", "--model", tmp_path / "new", "--warm-start", tmp_path / "m",
        "--trace", tmp_path / "trace",
    )  # fmt: skip
    assert str(tmp_path / "m") in said
    assert "--save-state" in said
    assert names_in(tmp_path) == ["m"]


@pytest.mark.parametrize(
    "change",
    [
        lambda words, tags: (words[1:], tags[1:]),
        lambda words, tags: (words[::-1], tags[::-1]),
        lambda words, tags: (words, [["NEW", *tags[0][1:]], *tags[1:]]),
    ],
    ids=["fewer sentences", "another order", "another label"],
)
def test_other_data_is_refused_and_nothing_is_written(tmp_path, model, change):
    write_conll(tmp_path / "t.conll", *change(*make_tagging(120, seed=0)))
    said = fails(
        "train", "tag", tmp_path / "t.conll", "--model", tmp_path / "new", "--warm-start", model,
        "--trace", tmp_path / "trace",
    )  # fmt: skip
    assert "other training examples" in said
    assert names_in(tmp_path) == ["t.conll"]


def test_state_of_another_learner_is_refused(corpus, tmp_path, model):
    said = fails(
        "train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--warm-start", model,
        "--algorithm", "perceptron",
    )  # fmt: skip
    assert "dcd" in said
    assert "perceptron" in said
    assert names_in(tmp_path) == []


def test_plain_perceptron_does_not_continue_an_averaged_one(corpus, tmp_path):
    path = corpus / "train.conll"
    train(path, tmp_path / "a", "--algorithm", "averaged-perceptron", "--max-iter", "1", "--save-state")
    said = fails(
        "train", "tag", path, "--model", tmp_path / "b", "--algorithm", "perceptron", "--warm-start", tmp_path / "a"
    )
    assert "state" in said
    assert names_in(tmp_path) == ["a"]


def test_model_to_start_from_is_not_there(corpus, tmp_path):
    said = fails("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--warm-start", tmp_path / "gone")
    assert str(tmp_path / "gone") in said
    assert names_in(tmp_path) == []


def test_a_model_does_not_continue_into_its_own_file(corpus, tmp_path):
    path, own = corpus / "train.conll", tmp_path / "m"
    train(path, own, "--max-iter", "2", "--save-state")
    before = own.read_bytes()
    assert "--warm-start" in fails("train", "tag", path, "--model", own, "--warm-start", own)
    assert own.read_bytes() == before
    assert names_in(tmp_path) == ["m"]
