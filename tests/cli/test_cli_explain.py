"""`marginloom explain`: tables on a terminal, JSON for programs, and one sentence for what cannot be explained."""

import math

import numpy as np
import pytest
from support.program import fails, last_json, refuses, run

import marginloom


def check(found):
    for rows in (found["features"], found["examples"]):
        if rows is not None:
            total = math.fsum(row["contribution"] for row in rows)
            assert total == pytest.approx(found["difference"], rel=1e-9, abs=1e-12)


def test_tables_and_json_say_the_same_as_python(corpus, model):
    tagger = marginloom.load(model)
    X, y = marginloom.read_conll(corpus / "dev.conll")
    found = last_json(run("explain", model, corpus / "dev.conll", "--sentence", "2", "--token", "3", "--json"))
    assert found == tagger.explain(X[1], token=2).to_dict()
    shown = run("explain", model, corpus / "dev.conll", "--sentence", "2", "--top", "2").stdout
    assert "contribution" in shown
    assert f"3 {X[1][2]}" in str(found["features"])
    gold = last_json(run("explain", model, corpus / "dev.conll", "--gold", "--json"))
    assert gold == tagger.explain(X[0], y[0]).to_dict()


def test_shares_of_training_sentences_show_their_text(corpus, model):
    found = last_json(
        run("explain", model, corpus / "dev.conll", "--token", "1", "--train", corpus / "train.conll", "--json")
    )
    check(found)
    X, _ = marginloom.read_conll(corpus / "train.conll")
    texts = {row["text"] for row in found["examples"] if row["example"] is not None}
    assert texts <= {" ".join(x) for x in X}
    assert texts


def test_trees_and_rows_are_explained_too(treebank, tmp_path):
    found = last_json(run("explain", treebank / "model", treebank / "test.conllu", "--token", "2", "--json"))
    check(found)
    assert "->" in found["features"][0]["place"]
    check(last_json(run("explain", treebank / "plain", treebank / "test.conllu", "--gold", "--json")))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    lines = [f"{int(x.argmax())} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n" for x in X]
    (tmp_path / "rows.svm").write_text("".join(lines))
    train = ["--algorithm", "dcd-ssvm", "--save-state", "--quiet"]
    for task in ("classify", "multilabel"):
        run("train", task, tmp_path / "rows.svm", "-o", tmp_path / task, *train)
        options = ["--sentence", "3", "--train", tmp_path / "rows.svm", "--json"]
        check(last_json(run("explain", tmp_path / task, tmp_path / "rows.svm", *options)))
        check(last_json(run("explain", tmp_path / task, tmp_path / "rows.svm", "--instead", "1", "--json")))
        check(last_json(run("explain", tmp_path / task, tmp_path / "rows.svm", "--gold", "--json")))


def test_what_cannot_be_explained_is_said_in_a_sentence(corpus, model, treebank, tmp_path):
    dev = corpus / "dev.conll"
    assert "NONE" in fails("explain", model, dev, "--token", "1", "--instead", "NONE")
    assert "no token 99" in fails("explain", model, dev, "--token", "99")
    assert "no sentence 999" in fails("explain", model, dev, "--sentence", "999")
    assert "no saved state" in fails(
        "explain", treebank / "model", treebank / "test.conllu", "--train", treebank / "train.conllu"
    )
    assert "not those that the state" in fails("explain", model, dev, "--train", dev)
    (tmp_path / "bad.conll").write_bytes(b"\xff\xfe\tX\n\n")
    assert "UTF-8" in fails("explain", model, tmp_path / "bad.conll")
    assert "leave out one" in refuses("explain", model, dev, "--gold", "--token", "1", "--instead", "NOUN")
    assert "no features of the training examples" in refuses("explain", model, dev, "--state", model)
