"""The published algorithms, each a learner on an engine under its familiar name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from marginloom.common.parameters import Configured, listed, option_name, option_text, suggestion
from marginloom.common.registry import FilledLater
from marginloom.engines import (
    ENGINES,
    Decoupled,
    MasterWorker,
    Minibatch,
    Mixing,
    Serial,
    Shared,
    Subsample,
)
from marginloom.engines.base import Engine
from marginloom.errors import InputError
from marginloom.learners import (
    CPD,
    DCD,
    FSMO,
    LEARNERS,
    MIRA,
    SGD,
    BinaryDCD,
    FrankWolfe,
    Newton,
    NSlack,
    OneSlack,
    PassiveAggressive,
    Perceptron,
)
from marginloom.learners.base import OFFERS, Learner

AnyConfigured = TypeVar("AnyConfigured", bound=Configured)

#: Stands for the one of the algorithms below that suits a task; see `marginloom.core.choice`.
AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """A learner on an engine, ready to train."""

    name: str
    summary: str
    learner: Learner
    engine: Engine

    @property
    def common(self) -> frozenset[str]:
        """Which of the options C, tol, loss and memory have an effect.

        Examples
        --------
        >>> sorted(ALGORITHMS["sgd"].common)
        ['C', 'loss']
        """
        return self.learner.common

    def training_threads(self, n_threads: int) -> int:
        """Return how many of so many threads train; the others compute scores and certificates.

        Examples
        --------
        >>> find_algorithm("dcd-ssvm").training_threads(4), find_algorithm("shared-dcd").training_threads(4)
        (1, 4)
        """
        return self.engine.training_threads(self.learner, n_threads)

    @property
    def whole_name(self) -> str:
        """Its name, with that of the engine where this is not its own.

        Examples
        --------
        >>> find_algorithm("bcfw").whole_name, find_algorithm("bcfw", engine="master-worker").whole_name
        ('bcfw', 'bcfw on the engine master-worker')
        """
        own = ALGORITHMS[self.name].engine.name
        return self.name if self.engine.name == own else f"{self.name} on the engine {self.engine.name}"


_PRESETS: dict[str, Algorithm] = {
    preset.name: preset
    for preset in (
        Algorithm(
            "dcd-ssvm",
            "dual coordinate descent (DCD) on a working set",
            DCD(),
            Serial(),
        ),
        Algorithm(
            "dcd-light",
            "DCD without inner passes: each example is updated once, after its inference",
            DCD(inner_passes=0, sweeps=1),
            Serial(),
        ),
        Algorithm(
            "shrinking-dcd",
            "DCD that skips examples whose updates gain little; for cheap inference",
            DCD(inner_passes=20, shrinking=0.003, rest=15, averaged=True),
            Serial(),
        ),
        Algorithm("ms-dcd", "DCD; all threads do inference, then one updates the weights", DCD(), MasterWorker()),
        Algorithm(
            "demi-dcd",
            "DCD; one thread updates the weights while the others do inference",
            DCD(inner_passes=2),
            Decoupled(),
        ),
        Algorithm(
            "shared-dcd",
            "DCD; all threads do inference and update the same weights",
            DCD(inner_passes=2),
            Shared(),
        ),
        Algorithm(
            "newton",
            "Newton's method, for at most 4,096 weights; works well if features differ in scale",
            Newton(),
            Serial(),
        ),
        Algorithm(
            "label-dcd",
            "one binary SVM per label, for labels that do not interact",
            BinaryDCD(),
            Serial(),
        ),
        Algorithm("cpd", "cutting planes; the dual is solved by DCD after every pass", CPD(), Serial()),
        Algorithm("n-slack", "cutting planes; the dual is solved after every new constraint", NSlack(), Serial()),
        Algorithm(
            "one-slack", "cutting planes with one slack variable for all examples together", OneSlack(), Serial()
        ),
        Algorithm("bcfw", "block-coordinate Frank-Wolfe with line search", FrankWolfe(), Serial()),
        Algorithm("fsmo", "sequential minimal optimization (SMO) in batches", FSMO(), Serial()),
        Algorithm(
            "fastssvm",
            "SMO that stops solving early, with many candidates per inference in classifiers; all threads update the "
            "same weights",
            FSMO(k_best=0, inner_stop=True),
            Shared(),
        ),
        Algorithm(
            "perceptron", "structured perceptron; predicts with the final weights", Perceptron(averaged=False), Serial()
        ),
        Algorithm(
            "averaged-perceptron",
            "structured perceptron; predicts with the average of the weights",
            Perceptron(),
            Serial(),
        ),
        Algorithm(
            "mira",
            "margin infused relaxed algorithm (MIRA): the smallest change of the weights that satisfies the margin",
            MIRA(),
            Serial(),
        ),
        Algorithm(
            "kbest-mira",
            "MIRA with the five best outputs as candidates",
            MIRA(k_best=5),
            Serial(),
        ),
        Algorithm(
            "passive-aggressive",
            "MIRA with one candidate, in closed form: PA, PA-I or PA-II",
            PassiveAggressive(),
            Serial(),
        ),
        Algorithm("sgd", "stochastic (sub)gradient descent on the hinge objective", SGD(), Serial()),
        Algorithm(
            "minibatch-perceptron",
            "perceptron; all threads do inference for a minibatch, then the weights are updated",
            Perceptron(),
            Minibatch(),
        ),
        Algorithm(
            "minibatch-mira",
            "MIRA; all threads do inference for a minibatch, then the weights are updated",
            MIRA(),
            Minibatch(),
        ),
        Algorithm(
            "parameter-mixing",
            "perceptrons on shards, averaged at the end",
            Perceptron(),
            Mixing(inner_epochs=0),
        ),
        Algorithm(
            "ipm",
            "iterative parameter mixing (IPM): perceptrons on shards, averaged after every pass",
            Perceptron(),
            Mixing(),
        ),
        Algorithm("ipm-mira", "IPM with MIRA instead of perceptrons", MIRA(), Mixing()),
        Algorithm("subsample", "perceptron on one shard only, as a baseline", Perceptron(), Subsample()),
    )
}


def _all_algorithms() -> dict[str, Algorithm]:
    """Return the presets; a learner of another distribution is one under its own name, on the engine serial."""
    found = dict(_PRESETS)
    known = {type(preset.learner) for preset in _PRESETS.values()}
    for name, learner in LEARNERS.items():
        if learner in known:
            continue
        if name in found:
            raise InputError(f"the learner {name!r} ({learner.__module__}) has the name of an algorithm; rename it")
        found[name] = Algorithm(name, _summary(learner), learner(), Serial())
    return found


def _summary(learner: type[Learner]) -> str:
    first = (learner.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


#: All algorithms, by name.
ALGORITHMS = FilledLater(_all_algorithms)


def find_algorithm(
    name: str,
    learner: Mapping[str, Any] | Learner | None = None,
    engine: str | Mapping[str, Any] | Engine | None = None,
) -> Algorithm:
    """Return the algorithm of that name, with its learner's and engine's parameters replaced where given.

    Parameters
    ----------
    name : str
        A preset, such as ``"dcd-ssvm"``.
    learner : mapping or Learner, optional
        Parameters by name; or a ready learner like the preset's.
    engine : str, mapping or Engine, optional
        The name of an engine that the learner has, to use instead of the preset's; or parameters by name, with that
        name as ``"name"`` if it is another one; or a ready engine.

    Returns
    -------
    Algorithm
        The algorithm to train with.

    Examples
    --------
    >>> find_algorithm("dcd-ssvm", learner={"inner_passes": 2}).learner
    DCD(delta=0.01, k_best=0, inner_passes=2, sweeps=3, shrinking=0.0, rest=0, averaged=False)
    >>> find_algorithm("bcfw", engine="master-worker").engine
    MasterWorker(shuffle=True, rounds=64, learners=1)
    """
    algorithm = _put_together(name, learner, engine)
    _check_options(algorithm)
    return algorithm


def find_preset(name: str, engine: str | None = None) -> Algorithm:
    """Return a preset on its own or another engine, to be shown or completed: the engine may not honour its options.

    Examples
    --------
    >>> find_preset("shrinking-dcd", "master-worker").learner.rest
    15
    """
    return _put_together(name, None, engine)


#: What took the place of engines that there were.
_RETIRED_ENGINES = {
    "columns": "labels that do not interact are trained by the algorithm label-dcd (--algorithm label-dcd, or "
    "algorithm='label-dcd' in Python), on the engine serial and any number of threads"
}


def check_engine(name: Any) -> None:
    """Raise `InputError` if there is no engine of that name.

    Examples
    --------
    >>> check_engine("serial")
    """
    if isinstance(name, str) and name in _RETIRED_ENGINES and name not in ENGINES:
        raise InputError(f"there is no engine {name!r} any more: {_RETIRED_ENGINES[name]}")
    if not isinstance(name, str) or name not in ENGINES:
        raise InputError(f"there is no engine {name!r}{suggestion(name, ENGINES)}; there are: {', '.join(ENGINES)}")


def engines_that_lose(learner: Learner | type[Learner], parameter: str) -> list[str]:
    """Return the engines that a learner can have and that do not honour this parameter of it.

    Examples
    --------
    >>> engines_that_lose(DCD, "rest")
    ['master-worker', 'decoupled']
    """
    return [name for name in engines_of(learner) if parameter in (lost.name for lost in ENGINES[name].loses(learner))]


def engines_of(learner: Learner | type[Learner]) -> tuple[str, ...]:
    """Return the names of the engines that can drive a learner.

    Examples
    --------
    >>> engines_of(SGD)
    ('serial', 'subsample')
    """
    return tuple(name for name, engine in ENGINES.items() if engine.drives(learner))


def earlier_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the parameters of an engine stand for that the version did not have which wrote these settings.

    Examples
    --------
    >>> earlier_values({"engine": {"name": "master-worker", "shuffle": True}})
    {'rounds': 1, 'learners': 1}
    """
    given = settings.get("engine")
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str) or given["name"] not in ENGINES:
        return {}
    parameters = ENGINES[given["name"]].parameters()
    return {p.name: p.earlier for p in parameters if p.earlier is not None and p.name not in given}


