"""`marginloom evaluate`, `inspect` and `algorithms`."""

import json
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from support.program import last_json, run

from marginloom import write_conllu
from marginloom.algorithms import ALGORITHMS
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.metrics import sequence_scores
from marginloom.tasks.sequence.model import SequenceModel


@pytest.fixture(scope="module")
def span_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spans")
    (folder / "train.conll").write_text("Ann B-PER\nLee I-PER\nsaw O\nRome B-LOC\n\nRome B-LOC\nis O\n\n")
    run("train", "tag", folder / "train.conll", "--model", folder / "model", "--C", "10")
    return folder / "model"


def test_scores_are_those_of_the_predictions(corpus, model):
    summary = last_json(run("evaluate", model, corpus / "dev.conll", "--json"))
    words, tags = make_tagging(40, seed=1)
    tagger = SequenceModel.load(model)
    offsets, numbers = tagger.predict(words)
    labels = tagger.labels.decode(numbers).tolist()
    predicted = [labels[a:b] for a, b in pairwise(offsets)]
    assert summary["scores"] == sequence_scores(tags, predicted)
    assert summary["sentences"] == 40
    assert summary["tokens"] == sum(map(len, words))
    assert summary["unseen_labels"] == {}


def test_text_for_readers(corpus, model):
    done = run("evaluate", model, corpus / "dev.conll", "--threads", "2")
    accuracy = last_json(run("evaluate", model, corpus / "dev.conll", "--json"))["scores"]["accuracy"]
    assert "40 sentences" in done.stdout
    assert f"accuracy {accuracy:.4f}" in done.stdout
    assert done.stderr == ""


def test_spans_have_their_scores_too(span_model, tmp_path):
    (tmp_path / "test.conll").write_text("Ann B-PER\nLee I-PER\nsaw O\nRome O\n\n")
    scores = last_json(run("evaluate", span_model, tmp_path / "test.conll", "--json"))["scores"]
    assert scores["accuracy"] == 0.75
    assert (scores["precision"], scores["recall"]) == (0.5, 1.0)
    assert set(scores["per_label"]) == {"PER", "LOC"}
    shown = run("evaluate", span_model, tmp_path / "test.conll").stdout
    assert all(word in shown for word in ("LOC", "macro", "weighted"))


def test_spans_can_be_scored_strictly(span_model, tmp_path):
    (tmp_path / "test.conll").write_text("Ann B-PER\nLee I-PER\n\nLee B-PER\n\n")
    given = ["evaluate", span_model, tmp_path / "test.conll", "--json"]
    lenient, strict = last_json(run(*given))["scores"], last_json(run(*given, "--strict", "bio"))["scores"]
    assert (lenient["f1"], strict["f1"]) == (1.0, pytest.approx(2 / 3))  # Lee alone is labelled I-PER
    assert "--strict must be one of the schemes bio" in run(*given, "--strict", "iob", code=2).stderr
    assert "gold labels are not of this scheme: B-PER" in run(*given, "--strict", "ioe", code=1).stderr
    assert "mark no span that is well formed in bioes" in run(*given, "--strict", "bioes").stderr


def test_a_test_set_without_spans_is_scored_with_a_warning(span_model, tmp_path):
    (tmp_path / "test.conll").write_text("Ann O\nsaw O\n\n")
    done = run("evaluate", span_model, tmp_path / "test.conll", "--json")
    assert last_json(done)["scores"]["f1"] == 0
    assert done.stderr.startswith("marginloom: warning: the gold labels mark no span")
    assert done.stderr.count("\n") == 1


def test_labels_that_mark_no_spans_are_shown_each(corpus, model):
    scores = last_json(run("evaluate", model, corpus / "dev.conll", "--json"))["scores"]
    shown = run("evaluate", model, corpus / "dev.conll").stdout
    assert scores["per_label"]["NOUN"]["support"] > 0
    for label, row in scores["per_label"].items():
        numbers = [f"{row[name]:.4f}" for name in ("precision", "recall", "f1")]
        assert [label, *numbers, str(row["support"])] in [line.split() for line in shown.splitlines()]


def test_training_shows_the_frequent_labels_and_leaves_the_others_to_evaluate(tmp_path):
    labels = [*range(30), *range(20, 30)]
    write_conll(tmp_path / "t", [[f"w{i}" for i in labels]], [[f"L{i:02}" for i in labels]])
    shown = run("train", "tag", tmp_path / "t", "--model", tmp_path / "m", "--dev", tmp_path / "t").stdout
    assert "L19 " not in shown
    assert "L20 " in shown
    assert "20 less frequent labels are not shown" in shown


