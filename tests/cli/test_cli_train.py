"""`marginloom train tag` on files: what it writes, what it says and what it accepts."""

import gzip
import lzma
import math
from itertools import pairwise

import numpy as np
import pytest
from support.program import TRAINING_SENTENCES, conllu, json_lines, last_json, names_in, run

from marginloom.io.model import load_model
from marginloom.tasks.sequence.datasets import make_tagging, write_conll
from marginloom.tasks.sequence.model import SequenceModel

KEYS = {
    "algorithm": str,
    "learner": str,
    "engine": str,
    "loss": (str, type(None)),
    "iterations": int,
    "weights_iteration": int,
    "threads": int,
    "stopped": str,
    "seconds": dict,
    "primal": (float, type(None)),
    "dual": (float, type(None)),
    "gap": (float, type(None)),
    "exact": bool,
    "bounded": bool,
    "weights": int,
    "nonzero": int,
    "active": int,
    "inferences": int,
    "updates": int,
    "peak_memory_mb": float,
    "scores": dict,
}


def train(corpus, model, *options):
    return run("train", "tag", corpus / "train.conll", "--model", model, *options)


def weights_of(path):
    return SequenceModel.load(path).weights


def same_model(one, other):
    (header, tensors), (other_header, other_tensors) = load_model(one, "tag"), load_model(other, "tag")
    assert header == other_header
    assert tensors.keys() == other_tensors.keys()
    return all(array.tobytes() == other_tensors[name].tobytes() for name, array in tensors.items())


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light", "perceptron", "averaged-perceptron"])
def test_json_has_every_key_with_its_type(corpus, tmp_path, algorithm):
    done = train(
        corpus, tmp_path / "m", "--algorithm", algorithm, "--json", "--max-iter", "4", "--test", corpus / "test.conll"
    )
    summary = last_json(done)
    assert set(summary) == set(KEYS)
    for key, kind in KEYS.items():
        assert isinstance(summary[key], kind), key
    assert set(summary["seconds"]) == {"read", "features", "train", "certify"}
    assert all(isinstance(x, float) and x >= 0 for x in summary["seconds"].values())
    assert summary["algorithm"] == algorithm
    assert summary["engine"] == "serial"
    assert summary["learner"] == ("dcd" if algorithm.startswith("dcd") else "perceptron")
    assert summary["threads"] == 1
    assert summary["peak_memory_mb"] > 1
    assert set(summary["scores"]) == {"test"}


def test_json_is_alone_on_standard_output(corpus, tmp_path):
    done = train(corpus, tmp_path / "m", "--json", "--dev", corpus / "dev.conll", "--test", corpus / "test.conll")
    assert done.stdout.count("\n") == 1
    scores = last_json(done)["scores"]
    assert set(scores) == {"dev", "test"}
    assert 0.5 < scores["dev"]["accuracy"] < 1


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "dcd-light"])
def test_numbers_of_a_certified_run_agree_with_each_other(corpus, tmp_path, algorithm):
    model = tmp_path / "m"
    summary = last_json(train(corpus, model, "--algorithm", algorithm, "--tol", "0.02", "--max-iter", "1000", "--json"))
    assert summary["stopped"] == "tolerance"
    assert summary["loss"] == "squared_hinge"
    assert 0 < summary["dual"] <= summary["primal"]
    assert math.isclose(summary["gap"], (summary["primal"] - summary["dual"]) / summary["primal"], rel_tol=1e-9)
    assert summary["gap"] <= 0.02
    assert summary["inferences"] >= summary["iterations"] * TRAINING_SENTENCES
    assert summary["active"] > 0
    assert summary["updates"] >= summary["active"]
    tagger = SequenceModel.load(model)
    assert summary["weights"] == tagger.weights.size
    assert summary["nonzero"] == np.count_nonzero(tagger.weights) > 0
    assert tagger.certificate.gap == summary["gap"]
    assert tagger.certificate.exact is True
    # 1/2 |w|^2 is a part of the primal objective.
    assert 0 < tagger.weights @ tagger.weights / 2 < summary["primal"]


