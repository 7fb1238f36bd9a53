"""`marginloom inspect` shows every model, and everything counts examples as users do."""

import json

import numpy as np
import pytest
from support.custom_chains import Majority
from support.program import last_json, run

from marginloom import (
    CustomEstimator,
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    SequenceTagger,
    write_libsvm,
)

ROWS = np.round(np.random.default_rng(0).normal(size=(12, 4)), 1)
SETS = [["a", "b"], ["c"], []] * 4
WORDS = [["the", "dog", "runs"], ["it", "runs"], ["the", "end"]]
TAGS = [["D", "N", "V"], ["P", "V"], ["D", "N"]]
IMAGES = np.random.default_rng(1).random((4, 5, 6))
OBJECTS = [("cat", (0, 0, 2, 3)), ("dog", (1, 2, 2, 3)), ("cat", (2, 1, 2, 3)), ("dog", (3, 3, 2, 3))]
VOTES = [(2, 1, 0), (0, 3, 1), (1, 0, 4)] * 2

FITTED = {
    "tag": lambda: (SequenceTagger(), WORDS, TAGS),
    "parse": lambda: (DependencyParser(), [[("a", "D"), ("b", "N")], [("b", "N")]], [[2, 0], [0]]),
    "classify": lambda: (MulticlassClassifier(), ROWS, np.arange(12) % 3),
    "multilabel": lambda: (MultilabelClassifier(), ROWS, SETS),
    "detect": lambda: (ObjectDetector(), IMAGES, OBJECTS),
    "custom": lambda: (
        CustomEstimator(task=Majority, parameters={"dimension": 3}),
        VOTES,
        [int(np.argmax(v)) for v in VOTES],
    ),
}


@pytest.mark.parametrize("task", FITTED)
def test_a_model_of_every_task_is_shown_with_as_many_examples_as_it_was_given(task, tmp_path):
    estimator, X, y = FITTED[task]()
    estimator.fit(X, y).save(tmp_path / "m")
    shown = json.loads(run("inspect", tmp_path / "m", "--json").stdout)
    assert shown["task"] == task
    assert shown["settings"]["examples"] == len(X)
    assert shown["certificate"]["gap"] == estimator.certificate_.gap
    assert shown["weights"] == estimator.model_.weights.size
    text = run("inspect", tmp_path / "m", "--top", "3").stdout
    assert ["examples", str(len(X))] in [line.split() for line in text.splitlines()]
    assert text.splitlines()[0].split() == ["task", task]


def test_a_structure_of_the_users_own_is_shown_without_its_class(tmp_path):
    estimator, X, y = FITTED["custom"]()
    estimator.fit(X, y).save(tmp_path / "m")
    text = run("inspect", tmp_path / "m").stdout
    assert "parameters dimension=3" in text
    largest = int(np.argmax(np.abs(estimator.model_.weights)))
    assert text.splitlines()[-1].split()[:2] == [f"{estimator.model_.weights[largest]:+.3f}", str(largest)]
    assert json.loads(run("inspect", tmp_path / "m", "--json").stdout)["parameters"] == {"dimension": 3}


SLACKS = [
    ("label-dcd", "squared_hinge", None),
    ("label-dcd", "hinge", None),
    ("auto", "hinge", 2),
    ("dcd-ssvm", "squared_hinge", None),
    ("dcd-ssvm", "hinge", None),
    ("bcfw", "hinge", 1),
    ("fsmo", "hinge", 2),
    ("perceptron", None, 1),
]


@pytest.mark.parametrize(("algorithm", "loss", "labels_per_slack"), SLACKS)
def test_rows_of_labels_are_examples_however_many_slacks_they_have(algorithm, loss, labels_per_slack):
    options = {"loss": loss, "labels_per_slack": labels_per_slack, "max_iter": 2}
    options |= {"tol": 1e-9} if loss else {}
    fitted = MultilabelClassifier(algorithm, **options).fit(ROWS, SETS, sample_weight=[0] * 2 + [1] * 10)
    assert fitted.model_.settings["examples"] == 10
    assert [row["inferences"] for row in fitted.history_] == [10, 20]


def test_a_pass_has_as_many_inferences_as_examples(tmp_path):
    write_libsvm(tmp_path / "train.svm", ROWS, SETS)
    options = ["--max-iter", "3", "--tol", "1e-9", "--json", "--quiet"]
    summary = last_json(run("train", "multilabel", tmp_path / "train.svm", "--model", tmp_path / "m", *options))
    assert summary["inferences"] == 3 * len(SETS)


def test_names_of_features_are_explained(model, tmp_path):
    text = " ".join(run("inspect", model).stdout.split())
    assert "a positive weight favors the label" in text
    assert "word[-1]=the: the previous word is 'the'" in text
    (tmp_path / "c.svm").write_text("1 1:1\n2 2:1\n")
    run("train", "classify", tmp_path / "c.svm", "--model", tmp_path / "c")
    assert "A number is the index of a feature in LIBSVM files" in " ".join(
        run("inspect", tmp_path / "c").stdout.split()
    )
