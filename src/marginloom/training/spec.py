"""What a training run is asked to do, from the command line and the estimators down to `train`: one description."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.algorithms import AUTO, Algorithm
from marginloom.engines.base import Engine
from marginloom.io.files import StrPath
from marginloom.io.names import shown
from marginloom.learners.base import Learner
from marginloom.training.callbacks import Callback
from marginloom.training.checkpoint import Checkpoint
from marginloom.training.state import State
from marginloom.training.world import Cluster

Evaluation: TypeAlias = Callable[[NDArray[np.float64]], dict[str, Any]]
RandomSource: TypeAlias = "int | np.random.RandomState | np.random.Generator"

#: What C and tol are where they are not given.
DEFAULT_C, DEFAULT_TOL = 0.1, 0.01

#: What is said of the fields of `RunParameters`, wherever they are parameters.
PARAMETER_TEXT = f"""
algorithm : str
    How to train; ``marginloom algorithms`` lists the choices. ``"auto"`` chooses by the task, its size, the loss and
    the threads, by a fixed rule. Leave out options that the algorithm does not have, or give None: any other value is
    an `InputError`. With ``"auto"`` it is an `OptionWarning`, and the value has no effect.
C : float, optional
    Cost of slack per example, in 1/2 |w|^2 + sum_i C_i loss(slack_i); by default {DEFAULT_C}.
tol : float, optional
    Certified relative gap at which a learner with a dual stops; by default {DEFAULT_TOL}.
max_iter : int, optional
    Passes at most; by default 10 for learners without a dual, 500 for one-slack and bcfw, and 100 for the others, of
    which ``"auto"`` allows 1,000 for classes where a pass is short.
loss : {"squared_hinge", "hinge"}, optional
    Loss of the slack; by default the learner's own.
n_threads : int, optional
    Threads for what the algorithm can share out, and for evaluation; -1 for all cores that the process may use. By
    default all cores with ``"auto"``, but one where the problem is small, and one if an algorithm is named. If
    ``"auto"`` trains on fewer than were asked for, an `OptionWarning` says why. Prediction uses all cores by default.
memory : int or str, optional
    For the candidates that a learner with a dual keeps: bytes, or a text such as ``"500M"``. It changes the time
    and not the result. By default half of what is free.
random_state : int, numpy.random.RandomState or numpy.random.Generator, optional
    Seed. A random state draws one, another in every run; so does None.
reproducible : bool
    Choose only algorithms that give the same model in every run. With one thread all do, with several not the fastest.
learner, engine : mapping or ready object, optional
    Parameters of the learner and of the engine; or the name of another engine that the learner has, such as
    ``"master-worker"``, alone or as ``"name"`` among the parameters.
cluster : MPI or Dask, optional
    Train in many processes, see docs/clusters.md; by default in this one.
"""


@dataclasses.dataclass(kw_only=True, eq=False)
class RunParameters:
    """The part of a run that is chosen in advance and can be used again: estimators have it as their parameters.

    None stands for what was not given. Any other value was, also one that is the default: it must have an effect.
    """

    algorithm: str = AUTO
    C: float | None = None
    tol: float | None = None
    max_iter: int | None = None
    loss: str | None = None
    n_threads: int | None = None
    memory: int | str | None = None
    random_state: RandomSource | None = 0
    reproducible: bool = False
    learner: Mapping[str, Any] | Learner | None = None
    engine: str | Mapping[str, Any] | Engine | None = None
    cluster: Cluster | None = None

    @classmethod
    def of(cls, parameters: RunParameters) -> Self:
        """Return the same parameters, of which others may have more.

        Examples
        --------
        >>> RunSpec.of(RunParameters(algorithm="sgd")).algorithm
        'sgd'
        """
        return cls(**{field.name: getattr(parameters, field.name) for field in dataclasses.fields(RunParameters)})


@dataclasses.dataclass(kw_only=True, eq=False)
class RunSpec(RunParameters):
    """A run as a whole; its fields are the named arguments of `marginloom.train`, where they are explained."""

    least_inferences: int = 0
    sample_weight: ArrayLike | None = None
    evaluations: Mapping[str, Evaluation] | None = None
    callbacks: Sequence[Callback] = ()
    warm_start: State | None = None
    keep_state: bool = False
    trace_path: StrPath | None = None
    checkpoint: StrPath | Checkpoint | None = None
    resume: bool = False


def stored_parameters(given: Any, seed: int) -> dict[str, Any]:
    """Return the parameters of a run or an estimator as plain values for JSON.

    Parameters
    ----------
    given : dataclass
        What has the parameters. One whose value JSON cannot hold is left out, unless it is a learner or an engine.
    seed : int
        Stands for a random state, which is an object.

    Returns
    -------
    dict
        The values by name.

    Examples
    --------
    >>> stored_parameters(RunParameters(C=np.float32(0.5), learner={"delta": 0.1}), seed=0)["C"]
    0.5
    """
    values = {field.name: _plain(getattr(given, field.name)) for field in dataclasses.fields(given)}
    if isinstance(values["random_state"], _NotPlain):
        values["random_state"] = seed
    return {name: value for name, value in values.items() if not isinstance(value, _NotPlain)}


class _NotPlain:
    """Marks a value that JSON cannot hold."""


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, os.PathLike)):
        return shown(value)  # names of files may hold what no text can
    if isinstance(value, Engine):
        return {"name": value.name, **dataclasses.asdict(value)}
    if isinstance(value, Learner):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        items = {name: _plain(inner) for name, inner in value.items()}
        is_plain = not any(isinstance(inner, _NotPlain) for inner in items.values())
        return items if is_plain and all(isinstance(name, str) for name in items) else _NotPlain()
    return value if value is None or isinstance(value, (bool, int, float)) else _NotPlain()


class Cut(enum.Enum):
    """How a row whose parts do not interact is cut into examples, each with a slack of its own, for a run.

    A problem follows it unless the user has said how to cut.
    """

    #: Not at all.
    WHOLE = "whole"
    #: Into every single part: the objective is then that of one problem per part.
    SINGLE = "single"
    #: As suits the task, since the objective does not depend on it.
    FREE = "free"


@dataclasses.dataclass(kw_only=True, eq=False)
class CheckedSpec(RunSpec):
    """A run that `marginloom.training.options.checked_spec` has checked as far as that needs no task.

    Attributes
    ----------
    named : Algorithm or None
        The algorithm that was asked for; None if ``auto`` is to choose.
    cut : Cut
        How the task is to cut rows into examples.
    """

    named: Algorithm | None = None
    cut: Cut = Cut.WHOLE


def training_threads(algorithm: str, n_threads: int | None) -> int | None:
    """Return the threads for training and what goes with it: one by default if an algorithm is named.

    None stands for as many as the task has use for.

    Examples
    --------
    >>> training_threads("sgd", None), training_threads("auto", 3)
    (1, 3)
    """
    return 1 if n_threads is None and algorithm != AUTO else n_threads
