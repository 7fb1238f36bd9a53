"""The commands for multiclass classifiers, on examples in LIBSVM's format."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_iris
from support.program import fails, json_lines, last_json, names_in, refuses, run

from marginloom import MulticlassClassifier, read_libsvm, write_libsvm


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A folder with train.svm, dev.svm.gz and names.svm, which has names as labels."""
    folder = tmp_path_factory.mktemp("flowers")
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X[order] - X.mean(axis=0)) / X.std(axis=0), y[order] + 1
    write_libsvm(folder / "train.svm", X[:100], y[:100])
    write_libsvm(folder / "dev.svm", X[100:], y[100:])
    (folder / "dev.svm.gz").write_bytes(gzip.compress((folder / "dev.svm").read_bytes()))
    write_libsvm(folder / "names.svm", X[:100], np.array(["", "setosa", "versicolor", "virginica"])[y[:100]])
    return folder


@pytest.fixture(scope="module")
def classifier(flowers):
    run("train", "classify", flowers / "train.svm", "--model", flowers / "m", "--C", "1", "--save-state")
    return flowers / "m"


def test_training_tells_scores_and_certificate(flowers, tmp_path):
    done = run(
        *("train", "classify", flowers / "train.svm", "--dev", flowers / "dev.svm.gz", "--test", flowers / "dev.svm"),
        *("--model", tmp_path / "m", "--C", "1", "--json", "--trace", tmp_path / "t.jsonl"),
    )
    said = last_json(done)
    assert said["gap"] <= 0.01
    assert said["stopped"] == "tolerance"
    assert set(said["seconds"]) == {"read", "features", "train", "certify"}
    assert said["weights"] == 5 * 8  # four features and the bias, three classes padded to eight
    assert said["scores"]["dev"] == said["scores"]["test"]
    assert {"accuracy", "macro_f1", "weighted_f1", "per_label"} < set(said["scores"]["dev"])
    assert said["scores"]["dev"]["accuracy"] > 0.85
    rows = json_lines(tmp_path / "t.jsonl")
    assert len(rows) == said["iterations"] + 1
    assert rows[-1]["scores"]["dev"] == {name: said["scores"]["dev"][name] for name in ("accuracy", "macro_f1")}


def test_command_line_and_python_train_the_same_classifier(flowers, classifier):
    X, y = read_libsvm(flowers / "train.svm")
    ours = MulticlassClassifier(C=1.0).fit(X.toarray(), y)
    loaded = MulticlassClassifier.load(classifier)
    assert np.array_equal(loaded.coef_, ours.coef_)
    assert loaded.classes_.tolist() == [1, 2, 3]


def test_options_reach_training(flowers, tmp_path):
    (tmp_path / "costs").write_text("# right, predicted, cost\n1 2 4\n\n3 1 0.5 # cheap\n")
    run(
        *("train", "classify", flowers / "train.svm", "--model", tmp_path / "m", "--no-fit-intercept"),
        *("--class-weight", "1=2", "--class-weight", "3=0.5", "--cost-matrix", tmp_path / "costs", "--loss", "hinge"),
    )
    X, y = read_libsvm(flowers / "train.svm")
    ours = MulticlassClassifier(
        loss="hinge",
        fit_intercept=False,
        class_weight={1: 2.0, 3: 0.5},
        cost_matrix=[[0, 4, 1], [1, 0, 1], [0.5, 1, 0]],
    ).fit(X.toarray(), y)
    loaded = MulticlassClassifier.load(tmp_path / "m")
    assert np.array_equal(loaded.coef_, ours.coef_)
    assert not loaded.intercept_.any()
    assert loaded.class_weight == {1: 2.0, 3: 0.5}
    run("train", "classify", flowers / "train.svm", "--model", tmp_path / "b", "--class-weight", "balanced")
    assert MulticlassClassifier.load(tmp_path / "b").class_weight == "balanced"