def _put_together(
    name: str, learner: Mapping[str, Any] | Learner | None, engine: str | Mapping[str, Any] | Engine | None
) -> Algorithm:
    if name == AUTO:
        raise InputError("auto chooses when there is a task to choose for: train with it, or name an algorithm")
    if not isinstance(name, str) or name not in ALGORITHMS:
        close = suggestion(name, ALGORITHMS)
        known = "'marginloom algorithms' lists them" if close else f"there are: {', '.join([AUTO, *ALGORITHMS])}"
        raise InputError(f"there is no algorithm {name!r}{close}; {known}")
    preset = ALGORITHMS[name]
    if not isinstance(learner, Learner):
        learner = _with_parameters(name, "learner", preset.learner, learner)
    if not isinstance(engine, Engine):
        engine = _chosen_engine(name, preset.engine, engine)
    if type(learner) is not type(preset.learner):
        raise InputError(
            f"{name} has the learner {preset.learner.name}, not {learner.name}; choose another algorithm instead"
        )
    if not engine.drives(learner):
        raise InputError(
            f"the learner {learner.name} has no engine {engine.name}; its engines are: "
            f"{', '.join(engines_of(learner))} ({_why_not(engine, learner)})"
        )
    if lacks := engine.lacks(learner):
        lacking = listed([OFFERS[offer] for offer in sorted(lacks)])
        raise InputError(f"{engine} needs {lacking}, which the learner {learner.name} does not offer")
    return dataclasses.replace(preset, learner=learner, engine=engine)


