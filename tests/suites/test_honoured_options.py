"""Every option of a learner on every engine that the learner has: it changes training, or it is refused by name."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from support.pairs import with_effect
from support.places import ROOT

from marginloom import DCD, Callback, InputError, find_algorithm
from marginloom.algorithms import ALGORITHMS, engines_of, engines_that_lose
from marginloom.engines import ENGINES
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.train import train

#: A preset of every learner, its own engine and options left aside.
PRESET_OF = {preset.learner.name: name for name, preset in ALGORITHMS.items()}
LEARNERS = {name: type(ALGORITHMS[preset].learner) for name, preset in PRESET_OF.items()}


@functools.cache
def overlapping():
    """Make four classes of which many examples lie far from the others and many among them."""
    random = np.random.default_rng(0)
    y = random.integers(4, size=200)
    return MulticlassTask(random.normal(size=(200, 3)) + 2 * np.eye(4, 3)[y], y, 4)


@functools.cache
def separated():
    y = np.arange(40) % 4
    return MulticlassTask(np.eye(4)[y], y, 4)


@functools.cache
def random_signs():
    """Make two classes at random: an example has one wrong output, all are violated, and steps never come to an end."""
    random = np.random.default_rng(0)
    return MulticlassTask(random.normal(size=(2000, 20)), random.integers(2, size=2000), 2)


@functools.cache
def one_set_of_labels():
    """Make one example with many outputs, so that threads, if there are any, have nothing to race for."""
    return MultilabelTask(np.array([[1.0, 0.5, -0.3]]), np.array([[1, 0, 1, 0, 1]]), 5)


@functools.cache
def labels_apart():
    """Make sets of labels that have nothing to do with each other, for the learner that wants such."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    return MultilabelTask(X, (X @ random.normal(size=(4, 3)) > 0.5).astype(np.uint8), 3, labels_per_slack=1)


@dataclasses.dataclass(frozen=True)
class Change:
    """A value of an option, with the task and the other options that let it make a difference."""

    value: object
    beside: dict = dataclasses.field(default_factory=dict)
    task: object = overlapping
    C: float = 1.0
    max_iter: int = 6


SEVERAL = {"k_best": 3, "unbounded": True}  # so that programmes of MIRA have several constraints that bind
HASTY = {"inner_stop": True, "inner_iterations": 0, "inner_change": 1e6, "inner_times": 1, "inner_share": 0.0}
ONLINE = {
    "averaged": Change(False),
    "stop_separated": Change(True, task=separated, max_iter=20),
    "stop_unchanged": Change(1e6),
}
CHANGES = {
    "dcd": {
        "delta": Change(10.0),
        "k_best": Change(1, C=0.01),
        "inner_passes": Change(50, {"inner_passes": 0}, random_signs, C=100.0),
        "sweeps": Change(50, {"inner_passes": 0, "k_best": 3, "sweeps": 1}, one_set_of_labels, C=100.0),
        "shrinking": Change(0.9),
        "rest": Change(15),
        "averaged": Change(True),
    },
    "cpd": {"epsilon": Change(0.9)},
    "n-slack": {"epsilon": Change(0.9), "batch": Change(50)},
    "one-slack": {"cache": Change(0), "inactive": Change(0, {"cache": 0}, max_iter=20)},
    "frank-wolfe": {"inner_passes": Change(3), "averaged": Change(True)},
    "fsmo": {
        "epsilon": Change(0.9),
        "k_best": Change(3),
        "batch": Change(50),
        "scope": Change("all", {"batch": 5}),
        "variant": Change("as-published"),
        "inner_stop": Change(True, {**HASTY, "inner_stop": False}),
        "inner_iterations": Change(50, HASTY),
        "inner_change": Change(1e-9, HASTY),
        "inner_times": Change(50, HASTY),
        "inner_share": Change(0.9, {"inner_stop": True, "inner_share": 0.0}),
        "outer_stop": Change(True, {"outer_change": 10.0}),
        "outer_change": Change(10.0, {"outer_stop": True}),
    },
    "newton": {"delta": Change(10.0)},
    "binary-dcd": {"inner_passes": Change(3, task=labels_apart), "averaged": Change(False, task=labels_apart)},
    "perceptron": ONLINE,
    "mira": {
        **ONLINE,
        "k_best": Change(3),
        "loss_augmented": Change(True),
        "unbounded": Change(True, C=0.01),
        "qp_tolerance": Change(0.5, SEVERAL),
        "qp_sweeps": Change(1, SEVERAL),
    },
    "passive-aggressive": {**ONLINE, "variant": Change("pa-ii"), "loss_augmented": Change(True)},
    "sgd": {**ONLINE, "averaged": Change(True), "eta0": Change(0.01)},
}
PAIRS = [
    (name, parameter.name, engine)
    for name, learner in LEARNERS.items()
    for parameter in learner.parameters()
    for engine in engines_of(learner)
]


def passes_with_more_updates(rows):
    """Return whether each pass had more updates than inferences, which rows add up from the beginning."""
    counts = np.diff([(0, 0), *((row["updates"], row["inferences"]) for row in rows)], axis=0)
    return counts[:, 0] > counts[:, 1]


