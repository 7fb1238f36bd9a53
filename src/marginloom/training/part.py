"""A part of a world: a task with what a run has settled, and nothing that changes, so that anybody can answer."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from marginloom import __version__, _core
from marginloom.core.task import Task
from marginloom.engines.base import Job
from marginloom.errors import InputError, PartError
from marginloom.io.names import quoted
from marginloom.training.checkpoint import Identity, flat
from marginloom.training.plan import Plan
from marginloom.training.world import Answer, Arrays, World

#: The question that every part is asked first: who it is.
HELLO = "hello"
_IDENTITY = "identity"


class Part:
    """Answers questions about a task, in whatever process.

    Parameters
    ----------
    task : Task
        All examples.
    plan : Plan
        What the run has settled.
    files : mapping
        From which the task was read, by their names; `hello` has their digests.
    """

    def __init__(self, task: Task, plan: Plan, files: Mapping[str, Path] = MappingProxyType({})) -> None:
        self._task = task
        self._plan = plan
        self._files = files

    def answer(self, question: str, common: Arrays, own: Arrays, stop: _core.StopFlag | None = None) -> Answer:
        """Answer a question; `InputError` if there is no such question, or it makes no sense."""
        if question == HELLO:
            return {_IDENTITY: np.frombuffer(json.dumps(self.identity).encode(), dtype=np.uint8)}
        try:
            return self._native.answer(question, common, own, stop)
        except ValueError as error:
            raise InputError(str(error)) from error

    @functools.cached_property
    def _native(self) -> _core.Part:
        """The native part, made when something native is asked for the first time."""
        plan = self._plan
        learner = plan.algorithm.learner.build(self._task.core, plan.common)
        job = Job(self._task.core, learner, plan.examples, plan.n_threads, plan.seed)
        return plan.algorithm.engine.build_part(job)

    @functools.cached_property
    def identity(self) -> dict[str, Any]:
        """What must be the same in all processes, by name; text and numbers only."""
        plan, settings = self._plan, self._plan.settings(self._task)
        run = Identity.of_run(self._task, settings, plan.common.instance_weights, {})
        return {
            "version of marginloom": __version__,
            "build of marginloom": build(),
            "byte order": sys.byteorder,
            "settings": run.settings,
            "files": {name: _digest(path) for name, path in self._files.items()},
            "data": {**run.fingerprints, "examples in training": int(plan.examples.size)},
        }


@functools.cache
def build() -> str:
    """Identify the compiled module.

    Examples
    --------
    >>> len(build())
    16
    """
    return _digest(Path(_core.__file__))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def check_hellos(world: World, here: Mapping[str, Any], where: str) -> None:
    """Ask every part who it is; `PartError` that names what differs, and where, unless all are alike."""
    for number, answer in enumerate(list(world.ask(HELLO, {}, [{}] * world.parts))):
        check_hello(answer, world.name(number), here, where)


def check_hello(answer: Arrays, there: str, here: Mapping[str, Any], where: str) -> None:
    """Raise `PartError` unless a part is like the one of this process.

    Parameters
    ----------
    answer : mapping
        Of the part.
    there : str
        What to call it.
    here : mapping
        The `Part.identity` of this process.
    where : str
        What to call that.

    Examples
    --------
    >>> answer = {"identity": np.frombuffer(b'{"byte order": "big"}', dtype=np.uint8)}
    >>> check_hello(answer, "rank 1 on b", {"byte order": "little"}, "rank 0 on a")
    Traceback (most recent call last):
    marginloom.errors.PartError: rank 1 on b has byte order = big, and rank 0 on a has little; every process needs ...
    """
    try:
        other = json.loads(answer[_IDENTITY].tobytes())
    except (KeyError, ValueError) as error:
        raise PartError(f"{there} does not say who it is: {error}") from error
    if not isinstance(other, dict):
        raise PartError(f"{there} does not say who it is")
    for name in dict.fromkeys([*here, *other]):
        mine, its = here.get(name), other.get(name)
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            _check_alike(name, mine, its, there, where)
        elif mine != its:
            raise PartError(f"{there} has {name} = {its}, and {where} has {mine}; every process needs the same")


def _check_alike(what: str, here: Mapping[str, Any], other: Mapping[str, Any], there: str, where: str) -> None:
    mine, its = dict(flat(here)), dict(flat(other))
    for name in dict.fromkeys([*mine, *its]):
        if mine.get(name) == its.get(name):
            continue
        if what == "files":
            raise PartError(
                f"the file {quoted(name)} of {there} is not the one of {where}; every process reads the same"
            )
        if what == "data":
            raise PartError(
                f"{there} has other {name} than {where}; every process needs the same data, in the same order"
            )
        raise PartError(
            f"{there} has {name} = {its.get(name)}, and {where} has {mine.get(name)}; every process needs the same "
            "settings"
        )