def test_online_learner_has_no_certificate(corpus, tmp_path):
    summary = last_json(train(corpus, tmp_path / "m", "--algorithm", "perceptron", "--max-iter", "3", "--json"))
    assert summary["loss"] is summary["primal"] is summary["dual"] is summary["gap"] is None
    assert summary["stopped"] == "iterations"
    assert summary["iterations"] == 3
    assert summary["inferences"] == 3 * TRAINING_SENTENCES
    assert 0 < summary["updates"] <= summary["inferences"]
    assert SequenceModel.load(tmp_path / "m").certificate is None


def test_iterations_used_up_are_reported_with_the_gap_that_was_reached(corpus, tmp_path):
    summary = last_json(train(corpus, tmp_path / "m", "--max-iter", "2", "--tol", "1e-6", "--json"))
    assert summary["stopped"] == "iterations"
    assert summary["iterations"] == 2
    assert summary["gap"] > 1e-6


def test_trace_has_the_settings_and_a_line_per_iteration(corpus, tmp_path):
    trace = tmp_path / "trace.jsonl"
    summary = last_json(train(corpus, tmp_path / "m", "--trace", trace, "--dev", corpus / "dev.conll", "--json"))
    settings, *rows = json_lines(trace)
    assert settings["algorithm"] == "dcd-ssvm"
    assert settings["learner"] == {
        "name": "dcd",
        "delta": 0.01,
        "k_best": 0,
        "inner_passes": 5,
        "sweeps": 3,
        "shrinking": 0.0,
        "rest": 0,
        "averaged": False,
    }
    assert (settings["C"], settings["tol"], settings["seed"], settings["threads"]) == (0.1, 0.01, 0, 1)
    assert settings["examples"] == TRAINING_SENTENCES
    assert [row["iteration"] for row in rows] == list(range(1, summary["iterations"] + 1))
    for before, after in pairwise(rows):
        assert after["seconds"] >= before["seconds"]
        assert after["inferences"] > before["inferences"]
        assert after["updates"] >= before["updates"]
        assert after["dual"] >= before["dual"] - 1e-9 * abs(before["dual"])
    for row in rows:
        assert math.isclose(row["gap"], (row["primal"] - row["dual"]) / row["primal"], rel_tol=1e-9)
        assert 0 <= row["scores"]["dev"]["accuracy"] <= 1
        assert len(row["threads"]) == 1
    last = rows[-1]
    assert last["certified"] is True
    assert (last["primal"], last["dual"], last["gap"]) == (summary["primal"], summary["dual"], summary["gap"])
    assert last["inferences"] == summary["inferences"]
    assert last["active"] == summary["active"]
    assert last["scores"]["dev"] == {"accuracy": summary["scores"]["dev"]["accuracy"]}


def test_text_for_readers_names_gap_scores_and_model(corpus, tmp_path):
    model = tmp_path / "m"
    done = train(corpus, model, "--dev", corpus / "dev.conll")
    assert "reached the tolerance" in done.stdout
    assert "Certified: no weights can lower the training objective" in done.stdout
    (accuracy,) = (line.split()[1] for line in done.stdout.splitlines() if line.startswith("dev "))
    assert 0.9 < float(accuracy) <= 1
    assert str(model) in done.stdout
    assert done.stdout.count("\n") <= 26
    assert max(map(len, done.stdout.replace(str(model), "m").splitlines())) <= 80


def test_quiet_says_nothing(corpus, tmp_path):
    done = train(corpus, tmp_path / "m", "--quiet", "--algorithm", "perceptron")
    assert done.stdout == done.stderr == ""


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_training_file_gives_the_same_weights(corpus, tmp_path, suffix, compress):
    packed = tmp_path / f"train.conll{suffix}"
    packed.write_bytes(compress((corpus / "train.conll").read_bytes()))
    train(corpus, tmp_path / "plain", "--max-iter", "3")
    run("train", "tag", packed, "--model", tmp_path / "packed", "--max-iter", "3")
    assert same_model(tmp_path / "plain", tmp_path / "packed")


def test_several_files_train_as_one(corpus, tmp_path):
    words, tags = make_tagging(TRAINING_SENTENCES, seed=0)
    write_conll(tmp_path / "a", words[:50], tags[:50])
    write_conll(tmp_path / "b", words[50:], tags[50:])
    train(corpus, tmp_path / "one", "--max-iter", "3")
    run("train", "tag", tmp_path / "a", tmp_path / "b", "--model", tmp_path / "two", "--max-iter", "3")
    assert same_model(tmp_path / "one", tmp_path / "two")