class Enough(Callback):
    """Ends a run after a pass with more updates than inferences."""

    def __init__(self):
        self.rows = []

    def after_iteration(self, run, row):
        self.rows = [*self.rows[-1:], row]
        return bool(passes_with_more_updates(self.rows)[-1])


def threads(engine):
    """Return two, or one where only one thread makes the same steps in every run, and at least what is needed."""
    races_on_two_only = ENGINES[engine]().gives_same_bits(1) and not ENGINES[engine]().gives_same_bits(2)
    return max(1 if races_on_two_only else 2, ENGINES[engine].minimum_threads)


def run(name, option, engine, value=None):
    """Train with the usual value of an option, or with another one."""
    change = CHANGES[name][option]
    given = {**change.beside, **({} if value is None else {option: value})}
    shards = {"shards": 4} if engine in ("mixing", "subsample") else {}
    # Inner passes of decoupled threads are made when the learner has time, and it may be long until it has.
    waits = engine == "decoupled" and option == "inner_passes" and value is not None
    return train(
        change.task(),
        algorithm=PRESET_OF[name],
        learner=LEARNERS[name](**given),
        engine={"name": engine, **shards},
        **with_effect(PRESET_OF[name], {"C": change.C, "tol": 1e-12}),
        max_iter=5000 if waits else change.max_iter,
        n_threads=threads(engine),
        callbacks=[Enough()] if waits else [],
    )


def everything(result):
    """Return all that can be seen of a run, of an engine that does the same in every run."""
    rows = [(row["dual"], row["updates"], row["inferences"], row["active"]) for row in result.trace.rows]
    return result.weights.tobytes(), result.stopped, rows


#: What is certain to be seen of threads that always race, so that all runs differ.
CERTAIN = {
    "delta": lambda result: result.trace.rows[0]["candidates"]["found"] > 0,  # later it shrinks
    "k_best": lambda result: result.trace.rows[0]["candidates"]["found"] > result.trace.rows[0]["inferences"],
    "inner_passes": lambda result: passes_with_more_updates(result.trace.rows).any(),
    "sweeps": lambda result: round(result.trace.rows[0]["dual"], 6),
}


def test_every_option_is_among_those_that_are_tried():
    tried = {name: set(options) for name, options in CHANGES.items()}
    assert tried == {name: {parameter.name for parameter in learner.parameters()} for name, learner in LEARNERS.items()}


@pytest.mark.parametrize(("name", "option", "engine"), PAIRS)
def test_an_option_changes_training_or_is_refused_by_name(name, option, engine):
    value = CHANGES[name][option].value
    if engine in engines_that_lose(LEARNERS[name], option):
        said = rf"^the engine {engine} does not support (k_best=3 and )?{option}={value} of the learner {name}; give "
        with pytest.raises(InputError, match=said):
            run(name, option, engine, value)
        return
    seen = everything if ENGINES[engine]().gives_same_bits(threads(engine)) else CERTAIN[option]
    usual = seen(run(name, option, engine))
    assert seen(run(name, option, engine, value)) != usual
    assert seen(run(name, option, engine)) == usual


@pytest.mark.parametrize("preset", ALGORITHMS)
def test_presets_bring_nothing_that_an_engine_loses(preset):
    """On every engine of its learner a preset is refused by the names of what would be lost, or has nothing to lose."""
    learner = ALGORITHMS[preset].learner
    for engine in engines_of(learner):
        lost = [p for p in ENGINES[engine].loses(learner) if getattr(learner, p.name) != p.neutral]
        if not lost:
            assert find_algorithm(preset, engine=engine).learner == learner
            continue
        with pytest.raises(InputError) as caught:
            find_algorithm(preset, engine=engine)
        for parameter in lost:
            assert f"{parameter.name}={getattr(learner, parameter.name)}" in str(caught.value)
        neutral = {parameter.name: parameter.neutral for parameter in lost}
        assert find_algorithm(preset, learner=neutral, engine=engine).engine.name == engine


def test_a_refusal_names_the_preset_and_the_ways_out():
    with pytest.raises(InputError) as caught:
        find_algorithm("shrinking-dcd", learner={"rest": 3}, engine="decoupled")
    assert str(caught.value) == (
        "the engine decoupled does not support shrinking=0.003, rest=3 and averaged=True of the learner dcd (shrinking "
        "and averaged come with shrinking-dcd); give --shrinking 0 --rest 0 --no-averaged (learner={'shrinking': 0.0, "
        "'rest': 0, 'averaged': False} in Python), or choose an engine that does: serial, shared, pipelined"
    )


def test_a_ready_learner_is_checked_as_well():
    message = re.escape("the engine master-worker does not support rest=2 of the learner dcd; give --rest 0")
    with pytest.raises(InputError, match=message):
        train(overlapping(), algorithm="ms-dcd", learner=DCD(rest=2))


def test_the_page_on_engines_has_what_each_of_them_loses():
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    table = page.split("| options of learners that it does not honour |\n|---|---|\n")[1].split("\n\n")[0]
    written = {engine: set(re.findall("`(.*?)`", lost)) for engine, lost in re.findall(r"\| `(.*?)` \| (.*) \|", table)}
    lost = {
        name: {
            option.name
            for learner in LEARNERS.values()
            for option in ENGINES[name].loses(learner)
            if name in engines_of(learner)
        }
        for name in ENGINES
    }
    assert written == {name: options for name, options in lost.items() if options}