def test_prediction_writes_a_class_a_line(flowers, classifier, tmp_path):
    X, _ = read_libsvm(flowers / "dev.svm", n_features=4)
    expected = [str(label) for label in MulticlassClassifier.load(classifier).predict(X)]
    assert run("predict", classifier, flowers / "dev.svm").stdout.splitlines() == expected
    run("predict", classifier, flowers / "dev.svm.gz", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text().splitlines() == expected
    unlabelled = b"".join(line.partition(b" ")[2] for line in (flowers / "dev.svm").read_bytes().splitlines(True))
    assert run("predict", classifier, "-", stdin=unlabelled).stdout.splitlines() == expected
    assert run("predict", classifier, "-", stdin=b"").stdout == ""


def test_prediction_of_the_k_best_has_scores(flowers, classifier):
    X, _ = read_libsvm(flowers / "dev.svm", n_features=4)
    best = MulticlassClassifier.load(classifier).predict_k_best(X, k=2)
    lines = [
        line.split("\t")
        for line in run("predict", classifier, flowers / "dev.svm", "--k-best", "2").stdout.splitlines()
    ]
    assert [[int(line[0]), int(line[2])] for line in lines] == [[label for label, _ in found] for found in best]
    for line, found in zip(lines, best, strict=True):
        assert [float(line[1]), float(line[3])] == pytest.approx([score for _, score in found], rel=1e-5)


def test_features_that_training_did_not_see_are_ignored_with_one_warning(flowers, classifier, tmp_path):
    text = (flowers / "dev.svm").read_text()
    (tmp_path / "wide.svm").write_text(text.replace("\n", " 7:5 9:1\n"))
    plain = run("predict", classifier, flowers / "dev.svm")
    wide = run("predict", classifier, tmp_path / "wide.svm")
    assert wide.stdout == plain.stdout
    assert plain.stderr == ""
    assert wide.stderr == (
        f"{tmp_path / 'wide.svm'}: 100 entries with an index beyond the 4 features of the training data are ignored\n"
    )
    scores = [
        last_json(run("evaluate", classifier, path, "--json")) for path in (flowers / "dev.svm", tmp_path / "wide.svm")
    ]
    assert scores[0] == scores[1]


def test_evaluation_has_scores_of_every_class(flowers, classifier):
    X, y = read_libsvm(flowers / "dev.svm", n_features=4)
    said = last_json(run("evaluate", classifier, flowers / "dev.svm", "--json"))
    assert said["scores"] == MulticlassClassifier.load(classifier).evaluate(X, y)
    assert said["examples"] == 50
    assert said["unseen_labels"] == {}
    text = run("evaluate", classifier, flowers / "dev.svm").stdout
    assert text.startswith("50 examples\naccuracy ")
    assert "precision" in text


def test_classes_that_training_did_not_see_count_as_errors(flowers, classifier, tmp_path):
    lines = (flowers / "dev.svm").read_text().splitlines()
    (tmp_path / "odd.svm").write_text("\n".join(["9" + line[1:] for line in lines[:10]] + lines[10:]))
    done = run("evaluate", classifier, tmp_path / "odd.svm", "--json")
    assert "did not see count as errors: 9 (10)" in done.stderr
    assert last_json(done)["unseen_labels"] == {"9": 10}
    assert last_json(done)["scores"]["accuracy"] <= 0.8
    (tmp_path / "names.svm").write_text("cat 1:1\n")
    assert "line 1: found the label 'cat', expected a whole number" in fails(
        "evaluate", classifier, tmp_path / "names.svm"
    )


def test_names_as_labels(flowers, tmp_path):
    run("train", "classify", flowers / "names.svm", "--model", tmp_path / "m", "--class-weight", "setosa=2")
    assert set(run("predict", tmp_path / "m", flowers / "dev.svm").stdout.split()) <= {
        "setosa",
        "versicolor",
        "virginica",
    }
    assert "versicolor" in run("inspect", tmp_path / "m").stdout


def test_several_files_are_one_training_set(flowers, tmp_path):
    lines = (flowers / "train.svm").read_text().splitlines(keepends=True)
    (tmp_path / "a.svm").write_text("".join(lines[:40]))
    (tmp_path / "b.svm").write_text("".join(lines[40:]))
    run("train", "classify", tmp_path / "a.svm", tmp_path / "b.svm", "--model", tmp_path / "two")
    run("train", "classify", flowers / "train.svm", "--model", tmp_path / "one")
    one, two = (MulticlassClassifier.load(tmp_path / name) for name in ("one", "two"))
    assert np.array_equal(one.coef_, two.coef_)


def test_rare_features_get_no_weight(tmp_path):
    (tmp_path / "f.svm").write_text("1 1:1 2:1\n2 2:-1 3:1 4:0\n1 2:2 3:1 4:1\n2 2:-3\n")
    run("train", "classify", tmp_path / "f.svm", "--model", tmp_path / "m", "--min-count", "2")
    assert np.any(MulticlassClassifier.load(tmp_path / "m").coef_, axis=0).tolist() == [False, True, True, False]


def test_inspection_shows_the_strongest_features_of_every_class(classifier):
    said = last_json(run("inspect", classifier, "--json", "--top", "2"))
    assert said["task"] == "classify"
    assert said["labels"] == [1, 2, 3]
    assert said["feature_count"] == 4
    loaded = MulticlassClassifier.load(classifier)
    weights = np.column_stack([loaded.coef_, loaded.intercept_])
    for place, label in enumerate(said["labels"]):
        entries = [entry for entry in said["strongest"] if entry["label"] == label]
        order = np.argsort(-np.abs(weights[place]))[:2]
        assert [entry["feature"] for entry in entries] == [
            "intercept" if feature == 4 else str(feature + 1) for feature in order
        ]
        assert [entry["weight"] for entry in entries] == pytest.approx(weights[place][order].tolist())
    text = run("inspect", classifier).stdout
    assert "features   4 and an intercept (scaling 1)" in text
    assert "classes    3: 1, 2, 3" in text


def test_warm_start_and_checkpoint_work_as_for_taggers(flowers, classifier, tmp_path):
    done = run(
        *("train", "classify", flowers / "train.svm", "--model", tmp_path / "m", "--C", "1", "--tol", "0.001"),
        *("--warm-start", classifier, "--checkpoint", tmp_path / "run", "--checkpoint-interval", "0", "--json"),
    )
    assert last_json(done)["gap"] <= 0.001
    said = fails("train", "classify", flowers / "dev.svm", "--model", tmp_path / "m2", "--warm-start", classifier)
    assert "other training examples" in said


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--intercept-scaling", "0"], ["intercept_scaling must be a positive number"]),
        (["--class-weight", "1"], ["--class-weight", "LABEL=", "balanced"]),
        (["--class-weight", "1=-1"], ["--class-weight", "1=-1"]),
        (["--class-weight", "balanced", "--class-weight", "1=2"], ["--class-weight", "'balanced'"]),
        (["--features", "words"], ["--features"]),
        (["--C", "0"], ["C must be a positive number"]),
        (["--min-count", "0"], ["min_count", "from 1"]),
        (["--patience", "2"], ["--dev"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_wrong_options_are_refused(flowers, tmp_path, options, parts):
    said = refuses("train", "classify", flowers / "train.svm", "--model", tmp_path / "m", *options)
    for part in parts:
        assert part in said
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("option", [("predict", "--format", "conll"), ("evaluate", "--column", "2")], ids=" ".join)
def test_options_of_other_tasks_are_refused(flowers, classifier, option):
    command, *rest = option
    said = refuses(command, classifier, flowers / "dev.svm", *rest)
    assert f"{rest[0]} cannot be given: the task 'classify'" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1:1\n2 3:1 2:1\n", "line 2: found '2:1': the index comes after 3"),
        ("1 1:1\n2 0:1\n", "line 2: found '0:1': indices count from 1"),
        ("1 1:1\n1:2\n", "line 2: found no label"),
        ("1,2 1:1\n", "line 1: found 2 labels"),
        ("1 1:nan\n", "line 1: found '1:nan': the value must be finite"),
        ("1 1:1\n1 2:1\n", "there is only one class, 1"),
        ("", "found no example"),
    ],
    ids=lambda text: text.replace("\n", "; "),
)
def test_wrong_training_files_are_told_in_one_line(tmp_path, text, said):
    (tmp_path / "train.svm").write_text(text)
    assert said in fails("train", "classify", tmp_path / "train.svm", "--model", tmp_path / "m")
    assert names_in(tmp_path) == ["train.svm"]


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ("1 2\n", "line 1: found '1 2', expected the gold class"),
        ("\n1 2 x\n", "line 2: found '1 2 x'"),
        ("1 2 -1\n", "line 1: the cost must be"),
        ("1 2 1\n1 2 3\n", "line 2: 2 where 1 is right stands there twice"),
        ("1 a 1\n", "line 1: the labels of the training data are whole numbers, and 'a' is none"),
        ("1 7 1\n", "7 is not a label"),
        ("1 1 2\n", "diagonal"),
    ],
    ids=lambda text: text.replace("\n", "; "),
)
def test_wrong_costs_are_told_in_one_line(flowers, tmp_path, costs, said):
    (tmp_path / "costs").write_text(costs)
    options = ["--model", tmp_path / "m", "--cost-matrix", tmp_path / "costs"]
    assert said in fails("train", "classify", flowers / "train.svm", *options)