def test_conllu_trains_on_forms_and_upos(corpus, tmp_path):
    text = conllu(*make_tagging(TRAINING_SENTENCES, seed=0), comments=True)
    (tmp_path / "train.conllu").write_text(text)
    run("train", "tag", tmp_path / "train.conllu", "--model", tmp_path / "u", "--max-iter", "3")
    train(corpus, tmp_path / "plain", "--max-iter", "3")
    from_conllu, from_columns = SequenceModel.load(tmp_path / "u"), SequenceModel.load(tmp_path / "plain")
    assert from_conllu.labels.names == from_columns.labels.names
    assert np.array_equal(from_conllu.weights, from_columns.weights)
    assert from_conllu.settings["label_column"] == 4
    assert from_conllu.settings["format"] == "conllu"


def test_format_option_overrides_the_name(tmp_path):
    (tmp_path / "train.txt").write_text(conllu(*make_tagging(30)))
    run("train", "tag", tmp_path / "train.txt", "--format", "conllu", "--model", tmp_path / "m", "--max-iter", "1")
    assert SequenceModel.load(tmp_path / "m").settings["format"] == "conllu"


def test_column_option_chooses_the_labels(tmp_path):
    words, tags = make_tagging(30)
    upper = [[tag.lower() for tag in sentence] for sentence in tags]
    write_conll(tmp_path / "three.conll", words, upper, tags)
    run("train", "tag", tmp_path / "three.conll", "--model", tmp_path / "last", "--max-iter", "1")
    run("train", "tag", tmp_path / "three.conll", "--model", tmp_path / "second", "--column", "2", "--max-iter", "1")
    last, second = SequenceModel.load(tmp_path / "last"), SequenceModel.load(tmp_path / "second")
    assert second.labels.names == [name.lower() for name in last.labels.names]
    assert np.array_equal(last.weights, second.weights)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_same_seed_gives_the_same_bytes_and_another_does_not(corpus, tmp_path, algorithm):
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        train(corpus, tmp_path / name, "--algorithm", algorithm, "--seed", seed, "--max-iter", "4", "--save-state")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert not np.array_equal(weights_of(tmp_path / "a"), weights_of(tmp_path / "c"))


def test_number_of_threads_does_not_change_the_weights(corpus, tmp_path):
    one = last_json(
        train(corpus, tmp_path / "one", "--threads", "1", "--reproducible", "--json", "--dev", corpus / "dev.conll")
    )
    two = last_json(
        train(corpus, tmp_path / "two", "--threads", "2", "--reproducible", "--json", "--dev", corpus / "dev.conll")
    )
    assert two["threads"] == 2
    assert np.array_equal(weights_of(tmp_path / "one"), weights_of(tmp_path / "two"))
    for key in ("iterations", "primal", "dual", "gap", "inferences", "updates", "active", "scores"):
        assert one[key] == two[key], key


def test_all_cores_can_be_asked_for(corpus, tmp_path):
    assert last_json(train(corpus, tmp_path / "m", "--threads", "-1", "--max-iter", "1", "--json"))["threads"] >= 1


def test_options_of_the_learner_and_engine_reach_it(corpus, tmp_path):
    train(
        corpus,
        tmp_path / "m",
        "--delta",
        "0.5",
        "--inner-passes",
        "2",
        "--k-best",
        "3",
        "--no-shuffle",
        "--max-iter",
        "2",
    )
    settings = SequenceModel.load(tmp_path / "m").settings
    assert settings["learner"] == {
        "name": "dcd",
        "delta": 0.5,
        "k_best": 3,
        "inner_passes": 2,
        "sweeps": 3,
        "shrinking": 0.0,
        "rest": 0,
        "averaged": False,
    }
    assert settings["engine"] == {"name": "serial", "shuffle": False}


def test_switch_makes_the_averaged_perceptron_a_plain_one(corpus, tmp_path):
    train(corpus, tmp_path / "a", "--algorithm", "averaged-perceptron", "--no-averaged", "--max-iter", "2")
    train(corpus, tmp_path / "b", "--algorithm", "perceptron", "--max-iter", "2")
    assert np.array_equal(weights_of(tmp_path / "a"), weights_of(tmp_path / "b"))


