"""A task that another distribution registers, in plain Python: everything that ours can do, by the same commands."""

import json
import os

import numpy as np
import pytest
from sklearn.base import clone
from support.places import OUTSIDE
from support.program import run

import marginloom
from marginloom import Callback, ModelFileError, SequenceTagger
from marginloom.tasks.registry import find_command

DISTRIBUTION = OUTSIDE / "python"
C = 0.5


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(DISTRIBUTION)
    others = [path for path in [os.environ.get("PYTHONPATH")] if path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(DISTRIBUTION), *others]))


def examples(count, seed):
    """Things of which the right one has, as a rule, the largest first number."""
    random = np.random.default_rng(seed)
    X = [random.normal(size=(random.integers(2, 6), 4)) for _ in range(count)]
    return X, [int(np.argmax(x[:, 0] + 0.1 * random.normal(size=len(x)))) for x in X]


def write(path, X, y):
    path.write_text("".join(json.dumps({"things": x.tolist(), "right": r}) + "\n" for x, r in zip(X, y, strict=True)))
    return path


@pytest.fixture
def files(tmp_path):
    parts = (("train", 60, 0), ("dev", 30, 1), ("test", 30, 2))
    return {name: write(tmp_path / f"{name}.jsonl", *examples(count, seed)) for name, count, seed in parts}


@pytest.fixture
def model(files, tmp_path):
    path = tmp_path / "model"
    options = ["--C", str(C), "--tol", "0.001", "--max-iter", "500", "--save-state"]
    run("train", "point", files["train"], "--model", path, *options)
    return path


def primal(weights, X, y):
    slack = [max(x @ weights + (np.arange(len(x)) != r)) - x[r] @ weights for x, r in zip(X, y, strict=True)]
    return weights @ weights / 2 + C * np.square(slack).sum()


def pointer(**parameters):
    from pointing.estimator import Pointer

    return Pointer(C=C, tol=0.001, max_iter=500, **parameters)


def test_it_is_listed_and_has_the_common_options():
    assert "point " in run("train", "--help").stdout
    said = run("train", "point", "--help").stdout
    for option in ("--scale", "--algorithm", "--checkpoint", "--help-all"):
        assert option in said
    assert "--inner-passes" in run("train", "point", "--help-all").stdout
    assert find_command("point").distribution == "pointing"


@pytest.mark.parametrize(("algorithm", "threads"), [("dcd-ssvm", 1), ("shared-dcd", 2), ("averaged-perceptron", 1)])
def test_command_line_trains_scores_and_certifies(files, tmp_path, algorithm, threads):
    options = ["--algorithm", algorithm, "--threads", threads, "--dev", files["dev"], "--test", files["test"]]
    done = run("train", "point", files["train"], "--model", tmp_path / "m", *map(str, options), "--json")
    said = json.loads(done.stdout)
    assert said["scores"]["dev"]["accuracy"] > 0.8
    assert said["scores"]["test"]["accuracy"] > 0.8
    assert (said["gap"] is None) == (algorithm == "averaged-perceptron")
    assert said["weights"] == 4


def test_certificate_is_true_of_what_was_saved(model):
    from pointing.model import PointingModel

    loaded = PointingModel.load(model)
    X, y = examples(60, 0)
    assert loaded.certificate.primal == pytest.approx(primal(loaded.weights, X, y), rel=1e-6)
    assert loaded.certificate.gap <= 0.001
    better = [loaded.weights + 0.01 * step for step in np.random.default_rng(0).normal(size=(20, 4))]
    assert all(primal(weights, X, y) >= loaded.certificate.dual for weights in better)


def test_predict_evaluate_and_inspect(files, model, tmp_path):
    from pointing.model import PointingModel

    X, y = examples(30, 2)
    expected = PointingModel.load(model).predict(X)
    predicted = run("predict", model, files["test"]).stdout
    assert [int(line) for line in predicted.splitlines()] == expected
    run("predict", model, "-", "-o", tmp_path / "out", stdin=files["test"].read_bytes())
    assert (tmp_path / "out").read_text() == predicted
    scores = json.loads(run("evaluate", model, files["test"], "--json").stdout)
    assert scores["scores"]["accuracy"] == pytest.approx(np.mean(np.equal(expected, y)))
    assert scores["examples"] == 30
    shown = json.loads(run("inspect", model, "--json").stdout)
    assert (shown["task"], shown["width"], shown["settings"]["scale"]) == ("point", 4, 1.0)
    assert "numbers    4 of every thing" in run("inspect", model).stdout


