"""What all engines have in common."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import Configured, Parameter
from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class Job:
    """What an engine is to drive: a native learner over the chosen examples of a task, as users see them."""

    task: _core.Task
    learner: _core.OnlineLearner | _core.DualLearner
    examples: NDArray[np.uint64]
    n_threads: int
    seed: int

    def online(self, engine: str, shuffle: bool) -> _core.OnlineJob:
        """Return it for a native engine that drives online learners; `InputError` if this one has a dual."""
        if not isinstance(self.learner, _core.OnlineLearner):
            raise InputError(f"the engine {engine} drives online learners, and this one has a dual")
        return _core.OnlineJob(
            task=self.task,
            learner=self.learner,
            examples=self.examples,
            seed=self.seed,
            shuffle=shuffle,
            threads=self.n_threads,
        )

    def dual(self, engine: str, shuffle: bool) -> _core.DualJob:
        """Return it for a native engine that drives learners with a dual; `InputError` if this one has none."""
        if not isinstance(self.learner, _core.BlockLearner):
            raise InputError(f"the engine {engine} drives learners with a dual, and this one has none")
        return _core.DualJob(
            task=self.task,
            learner=self.learner,
            examples=self.examples,
            seed=self.seed,
            shuffle=shuffle,
            threads=self.n_threads,
        )


@dataclasses.dataclass(frozen=True)
class OwnDuals:
    """What an engine takes that has the dual variables itself, so that the learner keeps no candidates, in bytes.

    Attributes
    ----------
    duals : int
        The dual variables, with the right outputs where it keeps those too.
    state : int
        What a state of them takes, at most.
    """

    duals: int
    state: int


@dataclasses.dataclass(frozen=True)
class Engine(Configured):
    """Who computes what, where and when. Subclasses declare their parameters as fields."""

    kinds: ClassVar[frozenset[str]]  # of learner that it can drive: "online", "dual"
    needs: ClassVar[frozenset[str]]  # of the task, keys of marginloom.learners.base.NEEDS
    honours: ClassVar[frozenset[str]]  # of the parameters by which learners ask for something, see Parameter.neutral
    ignores: ClassVar[frozenset[str]] = frozenset()  # other parameters, and common options, that have no effect with it
    minimum_threads: ClassVar[int]
    paper: ClassVar[str] = ""  # that it comes from, if it has one of its own
    #: What to do where its own dual variables do not fit.
    way_to_need_less: ClassVar[str] = ""
    #: Bytes that it keeps of every example of a native task, at least: its number, and its place in a pass.
    example_bytes: ClassVar[int] = 16

    def weight_copies(self, n_threads: int) -> int:
        """Return how many vectors as large as the weights it keeps beside them, at most."""
        return 0

    def buffer_bytes(self, task: _core.Task, n_threads: int) -> int:
        """Return what it takes for the work of its threads on a task, where that can be much."""
        return 0

    def own_duals(self, task: _core.Task) -> OwnDuals | None:
        """Return what it takes for the dual variables of a task; None if they are the learner's."""
        return None

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits with so many threads."""
        return True

    def needs_with(self, loss: str | None) -> frozenset[str]:
        """Return what it needs of the task where the objective has this loss."""
        return self.needs

    def least_threads(self) -> int:
        """Return how many threads it needs with its parameters."""
        return self.minimum_threads

    def settled(self, n_threads: int, n_examples: int) -> Self:
        """Return it with the parameters that follow from threads and examples, where none were given."""
        return self

    @classmethod
    def loses(cls, learner: Configured | type[Configured]) -> list[Parameter]:
        """Return the parameters of a learner that it does not honour.

        Examples
        --------
        >>> from marginloom.engines import MasterWorker
        >>> from marginloom.learners import DCD
        >>> [parameter.name for parameter in MasterWorker.loses(DCD())]
        ['rest']
        """
        asking = (parameter for parameter in learner.parameters() if parameter.neutral is not None)
        ignored = (parameter for parameter in learner.parameters() if parameter.name in cls.ignores)
        return [
            *(parameter for parameter in asking if parameter.name not in cls.honours),
            *(dataclasses.replace(parameter, neutral=parameter.default) for parameter in ignored),
        ]

    @abstractmethod
    def build(self, job: Job) -> _core.Engine:
        """Make the native engine."""
