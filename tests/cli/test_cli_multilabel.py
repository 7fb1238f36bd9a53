"""`marginloom train multilabel` and what the other commands do with its models."""

import json

import numpy as np
import pytest
from support.program import fails, last_json, refuses, run

from marginloom import MultilabelClassifier, write_libsvm
from marginloom.tasks.multilabel.model import MultilabelModel

NAMES = ["blue", "green", "red"]


def problem(rows, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, 5)), 3)
    indicators = X @ np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [0, 1, 1]]) > 0.5
    return X, [[NAMES[label] for label in np.flatnonzero(row)] for row in indicators]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("multilabel")
    for name, rows, seed in (("train", 100, 0), ("dev", 30, 1), ("test", 30, 2)):
        X, y = problem(rows, seed)
        assert [] in y
        write_libsvm(folder / f"{name}.svm", X, y)
    run("train", "multilabel", folder / "train.svm", "--model", folder / "model", "--C", "1", "--quiet")
    return folder


def test_training_reports_scores_and_a_certificate(folder, tmp_path):
    files = [folder / "train.svm", "--dev", folder / "dev.svm", "--test", folder / "test.svm"]
    summary = last_json(run("train", "multilabel", *files, "--model", tmp_path / "m", "--C", "1", "--json"))
    assert summary["loss"] == "squared_hinge"
    assert summary["gap"] <= 0.01
    assert {"micro_f1", "macro_f1", "hamming_loss", "subset_accuracy", "per_label"} < set(summary["scores"]["dev"])
    assert summary["scores"]["test"]["micro_f1"] > 0.9
    shown = run("train", "multilabel", *files, "--model", tmp_path / "m", "--C", "1").stdout
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("test "))
    assert row[1] == f"{summary['scores']['test']['micro_f1']:.4f}"


def test_predictions_are_label_lists_and_may_be_empty(folder):
    lines = run("predict", folder / "model", folder / "test.svm").stdout.splitlines()
    X, y = problem(30, 2)
    classifier = MultilabelClassifier.load(folder / "model")
    assert lines == [",".join(labels) for labels in classifier.predict(X)]
    assert "" in lines
    assert "blue,green" in lines
    assert np.mean([line == ",".join(labels) for line, labels in zip(lines, y, strict=True)]) > 0.7
    without_labels = "".join(line[line.index(" ") :] + "\n" for line in (folder / "test.svm").read_text().splitlines())
    assert run("predict", folder / "model", "-", stdin=without_labels.encode()).stdout.splitlines() == lines


def test_the_k_best_sets_come_with_scores(folder):
    best = run("predict", folder / "model", folder / "test.svm").stdout.splitlines()
    lines = run("predict", folder / "model", folder / "test.svm", "--k-best", "2").stdout.splitlines()
    for line, first in zip(lines, best, strict=True):
        labels, score, second, lower = line.split("\t")
        assert labels == first != second
        assert float(score) >= float(lower)


def test_evaluation_is_that_of_the_estimator(folder):
    X, y = problem(30, 2)
    summary = last_json(run("evaluate", folder / "model", folder / "test.svm", "--json"))
    assert summary["scores"] == MultilabelClassifier.load(folder / "model").evaluate(X, y)
    assert summary["examples"] == 30
    assert summary["unseen_labels"] == {}


def test_unseen_labels_are_named_and_features_beyond_the_training_ignored(folder, tmp_path):
    (tmp_path / "odd.svm").write_text("violet,red 3:2 9:1\n 1:0.5\n")
    done = run("evaluate", folder / "model", tmp_path / "odd.svm", "--json")
    assert last_json(done)["unseen_labels"] == {"violet": 1}
    assert "violet (1)" in done.stderr
    assert "1 entry with an index beyond the 5 features" in done.stderr
    done = run("predict", folder / "model", tmp_path / "odd.svm")
    assert done.stdout.splitlines()[0] == "red"
    assert "beyond the 5 features" in done.stderr


def test_inspect_shows_labels_pairs_and_strong_weights(folder, tmp_path):
    options = ["--C", "1", "--pair", "red blue", "--missing-cost", "2", "--label-cost", "green=3", "--quiet"]
    run("train", "multilabel", folder / "train.svm", "--model", tmp_path / "m", *options)
    text = run("inspect", tmp_path / "m", "--top", "20").stdout
    assert "3: blue, green, red" in text
    assert "1 of labels that interact" in text
    assert "with blue" in text.split("\nred ")[1]
    found = json.loads(run("inspect", tmp_path / "m", "--json").stdout)
    assert found["pairs"] == [["blue", "red"]]
    assert sorted(found["settings"]["label_costs"]) == [
        ["blue", [2.0, 1.0]],
        ["green", [6.0, 3.0]],
        ["red", [2.0, 1.0]],
    ]
    (line, *_) = run("predict", tmp_path / "m", folder / "test.svm", "--k-best", "2").stdout.splitlines()
    assert len(line.split("\t")) == 4


