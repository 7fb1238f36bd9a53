"""What is true or false takes nothing else: not a word, not a number, and not None."""

import dataclasses
import inspect
import re

import numpy as np
import pytest
from support.chain_tasks import make_task
from support.custom_chains import Majority, votes
from support.estimators import ESTIMATORS
from support.images import TinyImages
from support.oracles import TinyChains

import marginloom
from marginloom import CustomEstimator, EarlyStopping, InputError, train
from marginloom.engines import ENGINES
from marginloom.learners import LEARNERS
from marginloom.tasks.detection.task import DetectionTask
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.task import TreeOptions
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.testing import check_task
from marginloom.training.spec import RunSpec

OTHERS = ["no", "false", "", 0, 1.0, None, [], np.zeros(2)]
CLASSES = {**LEARNERS, **ENGINES}


def booleans(fields):
    return [field.name for field in fields if isinstance(field.default, bool)]


def refused(name):
    return pytest.raises(InputError, match=rf"^([A-Z]\w+\.)?{re.escape(name)} must be true or false, not ")


SWITCHES = [(name, field) for name, case in ESTIMATORS.items() for field in booleans(dataclasses.fields(case.make))]


def test_there_are_booleans_in_every_estimator():
    assert {name for name, _ in SWITCHES} == set(ESTIMATORS)
    assert {"reproducible", "warm_start", "verbose", "fit_intercept", "start_end"} <= {field for _, field in SWITCHES}


@pytest.mark.parametrize(("estimator", "name"), SWITCHES)
def test_estimators(estimator, name):
    case = ESTIMATORS[estimator]
    for value in OTHERS:
        with refused(name):
            case.fit(**{name: value})
    default = getattr(case.make(**case.options), name)
    case.fit(**{name: np.bool_(default)}, max_iter=1)


@pytest.mark.parametrize(
    ("part", "name"),
    [(part, p.name) for part, owner in CLASSES.items() for p in owner.parameters() if isinstance(p.default, bool)],
)
def test_learners_and_engines(part, name):
    for value in OTHERS:
        with refused(name):
            CLASSES[part](**{name: value})
    for value in (True, False):
        assert getattr(CLASSES[part](**{name: np.bool_(value)}), name) is value


def chains():
    return make_task(TinyChains(1, sentences=4), "plain")


@pytest.mark.parametrize("name", booleans(dataclasses.fields(RunSpec)))
@pytest.mark.parametrize("algorithm", ["auto", "perceptron"])
def test_runs(tmp_path, algorithm, name):
    more = {"checkpoint": tmp_path / "run"} if name == "resume" else {}
    for value in OTHERS:
        with refused(name):
            train(chains(), algorithm=algorithm, **{name: value, **more})
    for value in (True, False):
        train(chains(), algorithm=algorithm, max_iter=1, **{name: np.bool_(value), **more})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_resuming_a_fit(estimator, tmp_path):
    case = ESTIMATORS[estimator]
    for value in OTHERS:
        with refused("resume"):
            case.make(**case.options).fit(case.X, case.y, checkpoint=tmp_path / "run", resume=value)


CHAINS = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
IMAGES = TinyImages(0, shape=(4, 5), sizes=[(2, 3)], labels=2, count=2)
TASKS = {
    "start_end": lambda value: SequenceTask(CHAINS._encoded, None, 2, start_end=value),
    "bias": lambda value: DetectionTask(IMAGES.task()._images, None, 2, [(2, 3)], bias=value),
    "projective": lambda value: TreeOptions(projective=value),
    "labelled": lambda value: ArcFeatureSet(labelled=value, hash_bits=8),
    **{
        name: lambda value, name=name: ArcFeatureSet(**{name: 0 if value is None else value}, hash_bits=8)
        for name in ("xpos", "feats")  # None leaves it to the data
    },
    "exact": lambda value: type("Odd", (Majority,), {"exact": value})(*votes(4)),
    "restore_best": lambda value: EarlyStopping(restore_best=value),
    "raise_error": lambda value: check_task(Majority(*votes(4)), trials=1, raise_error=value),
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks(name):
    for value in OTHERS:
        with refused(name):
            TASKS[name](value)
    for value in (True, False, np.True_, np.False_):
        TASKS[name](value)


def test_a_class_of_the_users_own_that_is_exact_by_a_word_is_refused_by_its_name():
    odd = type("Odd", (Majority,), {"exact": "no"})
    with pytest.raises(InputError, match=r"^Odd\.exact must be true or false, not 'no'$"):
        CustomEstimator(task=odd).fit(*votes(4))


FUNCTIONS = [
    (name, parameter.name)
    for name in marginloom.__all__
    if inspect.isfunction(getattr(marginloom, name)) and name not in ("train", "train_files")
    for parameter in inspect.signature(getattr(marginloom, name)).parameters.values()
    if isinstance(parameter.default, bool)
]


def test_functions_with_booleans_are_those_that_read():
    assert {name.partition("_")[0] for name, _ in FUNCTIONS} == {"read"}


@pytest.mark.parametrize(("function", "name"), FUNCTIONS)
def test_functions(function, name, tmp_path):
    for value in OTHERS:
        with refused(name):
            getattr(marginloom, function)(tmp_path / "none", **{name: value})


def test_training_from_files(tmp_path):
    for value in OTHERS:
        with refused("quiet"):
            marginloom.train_files("tag", tmp_path / "none", model=tmp_path / "m", quiet=value)