def _why_not(engine: Engine, learner: Learner) -> str:
    if learner.kind == "whole-pass" and learner.kind not in engine.kinds:
        return f"{learner.name} makes whole passes by itself, which {engine.name} does not drive"
    if learner.kind not in engine.kinds:
        return f"{engine.name} drives {listed(sorted(engine.kinds))} learners, and {learner.name} is {learner.kind}"
    lacks = listed([OFFERS[offer] for offer in sorted(engine.requires - learner.offers)])
    return f"{engine.name} needs {lacks}"


def _check_options(algorithm: Algorithm) -> None:
    """Refuse what the learner asks of an engine that does not honour it."""
    learner, engine = algorithm.learner, algorithm.engine
    given = dataclasses.asdict(learner)
    lost = {p.name: p.neutral for p in engine.loses(learner) if given[p.name] != p.neutral}
    if not lost:
        return
    values = listed([f"{name}={given[name]}" for name in lost])
    options = " ".join(option_text(name, neutral) for name, neutral in lost.items())
    others = [name for name in engines_of(learner) if not lost.keys() & {p.name for p in ENGINES[name].loses(learner)}]
    raise InputError(
        f"the engine {engine.name} does not support {values} of the learner {learner.name}{_brought(algorithm, lost)}; "
        f"give {options} (learner={lost} in Python), or choose an engine that does: {', '.join(others)}"
    )


def _brought(algorithm: Algorithm, names: Iterable[str]) -> str:
    """Say which of these parameters have the preset's values, so that nobody looks for them among what was given."""
    preset = ALGORITHMS[algorithm.name].learner
    brought = [name for name in names if getattr(preset, name) == getattr(algorithm.learner, name)]
    verb = "comes" if len(brought) == 1 else "come"
    return f" ({listed(brought)} {verb} with {algorithm.name})" if brought else ""


def _chosen_engine(algorithm: str, preset: Engine, given: str | Mapping[str, Any] | None) -> Engine:
    """Return the preset's engine, or another one with its usual parameters, with those replaced that are given."""
    parameters = {"name": given} if isinstance(given, str) else given
    if not isinstance(parameters, Mapping) or "name" not in parameters:
        return _with_parameters(algorithm, "engine", preset, parameters)
    name = parameters["name"]
    check_engine(name)
    return _with_parameters(
        algorithm if name == preset.name else f"{algorithm} on the engine {name}",
        "engine",
        preset if name == preset.name else ENGINES[name](),
        {key: value for key, value in parameters.items() if key != "name"},
    )


def _with_parameters(
    algorithm: str, role: str, preset: AnyConfigured, given: Mapping[str, Any] | None
) -> AnyConfigured:
    if given is None:
        return preset
    if not isinstance(given, Mapping):
        wanted = "a name, a dict" if role == "engine" else "a dict"
        raise InputError(f"{role} must be {wanted} of parameters or a ready {role}, not {given!r}")
    known = [parameter.name for parameter in preset.parameters()]
    for name in given:
        if name not in known:
            raise InputError(
                f"{algorithm} has no parameter {name!r} ({option_name(str(name))} on the command line)"
                f"{suggestion(name, known)}; its {role} has: {', '.join(known) or 'none'}"
            )
    return dataclasses.replace(preset, **given)