@pytest.mark.parametrize("interactions", ["tree", "full"])
@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_graphs_of_labels_can_be_asked_for(folder, tmp_path, interactions, algorithm):
    options = ["--interactions", interactions, "--algorithm", algorithm, "--max-iter", "20", "--json"]
    run("train", "multilabel", folder / "train.svm", "--model", tmp_path / "m", *options)
    assert len(MultilabelModel.load(tmp_path / "m").pairs) == (2 if interactions == "tree" else 3)
    assert last_json(run("evaluate", tmp_path / "m", folder / "test.svm", "--json"))["scores"]["micro_f1"] > 0.7


@pytest.mark.parametrize(
    ("labels", "exact", "known"),
    [(16, True, ""), (17, False, "at most ")],
)
def test_what_is_only_a_bound_is_called_one(tmp_path, labels, exact, known):
    random = np.random.default_rng(0)
    sets = [[f"l{i % labels}", f"l{(i + 1 + i % 5) % labels}"] for i in range(40)]
    write_libsvm(tmp_path / "train.svm", random.normal(size=(40, 3)), sets)
    options = ["--interactions", "full", "--max-iter", "5", "--C", "0.01"]
    arguments = ["train", "multilabel", tmp_path / "train.svm", "--model", tmp_path / "m", *options]
    shown = " ".join(run(*arguments).stdout.split())
    certificate = MultilabelModel.load(tmp_path / "m").certificate
    assert (certificate.exact, certificate.bounded) == (exact, True)
    sentence = f"Certified: no weights can lower the training objective of {known}{certificate.primal:.6g} by more than"
    assert sentence in shown
    assert sentence in " ".join(run("inspect", tmp_path / "m").stdout.split())
    summary = last_json(run(*arguments, "--json"))
    assert (summary["exact"], summary["bounded"]) == (exact, True)
    online = " ".join(run(*arguments, "--algorithm", "sgd").stdout.split())
    assert (
        f"No certificate: sgd computes no lower bound on the training objective. The training objective is {known}"
        in online
    )


def test_numbers_are_labels_too_and_files_are_joined(tmp_path):
    (tmp_path / "a.svm").write_text("1,2 1:1\n 2:1\n")
    (tmp_path / "b.svm").write_text("2 3:1\n")
    files = [tmp_path / "a.svm", tmp_path / "b.svm"]
    run("train", "multilabel", *files, "--model", tmp_path / "m", "--C", "100", "--quiet")
    assert MultilabelModel.load(tmp_path / "m").labels.names == [1, 2]
    assert run("predict", tmp_path / "m", tmp_path / "a.svm").stdout == "1,2\n\n"
    assert "is none" in fails(
        "train", "multilabel", *files, "--model", tmp_path / "m", "--label-cost", "red=2", "--quiet"
    )


def test_numbers_beyond_double_precision_are_labels_of_their_own(tmp_path):
    low, next_to_it, high = 9007199254740995, 9007199254740996, 2**64 - 1
    (tmp_path / "a").write_text(f"{low},-1 1:1\n{next_to_it} 2:1\n")
    (tmp_path / "b").write_text(f"{high} 3:1\n")
    files = [tmp_path / "a", tmp_path / "b"]
    run("train", "multilabel", *files, "--model", tmp_path / "m", "--C", "100", "--pair", f"{low} {next_to_it}")
    assert run("predict", tmp_path / "m", tmp_path / "a").stdout == f"-1,{low}\n{next_to_it}\n"
    assert run("predict", tmp_path / "m", tmp_path / "b").stdout == f"{high}\n"
    assert last_json(run("evaluate", tmp_path / "m", tmp_path / "b", "--json"))["scores"]["subset_accuracy"] == 1


def test_wrong_usage_is_refused(folder, tmp_path):
    train = ["train", "multilabel", folder / "train.svm", "--model", tmp_path / "m"]
    assert "none, tree or full" in refuses(*train, "--interactions", "star")
    assert "two labels" in refuses(*train, "--pair", "red")
    assert "two labels" in refuses(*train, "--pair", "red blue", "--interactions", "tree")
    assert "missing_cost" in refuses(*train, "--missing-cost", "-1")
    assert "not a label" in fails(*train, "--pair", "red pink", "--quiet")
    (tmp_path / "none.svm").write_text(" 1:1\n 2:1\n")
    assert "nothing to learn" in fails(
        "train", "multilabel", tmp_path / "none.svm", "--model", tmp_path / "m", "--quiet"
    )
