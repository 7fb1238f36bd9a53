"""`marginloom calibrate`, and the confidence of predictions on the command line."""

import itertools
import json

import numpy as np
import pytest
from support.program import QUICK_PARSER, column, conllu, fails, last_json, refuses, run

import marginloom
from marginloom import make_relations, make_tagging, write_conllu
from marginloom.tasks.parse.datasets import make_treebank
from marginloom.tasks.sequence.model import SequenceModel


@pytest.fixture(scope="module")
def calibrated(corpus, model, tmp_path_factory):
    """The model of the corpus, calibrated."""
    path = tmp_path_factory.mktemp("calibrated") / "model"
    run("calibrate", model, corpus / "dev.conll", "-o", path)
    return path


def cells(text, number):
    return list(itertools.chain.from_iterable(column(text, number)))


def tagged(model, path):
    tagger = marginloom.load(model)
    X = marginloom.read_conll(path)[0]
    return [
        (label, row[label])
        for labels, rows in zip(tagger.predict(X), tagger.predict_marginals(X), strict=True)
        for label, row in zip(labels, rows, strict=True)
    ]


def test_calibrate_stores_the_same_as_python_and_leaves_weights_alone(corpus, model, tmp_path):
    path = tmp_path / "model"
    before = model.read_bytes()
    said = last_json(run("calibrate", model, corpus / "dev.conll", "-o", path, "--json"))
    assert model.read_bytes() == before
    tagger = marginloom.load(model).calibrate(*marginloom.read_conll(corpus / "dev.conll"))
    loaded = SequenceModel.load(path)
    assert said["calibration"]["temperature"] == loaded.calibration.temperature == tagger.calibration_.temperature
    assert loaded.weights.tobytes() == tagger.model_.weights.tobytes()
    assert loaded.state is not None
    assert "temperature" in run("inspect", path).stdout
    assert last_json(run("inspect", path, "--json"))["calibration"]["parts"] == loaded.calibration.parts


def test_calibrate_writes_a_new_file_and_never_one_that_it_reads(corpus, model, tmp_path):
    dev = corpus / "dev.conll"
    assert "--output" in refuses("calibrate", model, dev)
    (tmp_path / "link").symlink_to(model)
    for out in (model, tmp_path / "link", dev):
        before = model.read_bytes(), dev.read_bytes()
        assert "would be overwritten" in fails("calibrate", model, dev, "-o", out)
        assert (model.read_bytes(), dev.read_bytes()) == before


def test_a_model_without_calibration_says_so_and_names_the_command(corpus, model):
    assert "marginloom calibrate MODEL DEV -o OUT" in " ".join(run("inspect", model).stdout.split())
    assert last_json(run("inspect", model, "--json"))["calibration"] is None
    for option in (["--confidence"], ["--min-confidence", "0.5"]):
        assert "marginloom calibrate MODEL DEV -o OUT" in fails("predict", model, corpus / "dev.conll", *option)


def test_confidence_is_one_more_column(corpus, calibrated):
    said = run("predict", calibrated, corpus / "test.conll", "--confidence").stdout
    plain = run("predict", calibrated, corpus / "test.conll").stdout
    assert [line.rpartition("\t")[0] for line in said.split("\n")] == plain.split("\n")
    assert list(zip(cells(said, 2), cells(said, 3), strict=True)) == [
        (label, f"{p:.4f}") for label, p in tagged(calibrated, corpus / "test.conll")
    ]


def test_labels_below_the_least_confidence_are_withheld(corpus, calibrated):
    said = run("predict", calibrated, corpus / "test.conll", "--min-confidence", "0.7").stdout
    expected = [("_" if p < 0.7 else label, f"{p:.4f}") for label, p in tagged(calibrated, corpus / "test.conll")]
    assert list(zip(cells(said, 2), cells(said, 3), strict=True)) == expected
    assert 0 < sum(label == "_" for label, _ in expected) < len(expected)
    assert "--min-confidence" in refuses("predict", calibrated, corpus / "test.conll", "--min-confidence", "1.5")


def test_k_best_labellings_have_a_column_for_each_and_one_for_its_probability(corpus, calibrated):
    said = run("predict", calibrated, corpus / "test.conll", "--k-best", "2", "--confidence").stdout
    tagger = marginloom.load(calibrated)
    X = marginloom.read_conll(corpus / "test.conll")[0]
    for rank in range(2):
        labels, shown = column(said, 2 + rank), column(said, 4 + rank)
        logs = tagger.log_probability(X, labels)
        for own, log in zip(shown, logs, strict=True):
            assert set(own) == {f"{np.exp(log):.4f}"}