def test_labels_that_training_did_not_see_count_as_errors_and_are_named(model, tmp_path):
    words = [["the", "it", "the", "it"], ["the"]]
    write_conll(tmp_path / "t.conll", words, [["DET", "NEW", "NEW", "ODD"], ["DET"]])
    done = run("evaluate", model, tmp_path / "t.conll", "--json")
    summary = last_json(done)
    assert summary["scores"]["accuracy"] == pytest.approx(2 / 5)
    assert summary["unseen_labels"] == {"NEW": 2, "ODD": 1}
    assert done.stderr.count("\n") == 1
    for part in (str(tmp_path / "t.conll"), "NEW (2)", "ODD (1)", "errors"):
        assert part in done.stderr


def test_unseen_labels_in_the_development_set_do_not_stop_training(corpus, tmp_path):
    write_conll(tmp_path / "dev.conll", [["the", "it"]], [["DET", "NEW"]])
    done = run(
        "train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--dev", tmp_path / "dev.conll", "--json",
    )  # fmt: skip
    assert last_json(done)["scores"]["dev"]["accuracy"] == 0.5
    assert "dev: labels that training did not see count as errors: NEW (1)" in " ".join(done.stderr.split())


def test_inspect_json_describes_the_model(corpus, model):
    summary = last_json(run("inspect", model, "--json", "--top", "3"))
    tagger = SequenceModel.load(model)
    words, tags = make_tagging(120, seed=0)
    assert summary["task"] == "tag"
    assert summary["features"] == "words"
    assert summary["feature_count"] == len({word for sentence in words for word in sentence})
    assert summary["labels"] == sorted({tag for sentence in tags for tag in sentence})
    assert summary["weights"] == tagger.weights.size
    assert summary["nonzero"] == np.count_nonzero(tagger.weights)
    assert summary["certificate"] == vars(tagger.certificate)
    assert summary["state"] is True
    assert summary["settings"]["C"] == 0.1
    by_label = {
        label: [abs(entry["weight"]) for entry in summary["strongest"] if entry["label"] == label]
        for label in summary["labels"]
    }
    assert all(1 <= len(strongest) <= 3 for strongest in by_label.values())
    assert all(strongest == sorted(strongest, reverse=True) for strongest in by_label.values())
    assert max(strongest[0] for strongest in by_label.values()) == np.abs(tagger.weights).max()


def test_inspect_names_what_the_strongest_weights_connect(tmp_path):
    (tmp_path / "t.conll").write_text("a X\n\na X\n\na X\n\nb Y\nb Y\n\nb Y\n\nb Y\n\n")
    run(
        "train",
        "tag",
        tmp_path / "t.conll",
        "--model",
        tmp_path / "m",
        "--C",
        "10",
        "--start-end",
        "--features",
        "words",
    )
    strongest = last_json(run("inspect", tmp_path / "m", "--json", "--top", "1000"))["strongest"]
    weights = {(entry["feature"], entry["label"]): entry["weight"] for entry in strongest}
    assert weights["word[0]=a", "X"] > 0 > weights["word[0]=a", "Y"]
    assert weights["word[0]=b", "Y"] > 0 > weights["word[0]=b", "X"]
    assert {feature for feature, _ in weights} <= {
        "word[0]=a", "word[0]=b", "after X", "after Y", "at the start", "at the end",
    }  # fmt: skip


def test_inspect_text_has_the_certificate_and_the_settings(model):
    text = run("inspect", model, "--top", "2").stdout
    for part in ("words", "13: ADJ", "Certified: no weights", "saved, for --warm-start", "algorithm", "dcd-ssvm"):
        assert part in text
    assert "{" not in text
    assert text.count("13: ADJ") == 1
    weights = text.split("strongest weights\n")[1].split("\nEach entry")[0].splitlines()[1:]
    assert [line.split()[0] for line in weights] == SequenceModel.load(model).labels.names
    assert all(len(re.findall(r"[+-]\d\.\d{3} ", line)) == 2 for line in weights)


def test_algorithms_lists_every_preset():
    table, legend = run("algorithms").stdout.split("marginloom algorithms NAME")
    header, _, *lines = table.splitlines()
    assert header.split()[0] == "algorithm"
    assert [line.split()[0] for line in lines if line and line[0] != " "] == ["auto", *ALGORITHMS]
    assert max(map(len, [*lines, *legend.splitlines()])) <= 100
    assert all(f"\n{term} " in legend for term in ("engine", "certified", "inference", "working set"))


