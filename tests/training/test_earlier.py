"""Files of earlier versions: models, states and checkpoints that name the engine `columns` are loaded and go on."""

import dataclasses

import numpy as np
import pytest
from support.killing import KillAfter, Killed

from marginloom import DCD, Checkpoint, ModelFileError, MultilabelClassifier
from marginloom.io.model import CHECKPOINT, load_model, save_model
from marginloom.training.checkpoint import FILE_NAME
from marginloom.training.earlier import GIVEN, present_settings

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(50, 5))
Y = (X @ RANDOM.normal(size=(5, 11)) + RANDOM.normal(size=(50, 11)) > 0.5).astype(int)

#: Runs on the engine `columns` as they were asked for, and what asks for the same today.
RUNS = {
    "label-dcd": ({"algorithm": "label-dcd"},) * 2,
    "hinge": ({"algorithm": "label-dcd", "loss": "hinge"},) * 2,
    "its engine": ({"algorithm": "label-dcd", "engine": "columns"}, {"algorithm": "label-dcd"}),
    "in order": (
        {"algorithm": "label-dcd", "engine": {"name": "columns", "shuffle": False}},
        {"algorithm": "label-dcd", "engine": {"shuffle": False}},
    ),
    "other parameters": (
        {"algorithm": "label-dcd", "learner": {"inner_passes": 3, "averaged": False}},
        {"algorithm": "label-dcd", "learner": {"inner_passes": 3, "averaged": False}},
    ),
    "dcd-ssvm": (
        {"algorithm": "dcd-ssvm", "engine": "columns"},
        {"algorithm": "label-dcd", "learner": {"inner_passes": 5, "averaged": False}},
    ),
    "auto": ({"algorithm": "auto"},) * 2,
    "auto, its engine": ({"algorithm": "auto", "engine": "columns"}, {"algorithm": "auto"}),
}
every_run = pytest.mark.parametrize(("then", "now"), RUNS.values(), ids=RUNS)


def classifier(asked, **options):
    return MultilabelClassifier(**{"C": 0.5, "tol": 1e-9, "max_iter": 4, "random_state": 0, **asked, **options})


def settings_then(settings, asked):
    """Return the settings of a run as they were when its learner was dcd, on the engine columns."""
    learner = {name: settings["learner"].get(name, usual) for name, usual in dataclasses.asdict(DCD()).items()}
    then = {
        "algorithm": "dcd-ssvm" if asked["algorithm"] == "dcd-ssvm" else "label-dcd",
        "learner": {"name": "dcd", **learner},
        "engine": {**settings["engine"], "name": "columns"},
    }
    if GIVEN in settings:
        then[GIVEN] = {**settings[GIVEN], "learner": None, "engine": None, **asked}
    return {**settings, **then}


def rewrite(path, task, asked):
    """Make a file say what versions with the engine columns wrote."""
    header, tensors = load_model(path, task)
    of_run = header["identity"] if task == CHECKPOINT else header
    of_run["settings"] = settings_then(of_run["settings"], asked)
    if "state" in header:
        assert header["state"]["learner"] == "binary-dcd"
        header["state"]["learner"] = "dcd"
    save_model(path, task, header, tensors)


@every_run
def test_a_model_is_loaded_and_fitted_again_in_the_same_way(tmp_path, then, now):
    fitted = classifier(now).fit(X, Y)
    fitted.save(tmp_path / "model")
    rewrite(tmp_path / "model", "multilabel", then)
    loaded = MultilabelClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.coef_, fitted.coef_)
    assert loaded.algorithm_ == "label-dcd"
    given = {name: value for name, value in loaded.get_params().items() if name in ("algorithm", "learner", "engine")}
    assert given == {"learner": None, "engine": None, **{name: now[name] for name in given if name in now}}
    assert loaded.model_.settings == fitted.model_.settings
    assert np.array_equal(loaded.fit(X, Y).coef_, fitted.coef_)


@every_run
def test_a_checkpoint_goes_on_to_the_same_bits(tmp_path, then, now):
    whole = classifier(now).fit(X, Y)
    with pytest.raises(Killed):
        classifier(now).fit(X, Y, checkpoint=Checkpoint(tmp_path / "run", interval=0), callbacks=[KillAfter(3)])
    rewrite(tmp_path / "run" / FILE_NAME, CHECKPOINT, then)
    resumed = classifier(now).fit(X, Y, checkpoint=Checkpoint(tmp_path / "run"), resume=True)
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert resumed.n_iter_ == 4


@every_run
def test_a_state_in_a_model_goes_on_to_the_same_bits(tmp_path, then, now):
    fitted = classifier(now, warm_start=True).fit(X, Y)
    fitted.save(tmp_path / "model")
    rewrite(tmp_path / "model", "multilabel", {**then, "warm_start": True})
    loaded = MultilabelClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.fit(X, Y).coef_, fitted.fit(X, Y).coef_)


def test_a_state_is_a_start_for_dual_coordinate_descent_too(tmp_path):
    fitted = classifier({"algorithm": "label-dcd"}, warm_start=True, max_iter=50, tol=1e-3).fit(X, Y)
    fitted.save(tmp_path / "model")
    rewrite(tmp_path / "model", "multilabel", {"algorithm": "label-dcd", "warm_start": True})
    loaded = MultilabelClassifier.load(tmp_path / "model").set_params(algorithm="dcd-ssvm", max_iter=1)
    assert loaded.fit(X, Y).certificate_.dual >= fitted.certificate_.dual * (1 - 1e-9)


def test_label_dcd_on_another_engine_was_dcd_ssvm():
    then = {"algorithm": "label-dcd", "learner": None, "engine": "master-worker", "C": 2.0}
    learner = {**dataclasses.asdict(DCD()), "inner_passes": 10, "averaged": True}
    settings = {"algorithm": "label-dcd", "learner": {"name": "dcd", **learner}, "engine": {"name": "master-worker"}}
    now = present_settings({**settings, GIVEN: then})
    assert now["algorithm"] == "dcd-ssvm"
    assert now["learner"] == settings["learner"]
    assert now[GIVEN] == {**then, "algorithm": "dcd-ssvm", "learner": {"inner_passes": 10, "averaged": True}}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"algorithm": "dcd-ssvm", "learner": {"name": "dcd"}, "engine": {"name": "serial"}},
        {"algorithm": "label-dcd", "learner": {"name": "binary-dcd"}, "engine": {"name": "serial"}, GIVEN: {}},
        {"algorithm": "label-dcd", "learner": 7, "engine": {"name": "columns"}},
    ],
)
def test_other_settings_stay_as_they_are(settings):
    assert present_settings(settings) == settings


def test_settings_that_are_none_are_damage(tmp_path):
    classifier({"algorithm": "label-dcd"}).fit(X, Y).save(tmp_path / "model")
    header, tensors = load_model(tmp_path / "model", "multilabel")
    save_model(tmp_path / "model", "multilabel", {**header, "settings": [1]}, tensors)
    with pytest.raises(ModelFileError, match="the parts of the model do not fit together"):
        MultilabelClassifier.load(tmp_path / "model")
