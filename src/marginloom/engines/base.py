"""What all engines have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import Configured, Parameter, listed
from marginloom.common.registry import check_parameters, declared_types
from marginloom.errors import InputError
from marginloom.learners.base import Learner, NativeLearner

Made = TypeVar("Made", _core.Engine, _core.Part)


@dataclasses.dataclass(frozen=True)
class Job:
    """What an engine is to drive: a native learner over the chosen examples of a task, as users see them."""

    task: _core.Task
    learner: NativeLearner
    examples: NDArray[np.uint64]
    n_threads: int
    seed: int


@dataclasses.dataclass(frozen=True)
class Engine(Configured):
    """Who computes what, where and when. Subclasses declare their parameters as fields."""

    kinds: ClassVar[frozenset[str]]  # of learner that it can drive, see marginloom.learners.base.Learner.kind
    requires: ClassVar[frozenset[str]] = frozenset()  # of the learner, keys of marginloom.learners.base.OFFERS
    needs: ClassVar[frozenset[str]]  # of the task, keys of marginloom.learners.base.NEEDS
    honours: ClassVar[frozenset[str]]  # of the parameters by which learners ask for something, see Parameter.neutral
    #: Whether it takes all parts of a row together, where the objective does not depend on how rows are cut.
    whole_rows: ClassVar[bool] = False
    minimum_threads: ClassVar[int]
    in_parts: ClassVar[bool] = False  # whether its C++ class has a half that works in other processes
    paper: ClassVar[str] = ""  # that it comes from, if it has one of its own
    #: Bytes that it keeps of every example of a native task, at least: its number, and its place in a pass.
    example_bytes: ClassVar[int] = 16

    def weight_copies(self, n_threads: int) -> int:
        """Return how many vectors as large as the weights it keeps beside them, at most."""
        return 0

    def why_not(self, capabilities: Collection[str]) -> str | None:
        """Say why it cannot train a task that can what `needs` says, with the parameters that it has; None if it can.

        Parameters
        ----------
        capabilities : collection of str
            Of the task.
        """
        return None

    def buffer_bytes(self, task: _core.Task, n_threads: int) -> int:
        """Return what it takes for the work of its threads on a task, where that can be much."""
        return self.native_needs(task, n_threads).get("buffers", 0)

    def native_needs(self, task: _core.Task, n_threads: int) -> dict[str, int]:
        """Return the bytes that its C++ class takes for a task besides the weights, by what they are for."""
        return _core.engine_needs(self.native_name(), task, n_threads, self._options())

    def gives_same_bits(self, n_threads: int) -> bool:
        """Tell whether the same seed gives the same bits with so many threads."""
        return True

    def training_threads(self, learner: Learner, n_threads: int) -> int:
        """Return how many of so many threads train with a learner; all evaluate and compute certificates."""
        return n_threads

    def least_threads(self) -> int:
        """Return how many threads it needs with its parameters."""
        return self.minimum_threads

    def settled(self, n_threads: int, n_examples: int) -> Self:
        """Return it with the parameters that follow from threads and examples, where none were given."""
        return self

    @classmethod
    def drives(cls, learner: Learner | type[Learner]) -> bool:
        """Tell whether it can drive a learner: one of its kinds, which offers what it requires.

        Examples
        --------
        >>> from marginloom.engines import Minibatch
        >>> from marginloom.learners import MIRA, SGD
        >>> Minibatch.drives(MIRA), Minibatch.drives(SGD)
        (True, False)
        """
        return learner.kind in cls.kinds and cls.requires <= learner.offers

    def lacks(self, learner: Learner) -> frozenset[str]:
        """Return what it requires of a learner, with its parameters, and the learner does not offer.

        Examples
        --------
        >>> from marginloom.engines import MasterWorker
        >>> from marginloom.learners import CPD
        >>> MasterWorker(learners=2).lacks(CPD()), MasterWorker().lacks(CPD())
        (frozenset({'own blocks'}), frozenset())
        """
        return self.requires - learner.offers

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
        return [parameter for parameter in asking if parameter.name not in cls.honours]

    def build(self, job: Job) -> _core.Engine:
        """Make the native engine. The order of examples is that of the job unless it declares a parameter `shuffle`."""
        return self._made(_core.make_engine, job)

    def build_part(self, job: Job) -> _core.Part:
        """Make the half that answers the questions of an engine of the same job, if it is `in_parts`."""
        return self._made(_core.make_part, job)

    def _made(self, make: Callable[..., Made], job: Job) -> Made:
        return make(
            self.native_name(),
            job.task,
            job.learner,
            job.examples,
            seed=job.seed,
            shuffle=getattr(self, _SHUFFLE, False),
            threads=job.n_threads,
            options=self.settled(job.n_threads, job.examples.size)._options(),
        )

    def _options(self) -> dict[str, bool | int | float | str]:
        """Return the parameters of its C++ class; whether examples are shuffled is part of every job."""
        return {name: value for name, value in self.native_values().items() if name != _SHUFFLE}


_SHUFFLE = "shuffle"


def check_native(engine: type[Engine]) -> None:
    """Raise `InputError` if the parameters of an engine are not those of its C++ class, or what it can do.

    Examples
    --------
    >>> from marginloom.engines import Serial
    >>> check_native(Serial)
    """
    name = engine.native_name()
    natives = [native for native in _core.registered_engines() if native.name == name]
    kinds = sorted(native.kind for native in natives)
    if kinds != sorted(engine.kinds):
        raise InputError(
            f"the engine {engine.name} ({engine.__module__}.{engine.__qualname__}) is for {_learners(engine.kinds)}, "
            f"and the C++ classes registered as {name!r} are for {_learners(kinds)}; see docs/adding_an_engine.md"
        )
    declared = {name: type_ for name, type_ in declared_types(engine).items() if name != _SHUFFLE}
    for native in natives:
        check_parameters(engine, declared, native.parameters)
        if native.in_parts != engine.in_parts:
            raise InputError(
                f"the engine {engine.name} ({engine.__module__}.{engine.__qualname__}) declares in_parts = "
                f"{engine.in_parts}, and a C++ class registered as {name!r} works "
                f"{'in parts' if native.in_parts else 'in one process only'}; see docs/adding_an_engine.md"
            )


def _learners(kinds: Collection[str]) -> str:
    return f"{listed(sorted(kinds))} learners" if kinds else "no learners"
