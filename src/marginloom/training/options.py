"""Options that have no effect: an error with an algorithm that was named, a warning with ``auto``.

An option was given if it is not None, in Python as on the command line; a value that is the default counts too. With a
parameter that asks an engine for something, the value that asks for nothing is fine on every engine.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

from marginloom.algorithms import ALGORITHMS, AUTO, Algorithm, check_engine, find_algorithm
from marginloom.common.memory import parse_size
from marginloom.common.parameters import Declared, checked, declared, listed, option_name, suggestion
from marginloom.common.threads import resolve_threads
from marginloom.core.choice import Choice
from marginloom.core.task import Task
from marginloom.engines import ENGINES
from marginloom.engines.base import Engine
from marginloom.errors import InputError, OptionWarning
from marginloom.learners import DCD, LEARNERS
from marginloom.learners.base import Learner
from marginloom.training.checks import (
    check_engine_needs,
    check_in_parts,
    check_loss,
    check_loss_name,
    check_reproducible,
    check_threads,
)
from marginloom.training.spec import CheckedSpec, Cut, RunSpec
from marginloom.training.world import check_cluster

#: Options that some learners and engines do not have.
COMMON = ("C", "tol", "loss", "memory")

#: Numbers that may be left open, and what is always there.
_OPTIONAL = {"C": "positive", "tol": "positive", "max_iter": "positive count"}
_ALWAYS = {"least_inferences": "count", "reproducible": "switch", "keep_state": "switch", "resume": "switch"}


def is_auto(algorithm: Any) -> bool:
    """Tell whether the algorithm is to be chosen.

    Examples
    --------
    >>> is_auto("auto"), is_auto(None)
    (True, False)
    """
    return isinstance(algorithm, str) and algorithm == AUTO


def check_spec(spec: RunSpec) -> Algorithm | None:
    """Check what needs no task, and return the algorithm that was named; None if ``auto`` is to choose.

    Examples
    --------
    >>> check_spec(RunSpec(algorithm="perceptron", tol=0.1))
    Traceback (most recent call last):
    marginloom.errors.InputError: perceptron has no tol (--tol): leave it out
    """
    if isinstance(spec, CheckedSpec):
        return spec.named
    for name, kind in (_OPTIONAL | _ALWAYS).items():
        if name in _ALWAYS or getattr(spec, name) is not None:
            checked(name, getattr(spec, name), kind)
    check_loss_name(spec.loss)
    if spec.memory is not None:
        parse_size("memory", spec.memory)
    check_cluster(spec.cluster)
    if not is_auto(spec.algorithm):
        return _named(spec)
    resolve_threads(spec.n_threads)
    _check_declared("learner", spec.learner, declared(LEARNERS.values()))
    _check_declared("engine", spec.engine, declared(ENGINES.values()))
    return None


def checked_spec(spec: RunSpec) -> CheckedSpec:
    """Return the run with the algorithm that was named, after `check_spec`, which is not done again for it.

    Examples
    --------
    >>> checked_spec(RunSpec(algorithm="ipm")).named.engine.name
    'mixing'
    """
    if isinstance(spec, CheckedSpec):
        return spec
    given = {field.name: getattr(spec, field.name) for field in dataclasses.fields(RunSpec)}
    named = check_spec(spec)
    return CheckedSpec(**given, named=named, cut=_cut(named, spec.loss))


def _cut(named: Algorithm | None, loss: str | None) -> Cut:
    """Return how rows are cut into examples for an algorithm, or for what ``auto`` will choose.

    The sum of hinges is the same however a row is cut; a squared hinge is that of one problem per part where each part
    has a slack of its own. What learns without a dual takes a row as it is.
    """
    if named is not None and not named.learner.has_dual():
        return Cut.WHOLE
    if check_loss(DCD() if named is None else named.learner, loss) == "squared_hinge":  # auto's have the losses of DCD
        return Cut.SINGLE
    return Cut.WHOLE if named is None or named.learner.whole_rows or named.engine.whole_rows else Cut.FREE


def _named(spec: RunSpec) -> Algorithm:
    algorithm = find_algorithm(spec.algorithm, spec.learner, spec.engine)
    unused = _unused_common(algorithm, spec)
    if unused:
        options = listed([option_name(name) for name in unused])
        them = "it" if len(unused) == 1 else "them"
        has = listed([f"no {name}" for name in unused])
        raise InputError(f"{algorithm.whole_name} has {has} ({options}): leave {them} out")
    check_loss(algorithm.learner, spec.loss)
    if spec.cluster is not None:
        check_in_parts(algorithm)
    n_threads = check_threads(algorithm, spec.n_threads)
    if spec.reproducible:
        check_reproducible(algorithm, n_threads)
    return algorithm


def _unused_common(algorithm: Algorithm, spec: RunSpec) -> list[str]:
    return [name for name in COMMON if getattr(spec, name) is not None and name not in algorithm.common]


def _check_declared(role: str, given: Any, known: Declared) -> None:
    """Check parameters of a learner or an engine that is not known yet: one of them must have each."""
    parameters = {"name": given} if isinstance(given, str) and role == "engine" else given
    if not isinstance(parameters, Mapping):
        return
    for name, value in parameters.items():
        if name == "name" and role == "engine":
            check_engine(value)
            continue
        if name not in known:
            raise InputError(
                f"there is no parameter {name!r}{suggestion(name, known)} of any {role}; 'marginloom algorithms NAME' "
                "shows those of an algorithm"
            )
        kinds = [parameter.kind for _, parameter in known[name]]
        checked(name, value, next((kind for kind in kinds if kind.accepts(value)), kinds[0]))


def completed(task: Task, spec: RunSpec, choice: Choice) -> Algorithm:
    """Return what ``auto`` has chosen, with what was given in its place; warn of what has no effect.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> completed(task, RunSpec(engine="master-worker"), Choice("shrinking-dcd", "classes")).learner.rest
    0
    """
    preset = ALGORITHMS[choice.algorithm]
    engine_type = _engine_type(spec.engine, choice, preset)
    _check_possible(task, spec, preset, engine_type)
    learner, unused = spec.learner, []
    if learner is None or isinstance(learner, Mapping):
        lost = {parameter.name: parameter.neutral for parameter in engine_type.loses(preset.learner)}
        has = {parameter.name for parameter in preset.learner.parameters()}
        given = learner or {}
        lacking = [name for name in given if name not in has]
        unused += [name for name in lacking if not _asks_for_nothing(name, given[name])]
        unused += [name for name, value in given.items() if lost.get(name, value) != value]
        learner = {**choice.learner, **lost, **_without(given, [*lacking, *unused])}
    engine = spec.engine
    if not isinstance(engine, Engine):
        has = {parameter.name for parameter in engine_type.parameters()}
        given = engine if isinstance(engine, Mapping) else {}
        unused += [name for name in given if name not in has | {"name"}]
        engine = {**_without(given, unused), "name": engine_type.name}
    algorithm = find_algorithm(choice.algorithm, learner, engine)
    for name in [*_unused_common(algorithm, spec), *unused]:
        said = (
            f"{name} ({option_name(name)}) has no effect: auto has chosen {algorithm.whole_name}, which has no {name}"
        )
        warnings.warn(said, OptionWarning, stacklevel=2)
    return algorithm


def _asks_for_nothing(name: str, value: Any) -> bool:
    """Tell whether learners that have this parameter ask their engine for nothing with the value."""
    neutral = [parameter.neutral for _, parameter in declared(LEARNERS.values()).get(name, [])]
    return any(one is not None and one == value for one in neutral)


def _without(given: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def suits_what_was_given(choice: Choice, spec: RunSpec) -> bool:
    """Tell whether a choice can have the ready learner and the engine of a run, as far as these were given.

    Examples
    --------
    >>> suits_what_was_given(Choice("label-dcd", "labels that do not interact"), RunSpec(engine="shared"))
    False
    """
    preset = ALGORITHMS[choice.algorithm]
    has_learner = not isinstance(spec.learner, Learner) or type(spec.learner) is type(preset.learner)
    return has_learner and _engine_type(spec.engine, choice, preset).drives(preset.learner)


def choice_with_engine(choice: Choice, spec: RunSpec) -> Choice:
    """Return the preset with the learner of a choice that has the engine of a run, if there is one and that was given.

    Examples
    --------
    >>> choice_with_engine(Choice("dcd-ssvm", "one thread"), RunSpec(engine="decoupled")).algorithm
    'demi-dcd'
    """
    learner = ALGORITHMS[choice.algorithm].learner
    engine = _engine_type(spec.engine, choice, ALGORITHMS[choice.algorithm]).name
    for name, preset in ALGORITHMS.items():
        if spec.engine and preset.engine.name == engine and type(preset.learner) is type(learner):
            return Choice(name, f"the engine {engine}")
    return choice


def _engine_type(given: str | Mapping[str, Any] | Engine | None, choice: Choice, preset: Algorithm) -> type[Engine]:
    if isinstance(given, Engine):
        return type(given)
    name = given.get("name") if isinstance(given, Mapping) else given
    return ENGINES[name or choice.engine or preset.engine.name]


def _check_possible(task: Task, spec: RunSpec, preset: Algorithm, engine: type[Engine]) -> None:
    """Raise `InputError` if what ``auto`` takes for the task cannot have the learner or the engine that was given.

    It names nothing that nobody has asked for.
    """
    if isinstance(spec.learner, Learner) and type(spec.learner) is not type(preset.learner):
        others = [name for name, other in ALGORITHMS.items() if type(other.learner) is type(spec.learner)]
        raise _impossible(f"learner {spec.learner.name}", others)
    if not engine.drives(preset.learner):
        check_engine_needs(task, engine())
        having = {name: other for name, other in ALGORITHMS.items() if engine.drives(other.learner)}
        own = [name for name, other in having.items() if other.engine.name == engine.name]
        raise _impossible(f"engine {engine.name}", own or list(having))


def _impossible(part: str, algorithms: list[str]) -> InputError:
    return InputError(
        f"auto does not train this task with the {part}; name an algorithm that has it (--algorithm, or algorithm= in "
        f"Python): {listed(algorithms, 'or')}"
    )