def test_algorithms_shows_one_in_full():
    text = run("algorithms", "dcd-light").stdout
    for part in ("dual", "serial", "objective", "squared_hinge", "update", "paper", "--delta", "--inner-passes"):
        assert part in text
    assert "[default: 0]" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "engines    serial, minibatch, mixing, subsample" in run("algorithms", "ipm").stdout


def test_version_and_help():
    assert run("--version").stdout.startswith("marginloom 0.")
    for command in (["--help"], ["train", "tag", "--help"], ["predict", "--help"]):
        assert "Usage" in run(*command).stdout


def test_numbers_in_json_are_plain_json(model):
    def refuse(name):
        raise AssertionError(name)

    json.loads(run("inspect", model, "--json").stdout, parse_constant=refuse)


def test_the_most_frequent_confusions_are_shown_with_their_counts(model, tmp_path):
    words = ["the"] * 5 + ["it"] * 2
    write_conll(tmp_path / "t.conll", [words], [["NOUN"] * 2 + ["NEW"] * 3 + ["DET", "PRON"]])
    done = run("evaluate", model, tmp_path / "t.conll")
    pairs = last_json(run("evaluate", model, tmp_path / "t.conll", "--json"))["scores"]["confusions"]
    predicted = run("predict", model, tmp_path / "t.conll").stdout.split("\n")
    wrong = Counter(
        (line.split()[1], line.split()[2]) for line in predicted if line and len(set(line.split()[1:])) == 2
    )
    assert {(pair["gold"], pair["predicted"]): pair["count"] for pair in pairs} == wrong
    assert [pair["count"] for pair in pairs] == sorted(wrong.values(), reverse=True)
    rows = [line.split() for line in done.stdout.split("most frequent errors\n")[1].splitlines()[2:]]
    assert rows == [[pair["gold"], pair["predicted"], str(pair["count"])] for pair in pairs]


def test_no_more_than_ten_confusions_are_shown(tmp_path):
    labels = [f"L{i:02}" for i in range(12)]
    write_conll(tmp_path / "t", [[f"w{i}" for i in range(12)]], [labels])
    write_conll(tmp_path / "other", [[f"w{i}" for i in range(12)]], [labels[1:] + labels[:1]])
    run("train", "tag", tmp_path / "t", "--model", tmp_path / "m", "--features", "words")
    scores = last_json(run("evaluate", tmp_path / "m", tmp_path / "other", "--json"))["scores"]
    assert len(scores["confusions"]) == 10
    shown = run("evaluate", tmp_path / "m", tmp_path / "other").stdout.split("most frequent errors\n")[1]
    assert len(shown.splitlines()) == 2 + 10


def test_nothing_is_said_of_errors_where_there_are_none(span_model, tmp_path):
    (tmp_path / "test.conll").write_text("Rome B-LOC\nis O\n\n")
    assert "errors" not in run("evaluate", span_model, tmp_path / "test.conll").stdout


def test_classifiers_and_parsers_show_confusions_too(tmp_path):
    (tmp_path / "c.svm").write_text("a 1:1\nb 2:1\na 1:2\nb 2:3\n")
    (tmp_path / "other.svm").write_text("b 1:1\nnew 2:1\na 1:2\n")
    run("train", "classify", tmp_path / "c.svm", "--model", tmp_path / "c")
    pairs = last_json(run("evaluate", tmp_path / "c", tmp_path / "other.svm", "--json"))["scores"]["confusions"]
    assert pairs == [
        {"gold": "b", "predicted": "a", "count": 1},
        {"gold": "new", "predicted": "b", "count": 1},
    ]
    write_conllu(tmp_path / "p.conllu", [[("dogs", "N"), ("bark", "V")]], [[(2, "nsubj"), (0, "root")]])
    write_conllu(tmp_path / "other.conllu", [[("dogs", "N"), ("bark", "V")]], [[(2, "obj:x"), (0, "root")]])
    run("train", "parse", tmp_path / "p.conllu", "--labelled", "--model", tmp_path / "p")
    done = run("evaluate", tmp_path / "p", tmp_path / "other.conllu")
    assert done.stdout.split("most frequent errors\n")[1].splitlines()[-1].split() == ["obj", "nsubj", "1"]