def test_conllu_has_confidence_in_misc(tmp_path):
    words, tags = make_tagging(100, seed=0)
    (tmp_path / "train.conllu").write_text(conllu(words, tags))
    dev = conllu(*make_tagging(30, seed=1), comments=True).replace("\t0\tdep\t_\t_\n", "\t0\tdep\t_\tSpaceAfter=No\n")
    (tmp_path / "dev.conllu").write_text(dev)
    done = run("train", "tag", tmp_path / "train.conllu", "--dev", tmp_path / "dev.conllu", "-o", tmp_path / "m")
    assert "calibration: temperature" in done.stderr
    said = run("predict", tmp_path / "m", tmp_path / "dev.conllu", "--confidence").stdout
    tokens = [line.split("\t") for line in said.split("\n") if line and line.split("\t")[0].isdigit()]
    assert all(row[9].startswith("SpaceAfter=No|Confidence=0.") or "=1.0000" in row[9] for row in tokens)
    assert sum("Confidence=" in line for line in said.split("\n")) == len(tokens)
    text = run("predict", tmp_path / "m", "-", "--format", "text", "--confidence", stdin=b"the dog.\n").stdout
    assert text.count("Confidence=") == 3


def test_crfsuite_and_libsvm_sequences_have_comments(tmp_path):
    rows = [f"{'AB'[i % 2]}\tw={i % 2}\tbias" if i % 7 else "" for i in range(200)]
    (tmp_path / "train.crfsuite").write_text("\n".join(rows) + "\n\n")
    done = run("train", "tag", tmp_path / "train.crfsuite", "-o", tmp_path / "m", "--calibrate", "0.3")
    assert "calibration: temperature" in done.stderr
    said = run("predict", tmp_path / "m", tmp_path / "train.crfsuite", "--confidence").stdout
    plain = run("predict", tmp_path / "m", tmp_path / "train.crfsuite").stdout
    assert [line.partition("\t# confidence=")[0] for line in said.split("\n")] == plain.split("\n")
    assert 0 < float(said.split("\n")[0].partition("=")[2]) <= 1


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    for name, own in (("train", X[:150]), ("dev", X[150:])):
        features = [" ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row)) for row in own]
        noise = rng.integers(3, size=len(own))
        classes = [int(row.argmax()) if n else int(n) for row, n in zip(own, noise, strict=True)]
        (folder / f"{name}.svm").write_text("".join(f"{c} {f}\n" for c, f in zip(classes, features, strict=True)))
        sets = [",".join("abc"[j] for j in range(3) if row[j] > 0.2 * n) for row, n in zip(own, noise, strict=True)]
        (folder / f"{name}.sets").write_text("".join(f"{s} {f}\n" for s, f in zip(sets, features, strict=True)))
    run("train", "classify", folder / "train.svm", "--dev", folder / "dev.svm", "-o", folder / "classes", "--quiet")
    run("train", "multilabel", folder / "train.sets", "--dev", folder / "dev.sets", "-o", folder / "labels", "--quiet")
    return folder


def test_classes_have_comments_and_k_best_has_probabilities(rows):
    said = run("predict", rows / "classes", rows / "dev.svm", "--confidence").stdout.splitlines()
    classifier = marginloom.load(rows / "classes")
    X = marginloom.read_libsvm(rows / "dev.svm")[0]
    P = classifier.predict_proba(X)
    best = classifier.predict(X)
    assert said == [
        f"{y}\t# confidence={p[list(classifier.classes_).index(y)]:.4f}" for y, p in zip(best, P, strict=True)
    ]
    ranked = run("predict", rows / "classes", rows / "dev.svm", "--k-best", "3").stdout.splitlines()
    for line, p in zip(ranked, P, strict=True):
        fields = line.split("\t")
        assert len(fields) == 9
        assert sum(float(fields[place]) for place in (2, 5, 8)) == pytest.approx(1, abs=1e-4)
        assert float(fields[2]) == pytest.approx(p.max(), abs=1e-4)
    low = run("predict", rows / "classes", rows / "dev.svm", "--min-confidence", "0.6").stdout.splitlines()
    assert [line.startswith("_\t") for line in low] == [f < 0.6 for f in P.max(axis=1)]


def test_label_sets_have_a_confidence_for_each_label(rows):
    said = run("predict", rows / "labels", rows / "dev.sets", "--confidence").stdout.splitlines()
    plain = run("predict", rows / "labels", rows / "dev.sets").stdout.splitlines()
    classifier = marginloom.load(rows / "labels")
    X = marginloom.read_libsvm(rows / "dev.sets", multilabel=True)[0]
    P = classifier.predict_proba(X)
    for line, labels, p in zip(said, plain, P, strict=True):
        names = [name for name in labels.split(",") if name]
        shown = ",".join(f"{p[list(classifier.classes_).index(name)]:.4f}" for name in names)
        assert line == f"{labels}\t# confidence={shown}"
    fields = run("predict", rows / "labels", rows / "dev.sets", "--k-best", "2").stdout.splitlines()[0].split("\t")
    assert len(fields) == 6


def test_trees_have_confidence_in_misc_and_probabilities_in_comments(treebank, tmp_path):
    path = tmp_path / "parser"
    run("calibrate", treebank / "model", treebank / "dev.conllu", "-o", path)
    said = run("predict", path, treebank / "test.conllu", "--confidence").stdout
    parser = marginloom.load(path)
    X = marginloom.read_conllu(treebank / "test.conllu", columns=parser.columns_)[0]
    expected = [
        f"Confidence={row[head]:.4f}"
        for tree, rows in zip(parser.predict(X), parser.predict_marginals(X), strict=True)
        for (head, _), row in zip(tree, rows, strict=True)
    ]
    assert [line.split("\t")[9] for line in said.split("\n") if line] == expected
    low = run("predict", path, treebank / "test.conllu", "--min-confidence", "0.99").stdout
    labels = [line.split("\t")[7] for line in low.split("\n") if line]
    assert [label == "_" for label in labels] == [float(text.partition("=")[2]) < 0.99 for text in expected]
    assert "# probability = " in run("predict", path, treebank / "test.conllu", "--k-best", "2").stdout
    assert "# probability" not in run("predict", treebank / "model", treebank / "test.conllu", "--k-best", "2").stdout
    assert "CoNLL-X" in refuses("predict", path, treebank / "test.conllx", "--confidence")


def test_relations_have_a_field(tmp_path):
    def write(name, sentences):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in sentences))

    write("train.jsonl", make_relations(60, seed=0))
    words = list("abcdefghi")
    many = {"tokens": words, "pos": words, "entities": [{"start": i, "end": i + 1} for i in range(9)]}
    write("test.jsonl", [*make_relations(5, seed=1), many])
    run("train", "relations", tmp_path / "train.jsonl", "-o", tmp_path / "m", "--calibrate", "0.2", "--quiet")
    done = run("predict", tmp_path / "m", tmp_path / "test.jsonl", "--confidence")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(0 < entity["confidence"] <= 1 for line in lines[:-1] for entity in line["entities"])
    assert all(entity["confidence"] is None for entity in lines[-1]["entities"])
    assert done.stderr.count("more than 8 entities") == 1


