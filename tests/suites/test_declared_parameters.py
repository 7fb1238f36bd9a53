"""Every parameter that a learner or an engine declares can be given at every door, and arrives in the native part."""

import dataclasses
import enum
import importlib
import types
from pkgutil import iter_modules

import numpy as np
import pytest
from support.pairs import for_labels
from typer.testing import CliRunner

import marginloom
import marginloom.engines
import marginloom.learners
from marginloom import (
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    _core,
    make_tagging,
    write_libsvm,
)
from marginloom.algorithms import ALGORITHMS, engines_of, engines_that_lose
from marginloom.cli.app import app
from marginloom.common.parameters import declared, option_text
from marginloom.engines import ENGINES
from marginloom.engines.base import Engine
from marginloom.learners import LEARNERS
from marginloom.learners.base import Learner
from marginloom.tasks.sequence.datasets import write_conll
from marginloom.training import train as train_module

#: What learners do with these they do in Python, after every pass.
NOT_NATIVE = {"stop_separated", "stop_unchanged", "outer_stop", "outer_change"}
#: What needs a task that stores the differences of its candidates, as taggers do.
NEEDS_DIFFERENCES = {"storage"}
PLAIN = (bool, int, float, str, enum.Enum)


def subclasses(package, base):
    """Return the classes in the files of a package that can be used, those that are only bases left out."""
    modules = [importlib.import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    found = {value for value in values if isinstance(value, type) and issubclass(value, base)}
    return {value for value in found if hasattr(value, "name")}


def other_value(kind, value):
    """Return another value of that kind."""
    if kind.words:
        return next(word for word in kind.words if word != value)
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else (0.25 if value == 0.5 else 0.5)


@dataclasses.dataclass(frozen=True)
class Case:
    """A parameter, of a learner or an engine, in an algorithm that has both."""

    role: str
    parameter: object
    algorithm: str
    engine: str

    @property
    def value(self):
        usual = ALGORITHMS[self.algorithm].learner if self.role == "learner" else ENGINES[self.engine]()
        return other_value(self.parameter.kind, getattr(usual, self.parameter.name))

    def __str__(self):
        return f"{self.algorithm}-{self.engine}-{self.parameter.name}"


def cases():
    """Yield every parameter, on the first engine that honours it, or with the first learner that has the engine."""
    preset_of = {preset.learner.name: name for name, preset in reversed(ALGORITHMS.items())}
    for learner in LEARNERS.values():
        for parameter in learner.parameters():
            lost_by = engines_that_lose(learner, parameter.name)
            engine = next(engine for engine in engines_of(learner) if engine not in lost_by)
            yield Case("learner", parameter, preset_of[learner.name], engine)
    for engine in ENGINES.values():
        learner = next(learner for learner in LEARNERS.values() if engine.name in engines_of(learner))
        for parameter in engine.parameters():
            yield Case("engine", parameter, preset_of[learner.name], engine.name)


CASES = list(cases())


class Recorder:
    """Stands for the native module, and notes what it is called with, as far as these are plain values."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        native = getattr(_core, name)
        if not callable(native) or (isinstance(native, type) and issubclass(native, enum.Enum)):
            return native

        def call(*arguments, **options):
            values = {**dict(enumerate(arguments)), **options}
            for named in [value for value in values.values() if isinstance(value, dict)]:
                values |= named
            plain = {key: value for key, value in values.items() if isinstance(value, PLAIN) and key != "memory"}
            self.calls.append((name, plain))  # what memory is free changes from run to run
            return native(*arguments, **options)

        call.__dict__.update({name: getattr(native, name) for name in dir(native) if not name.startswith("_")})
        return call


class Doors:
    """Trains by the command line and in Python, and returns the algorithm and the native calls of a run."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        random = np.random.default_rng(0)
        self.X = random.normal(size=(12, 3))
        self.y = self.X.argmax(axis=1)
        self.sets = [[int(label)] for label in self.y]
        write_libsvm(folder / "classify.svm", self.X, self.y)
        write_libsvm(folder / "multilabel.svm", self.X, self.sets)
        self.sentences, self.tags = make_tagging(12, seed=0)
        write_conll(folder / "tag.conll", self.sentences, self.tags)

    def run(self, work):
        recorder, algorithms = Recorder(), []
        with self.monkeypatch.context() as patch:
            for package in (marginloom.learners, marginloom.engines):
                for module in vars(package).values():
                    if isinstance(module, types.ModuleType) and hasattr(module, "_core"):
                        patch.setattr(module, "_core", recorder)
            patch.setattr(train_module, "Run", self._watching(algorithms))
            work()
        (algorithm,) = algorithms
        return algorithm, recorder.calls

    @staticmethod
    def _watching(algorithms):
        class Watched(train_module.Run):
            def __init__(self, task, plan, *rest):
                algorithms.append(plan.algorithm)
                super().__init__(task, plan, *rest)

        return Watched

    def on_the_command_line(self, case, *options):
        command, kind = ("multilabel" if for_labels(case.algorithm) else "classify"), "svm"
        if case.parameter.name in NEEDS_DIFFERENCES:
            command, kind = "tag", "conll"
        data = self.folder / f"{command}.{kind}"
        arguments = ["train", command, data, "--model", self.folder / "m", "--algorithm", case.algorithm]
        more = ["--engine", case.engine, "--threads", threads(case), "--max-iter", 1, "--quiet", *options]

        def work():
            done = CliRunner().invoke(app, [str(argument) for argument in [*arguments, *more]])
            assert done.exit_code == 0, done.output

        return self.run(work)

    def in_python(self, case, learner=None, engine=None):
        options = {"learner": learner, "engine": engine or case.engine, "max_iter": 1, "n_threads": threads(case)}
        if case.parameter.name in NEEDS_DIFFERENCES:
            tagger = SequenceTagger(case.algorithm, **options)
            return self.run(lambda: tagger.fit(self.sentences, self.tags))
        if for_labels(case.algorithm):
            estimator, y = MultilabelClassifier(case.algorithm, **options), self.sets
        else:
            estimator, y = MulticlassClassifier(case.algorithm, **options), self.y
        return self.run(lambda: estimator.fit(self.X, y))


def threads(case):
    """Return as many as the engine needs with the other value of its parameter."""
    engine = ENGINES[case.engine]
    given = {case.parameter.name: case.value} if case.role == "engine" else {}
    return max(2, engine().least_threads(), engine(**given).least_threads())


@pytest.fixture
def doors(tmp_path, monkeypatch):
    return Doors(tmp_path, monkeypatch)


def test_all_learners_and_engines_are_listed():
    assert set(LEARNERS.values()) == subclasses(marginloom.learners, Learner)
    assert set(ENGINES.values()) == subclasses(marginloom.engines, Engine)
    assert {type(preset.learner) for preset in ALGORITHMS.values()} == set(LEARNERS.values())


def test_all_learners_and_engines_are_public():
    for part in [*LEARNERS.values(), *ENGINES.values()]:
        assert getattr(marginloom, part.__name__) is part
        assert part.__name__ in marginloom.__all__


def test_no_parameter_is_one_of_a_learner_and_of_an_engine():
    assert not declared(LEARNERS.values()).keys() & declared(ENGINES.values()).keys()


def test_the_engines_tried_are_all_and_scorers_are_among_the_parameters():
    assert {case.engine for case in CASES if case.role == "engine"} == set(ENGINES)
    assert {case.parameter.name for case in CASES} >= {"scorers", "rho_updates", "shards", "eta0"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_arrives_from_every_door(doors, case):
    name, value = case.parameter.name, case.value
    usual, usual_calls = doors.in_python(case)
    part = getattr(usual, case.role)
    assert getattr(part, name) != value
    ready = dataclasses.replace(part, **{name: value})
    mapping = {name: value} if case.role == "learner" else {"name": case.engine, name: value}
    found = {
        "command line": doors.on_the_command_line(case, *option_text(name, value).split()),
        "mapping": doors.in_python(case, **{case.role: mapping}),
        "ready": doors.in_python(case, **{case.role: ready}),
    }
    for algorithm, calls in found.values():
        assert getattr(algorithm, case.role) == ready
        assert calls == found["ready"][1]
    assert (usual_calls == found["ready"][1]) == (name in NOT_NATIVE)
