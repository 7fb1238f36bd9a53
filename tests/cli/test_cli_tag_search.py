"""Taggers that look two labels back, on the command line."""

import json

import pytest
from support.program import run


def train(corpus, tmp_path, *options, code=0):
    model = tmp_path / "model"
    return model, run(
        *("train", "tag", corpus / "train.conll", "--features", "words", "--model", model, "--max-iter", "5"),
        *("--algorithm", "averaged-perceptron", *options),
        code=code,
    )


def test_a_beam_of_training_and_another_at_prediction(corpus, tmp_path):
    model, _ = train(corpus, tmp_path, "--beam", "2", "--update", "early", "--quiet")
    narrow, wide = (
        json.loads(run("evaluate", model, corpus / "dev.conll", *beam, "--json").stdout)["scores"]["accuracy"]
        for beam in ([], ["--beam", "64"])
    )
    assert narrow > 0.5
    assert wide > 0.5
    written = [
        run("predict", model, corpus / "dev.conll", *beam).stdout for beam in ([], ["--beam", "2"], ["--beam", "64"])
    ]
    assert written[0] == written[1]
    assert written[0].count("\n") == written[2].count("\n")
    assert "beam of 2 states, two labels back" in run("inspect", model).stdout
    summary = json.loads(run("inspect", model, "--json").stdout)
    assert (summary["order"], summary["beam"]) == (2, 2)
    assert "finds one labelling" in run("predict", model, corpus / "dev.conll", "--k-best", "2", code=1).stderr


def test_exact_search_of_order_2_ends_with_a_certificate(corpus, tmp_path):
    model, done = train(corpus, tmp_path, "--order", "2", "--algorithm", "dcd-ssvm", "--max-iter", "40")
    assert "Certified" in done.stdout + done.stderr
    assert "exact, two labels back" in run("inspect", model).stdout
    said = run("predict", model, corpus / "dev.conll", "--beam", "8", code=1).stderr
    assert "trained with exact search" in said


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--order", "3"], "order must be 1 or 2", 2),
        (["--beam", "0"], "beam must be a whole number", 2),
        (["--update", "early"], "there is none: give a beam (--beam 8", 2),
        (["--beam", "8", "--update", "late"], "update must be", 2),
        (["--beam", "8", "--algorithm", "dcd-ssvm"], "with perceptron or 1-best MIRA with beam=8", 1),
    ],
)
def test_what_does_not_fit_together_is_an_error(corpus, tmp_path, options, said, code):
    assert said in train(corpus, tmp_path, *options, code=code)[1].stderr