def test_min_count_start_end_and_label_costs_change_the_model(corpus, tmp_path):
    train(corpus, tmp_path / "plain", "--max-iter", "2")
    train(corpus, tmp_path / "few", "--max-iter", "2", "--min-count", "3")
    train(corpus, tmp_path / "ends", "--max-iter", "2", "--start-end")
    train(corpus, tmp_path / "costs", "--max-iter", "2", "--label-cost", "NOUN=5", "--label-cost", "VERB=0.5")
    plain = SequenceModel.load(tmp_path / "plain")
    assert 0 < SequenceModel.load(tmp_path / "few").feature_count < plain.feature_count
    assert SequenceModel.load(tmp_path / "ends").start_end is True
    ends = SequenceModel.load(tmp_path / "ends").weights.reshape(-1, 16)[13:15]
    assert np.count_nonzero(ends[0]) > 0
    assert np.count_nonzero(ends[1]) > 0
    costs = SequenceModel.load(tmp_path / "costs")
    assert costs.settings["label_costs"] == [["NOUN", 5.0], ["VERB", 0.5]]
    assert not np.array_equal(costs.weights, plain.weights)


def test_patience_stops_early_and_keeps_the_best_pass(corpus, tmp_path):
    trace = tmp_path / "trace.jsonl"
    options = ["--patience", "2", "--tol", "1e-9", "--max-iter", "500", "--trace", trace, "--json"]
    summary = last_json(train(corpus, tmp_path / "m", "--dev", corpus / "dev.conll", *options))
    assert summary["stopped"] == "early"
    scores = [row["scores"]["dev"]["accuracy"] for row in json_lines(trace)[1:]]
    assert len(scores) == summary["iterations"] < 500
    best = scores.index(max(scores))
    assert summary["iterations"] == best + 1 + 2
    assert summary["weights_iteration"] == best + 1
    certified = [row for row in json_lines(trace)[1:] if row["certified"]]
    assert [row["iteration"] for row in certified] == [best + 1]
    assert [certified[0][name] for name in ("primal", "dual", "gap")] == [
        summary[name] for name in ("primal", "dual", "gap")
    ]
    shown = train(corpus, tmp_path / "m", "--dev", corpus / "dev.conll", *options[:-1]).stdout
    assert f"the weights are those of pass {best + 1} " in " ".join(shown.split())
    # The certificate's weights are rebuilt from the duals, the same up to rounding.
    assert summary["scores"]["dev"]["accuracy"] == pytest.approx(max(scores), abs=0.005)


def test_document_marks_are_dropped_for_training(corpus, tmp_path):
    text = (corpus / "train.conll").read_text()
    marked = tmp_path / "marked.conll"
    marked.write_text("-DOCSTART-\t-X-\n\n" + text.replace("\n\n", "\n\n-DOCSTART-\t-X-\n\n", 3))
    train(corpus, tmp_path / "plain", "--max-iter", "3")
    run("train", "tag", marked, "--model", tmp_path / "marked", "--max-iter", "3")
    assert same_model(tmp_path / "plain", tmp_path / "marked")


def test_hash_sign_is_a_token_in_columns_and_a_comment_in_conllu(tmp_path):
    (tmp_path / "t.conll").write_text("# SYM\n5 NUM\n\n# SYM\n6 NUM\n\n")
    run("train", "tag", tmp_path / "t.conll", "--model", tmp_path / "m", "--C", "10")
    assert SequenceModel.load(tmp_path / "m").labels.names == ["NUM", "SYM"]
    done = run("predict", tmp_path / "m", "-", stdin=b"#\n5\n\n")
    assert done.stdout == "# SYM\n5 NUM\n\n"


def test_only_the_model_and_the_trace_are_written(corpus, tmp_path):
    train(corpus, tmp_path / "m", "--trace", tmp_path / "t", "--max-iter", "1")
    assert names_in(tmp_path) == ["m", "t"]


def test_model_replaces_an_older_one(corpus, tmp_path):
    train(corpus, tmp_path / "m", "--max-iter", "1")
    before = weights_of(tmp_path / "m")
    train(corpus, tmp_path / "m", "--max-iter", "2")
    assert not np.array_equal(before, weights_of(tmp_path / "m"))
    assert names_in(tmp_path) == ["m"]