def test_models_of_taggers_and_classifiers_do_not_mix(model, classifier, corpus, flowers, tmp_path):
    said = fails("train", "classify", flowers / "train.svm", "--model", tmp_path / "m", "--warm-start", model)
    assert "task 'tag', expected 'classify'" in said
    said = fails("train", "tag", corpus / "train.conll", "--model", tmp_path / "m", "--warm-start", classifier)
    assert "task 'classify', expected 'tag'" in said


LARGE = [9007199254740995, 9007199254740996, -9007199254740995, 2**64 - 1]


def test_labels_beyond_double_precision_are_classes_of_their_own(tmp_path):
    for name, labels in {"a": LARGE[:3], "b": LARGE[3:], "all": LARGE}.items():
        lines = (f"{label} {LARGE.index(label) + 1}:1\n" for label in labels)
        (tmp_path / name).write_text("".join(lines))
    run(
        *("train", "classify", tmp_path / "a", tmp_path / "b", "--model", tmp_path / "m", "--C", "10"),
        *("--dev", tmp_path / "all", "--class-weight", f"{LARGE[3]}=2"),
    )
    assert run("predict", tmp_path / "m", tmp_path / "all").stdout.split() == [str(label) for label in LARGE]
    scores = last_json(run("evaluate", tmp_path / "m", tmp_path / "all", "--json"))["scores"]
    assert scores["accuracy"] == 1
    assert set(scores["per_label"]) == {str(label) for label in LARGE}
    inspected = last_json(run("inspect", tmp_path / "m", "--json"))
    assert inspected["labels"] == sorted(LARGE)
    assert inspected["settings"]["class_weight"] == [[LARGE[3], 2.0]]
    (tmp_path / "other").write_text(f"{LARGE[0] + 2} 1:1\n")
    assert last_json(run("evaluate", tmp_path / "m", tmp_path / "other", "--json"))["unseen_labels"] == {
        str(LARGE[0] + 2): 1
    }


def test_labels_beyond_64_bits_are_refused(tmp_path):
    (tmp_path / "f").write_text("1 1:1\n18446744073709551616 1:1\n")
    said = fails("train", "classify", tmp_path / "f", "--model", tmp_path / "m")
    assert (
        f"{tmp_path / 'f'}, line 2: found the label '18446744073709551616', expected a whole number of 64 bits" in said
    )