def test_searches_by_beam_reject_confidence_and_train_without(tmp_path):
    write_conllu(tmp_path / "t.conllu", *make_treebank(30, seed=0))
    options = [*QUICK_PARSER[:6], "--method", "transition", "--dev", tmp_path / "t.conllu", "--algorithm", "perceptron"]
    options = [o for o in options if o not in ("--C", "0.01")]
    done = run("train", "parse", tmp_path / "t.conllu", "-o", tmp_path / "m", *options)
    assert "beam search does not sum over all trees" in done.stderr
    for command in (["predict", tmp_path / "m", tmp_path / "t.conllu", "--confidence"],
                    ["calibrate", tmp_path / "m", tmp_path / "t.conllu", "-o", tmp_path / "n"]):  # fmt: skip
        assert "beam search" in fails(*command)


def test_shares_that_cannot_be_held_out_are_rejected(corpus, tmp_path):
    train = ["train", "tag", corpus / "train.conll", "-o", tmp_path / "m", "--quiet"]
    assert "--calibrate" in refuses(*train, "--calibrate", "1")
    assert "leave out one" in refuses(*train, "--calibrate", "0.1", "--dev", corpus / "dev.conll")
    assert "--calibrate 0.999" in fails(*train, "--calibrate", "0.999")
    run(*train, "--calibrate", "0", "--dev", corpus / "dev.conll", "--tol", "0.9")
    assert SequenceModel.load(tmp_path / "m").calibration is None


def test_what_is_held_out_is_not_trained_on(corpus, tmp_path):
    words, tags = marginloom.read_conll(corpus / "train.conll")
    train = ["train", "tag", corpus / "train.conll", "--features", "words", "--algorithm", "dcd-ssvm", "--quiet"]
    run(*train, "-o", tmp_path / "m", "--calibrate", "0.25")
    tagger = marginloom.SequenceTagger("dcd-ssvm", features="words")
    kept = np.arange(len(words)) < 0.75 * len(words)
    tagger.fit(words, tags, sample_weight=kept.astype(float))
    found = SequenceModel.load(tmp_path / "m")
    assert found.weights.tobytes() == tagger.model_.weights.tobytes()
    rest = int(kept.sum())
    tagger.calibrate(words[rest:], tags[rest:])
    assert found.calibration.temperature == pytest.approx(tagger.calibration_.temperature, rel=1e-9)