def test_options_of_other_tasks_are_refused(files, model):
    said = run("predict", model, files["test"], "--k-best", "2", code=2).stderr
    assert "--k-best cannot be given: the task 'point' of this model does not have it" in said
    assert "No such option" in run("predict", model, files["test"], "--k-worst", "2", code=2).stderr


def test_it_has_options_of_its_own_for_models(files, model):
    said = run("evaluate", model, "--help").stdout
    assert "Another factor of all numbers" in said
    assert "--column" not in said
    backwards = run("evaluate", model, files["test"], "--scale", "-1", "--json").stdout
    assert json.loads(backwards)["scores"]["accuracy"] < 0.5


def test_estimator_and_command_line_use_each_others_models(files, model, tmp_path):
    X, y = examples(60, 0)
    fitted = pointer().fit(X, y, eval_set=examples(30, 1))
    loaded = type(fitted).load(model)
    np.testing.assert_array_equal(fitted.model_.weights, loaded.model_.weights)
    assert loaded.get_params()["C"] == C
    assert fitted.history_[-1]["scores"]["dev"]["accuracy"] == fitted.score(*examples(30, 1))
    fitted.save(tmp_path / "saved")
    assert [int(line) for line in run("predict", tmp_path / "saved", files["test"]).stdout.splitlines()] == (
        loaded.predict(examples(30, 2)[0])
    )
    with pytest.raises(ModelFileError, match="a model of the task 'point', expected 'tag'"):
        SequenceTagger.load(tmp_path / "saved")


def test_estimator_is_one_of_scikit_learn():
    copied = clone(pointer(scale=2.0))
    assert repr(copied) == "Pointer(C=0.5, max_iter=500, scale=2.0, tol=0.001)"
    assert copied.fit(*examples(60, 0)).score(*examples(30, 1)) > 0.8
    assert "Cost of slack per example" in copied.__doc__


class Stop(Callback):
    def after_iteration(self, run, row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt
        return False


def test_interrupted_run_resumes_to_the_same_bits(tmp_path):
    X, y = examples(60, 0)
    whole = pointer().fit(X, y)
    broken = pointer()
    from marginloom import Checkpoint

    place = Checkpoint(tmp_path / "run", interval=0)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(X, y, callbacks=[Stop()], checkpoint=place)
    resumed = pointer().fit(X, y, checkpoint=place, resume=True)
    np.testing.assert_array_equal(resumed.model_.weights, whole.model_.weights)


def test_warm_start_goes_on_and_is_certified(files, model, tmp_path):
    options = ["--C", C, "--tol", "1e-5", "--max-iter", "2000", "--warm-start", model, "--json"]
    said = json.loads(run("train", "point", files["train"], "--model", tmp_path / "m", *map(str, options)).stdout)
    from pointing.model import PointingModel

    assert said["gap"] <= 1e-5
    assert said["primal"] == pytest.approx(
        primal(PointingModel.load(tmp_path / "m").weights, *examples(60, 0)), rel=1e-6
    )


def test_without_the_distribution_its_models_are_refused(files, model, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    said = run("predict", model, files["test"], code=1).stderr
    assert (
        "this is a model of the task 'point', expected 'tag' or 'parse' or 'classify' or 'detect' or 'multilabel'"
        in said
    )


def test_bad_input_names_file_and_line(files, tmp_path):
    files["train"].write_text('{"things": [[1, 2], [3, 4]], "right": 0}\n{"things": "no"}\n')
    said = run("train", "point", files["train"], "--model", tmp_path / "m", code=1).stderr
    assert "line 2" in said
    assert not (tmp_path / "m").exists()


def test_load_finds_the_estimator_of_another_distribution(files, tmp_path):
    run("train", "point", files["train"], "--model", tmp_path / "model")
    estimator = marginloom.load(tmp_path / "model")
    assert type(estimator).__module__ == "pointing.estimator"
    X, _ = examples(5, 3)
    assert list(estimator.predict(X)) == [estimator.predict_single(x) for x in X]
