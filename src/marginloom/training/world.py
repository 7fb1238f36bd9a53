"""Who answers the questions of a run: one process alone, or many, each with a part of the work."""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.core.row import Row
from marginloom.errors import InputError, PartError

if TYPE_CHECKING:
    from marginloom import _core
    from marginloom.core.task import Task
    from marginloom.training.part import Part
    from marginloom.training.spec import RunSpec

#: What travels: arrays by name, each with one dimension.
Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Answer: TypeAlias = dict[str, NDArray[Any]]
#: Answers that come one by one.
Answers: TypeAlias = Generator[Answer, None, None]

#: Types that an array may have.
TYPES = ("float64", "uint64", "uint8")

#: The array of an answer that has the seconds which each thread of the part worked.
SECONDS = "seconds"


class World(ABC):
    """Parts that answer questions.

    A part has its task and nothing that changes, so an answer follows from the question alone. It does not matter which
    process gives it, nor how often.

    Attributes
    ----------
    here : int or None
        The part for which this process answers, if it does.
    """

    here: int | None = None

    def __init__(self) -> None:
        self._whole = Tally()
        self._row = Tally()
        self._common_bytes = 0  # that a part gets of the common arrays of the last question

    @property
    @abstractmethod
    def parts(self) -> int:
        """Into how many parts the next question is best divided."""

    @property
    def native(self) -> World | None:
        """What native code asks: nobody where there is one process."""
        return self

    def shares(self, question: str) -> list[float]:
        """Return how to divide a question whose answers are used one by one.

        Returns
        -------
        list of float
            Numbers in proportion to the work of the answers, in their order. There may be more answers than parts, and
            a part may get less work than another.
        """
        return [1.0] * self.parts

    def ask(
        self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays = MappingProxyType({})
    ) -> Answers:
        """Put a question to all parts and yield their answers in order, each as soon as it is there.

        None of the arrays is read any more once the first answer was yielded. Whoever stops asking for answers closes
        the iterator, and no part works on the question then.

        Parameters
        ----------
        question : str
            What to do.
        common : mapping
            Arrays that every part gets.
        own : sequence of mapping
            For every answer the arrays that it alone needs; one per part, or as many as `shares` says.
        changed : mapping
            Where common arrays differ from those of the question before, if that is in few places: 0 for the first four
            numbers, 1 for the next four, and so on, in order. It says how little can be sent, and nothing else.

        Raises
        ------
        PartError
            If a part cannot answer, or its answer is none.
        KeyboardInterrupt
            If the run is to stop. No part works on the question then.
        """
        start = time.perf_counter()
        self._common_bytes = size_of(common)
        counted = Question()
        answered = 0
        using = 0.0  # seconds that the answers so far were used
        with closing(self._ask(question, common, own, changed)) as answers:
            for answer in answers:
                if answered == len(own):
                    raise PartError(f"{answered} answers were to come of {question}, and there are more")
                part = self.part_of(answered)
                check_arrays(answer, f"the answer of {self.name(part)}")
                counted.take(part, answer, own[answered], here=part == self.here)
                answered += 1
                came = time.perf_counter()
                counted.seconds, counted.using = came - start, using
                yield answer
                using += time.perf_counter() - came
        if answered < len(own):
            raise PartError(f"{len(own)} answers were to come of {question}, and {answered} have come")
        counted.sent += self._common_bytes * len(counted.work.keys() - {self.here})
        for tally in (self._whole, self._row):
            tally.count(counted, self.here)

    @abstractmethod
    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> Answers:
        """Do what `ask` promises, without checks."""

    def part_of(self, answer: int) -> int:
        """Return which part gives an answer of a question."""
        return answer

    def name(self, part: int) -> str:
        """Return what to call a part in messages."""
        return f"part {part}"

    @property
    def answering(self) -> int:
        """How many parts answer at the moment."""
        return self.parts

    def close(self) -> None:
        """Ask no more."""
        return

    def count_asked_again(self) -> None:
        """Count a part that had to be asked again."""
        for tally in (self._whole, self._row):
            tally.asked_again += 1

    def row(self) -> Row | None:
        """Return what has been counted since the last row of the trace; None where there is one process."""
        counted, self._row = self._row, Tally()
        return counted.values(self.answering)

    def summary(self) -> Row | None:
        """Return what has been counted altogether; None where there is one process."""
        return self._whole.values(self.answering)


class Alone(World):
    """One process, which asks nobody.

    Examples
    --------
    >>> Alone().native is None, Alone().row()
    (True, None)
    """

    parts = 1

    @property
    def native(self) -> None:
        """Return None: everything is a call."""
        return

    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> Answers:
        raise AssertionError("one process asks nobody")

    def row(self) -> None:
        """Return None: there is nothing to count."""

    def summary(self) -> None:
        """Return None: there is nothing to count."""


@dataclasses.dataclass
class Question:
    """What one question has cost.

    Attributes
    ----------
    sent, received : int
        Bytes.
    seconds : float
        From the question to its last answer.
    using : float
        Those of them in which the driver used answers that had come.
    work : dict
        For every part the seconds that each of its threads worked.
    """

    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    using: float = 0.0
    work: dict[int, NDArray[np.float64]] = dataclasses.field(default_factory=dict)

    def take(self, part: int, answer: Answer, own: Arrays, *, here: bool) -> None:
        """Count an answer of a part, to what it alone was asked."""
        seconds = answer.get(SECONDS, np.zeros(1))
        self.work[part] = self.work[part] + seconds if part in self.work else seconds
        if not here:
            self.sent += size_of(own)
            self.received += size_of(answer)


@dataclasses.dataclass
class Tally:
    """What questions have cost.

    Attributes
    ----------
    questions, sent, received : int
        Questions, and bytes in each direction.
    seconds : float
        From each question to its last answer.
    work, waiting : list of float
        For every part the seconds that its threads worked, and those that they did not while a question was open. The
        driver's threads do not wait while answers that have come are used.
    asked_again : int
        Parts that had to be asked again.
    """

    questions: int = 0
    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    work: list[float] = dataclasses.field(default_factory=list)
    waiting: list[float] = dataclasses.field(default_factory=list)
    asked_again: int = 0

    def count(self, question: Question, here: int | None) -> None:
        """Count a question; `here` is the part of the driver, if it has one."""
        self.questions += 1
        self.seconds += question.seconds
        self.sent += question.sent
        self.received += question.received
        for times in (self.work, self.waiting):
            times.extend([0.0] * (max(question.work, default=-1) + 1 - len(times)))
        for part, threads in question.work.items():
            busy = float(threads.sum())
            self.work[part] += busy
            used = question.using if part == here else 0.0
            self.waiting[part] += max(0.0, question.seconds * max(1, threads.size) - busy - used)

    def values(self, parts: int) -> Row:
        """Return it as the row of a trace has it.

        Examples
        --------
        >>> Tally().values(2)["questions"]
        0
        """
        return {"parts": parts, **dataclasses.asdict(self)}


def size_of(arrays: Arrays) -> int:
    """Return the bytes of arrays.

    Examples
    --------
    >>> size_of({"weights": np.zeros(3)})
    24
    """
    return sum(array.nbytes for array in arrays.values())


def check_arrays(arrays: Any, what: str) -> None:
    """Raise `PartError` unless these are arrays by name, of one dimension and a type that can travel.

    Examples
    --------
    >>> check_arrays({"weights": np.zeros((2, 2))}, "the answer of part 1")
    Traceback (most recent call last):
    marginloom.errors.PartError: the answer of part 1 has 'weights' with 2 dimensions, not 1
    """
    if not isinstance(arrays, Mapping):
        raise PartError(f"{what} is {type(arrays).__name__}, not arrays by name")
    for name, array in arrays.items():
        if not isinstance(name, str) or not isinstance(array, np.ndarray):
            raise PartError(f"{what} has {name!r}, which is no array with a name")
        if array.ndim != 1:
            raise PartError(f"{what} has {name!r} with {array.ndim} dimensions, not 1")
        if array.dtype.name not in TYPES:
            raise PartError(f"{what} has {name!r} of type {array.dtype.name}, not {', '.join(TYPES)}")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How another process gets the same task: from files, by the same command.

    Attributes
    ----------
    build : callable
        Returns task and run for a recipe; a function of a module, which other processes import.
    arguments : tuple of str
        The command line.
    folder : str
        Where names of files start.
    names : tuple of str
        All files that are read for training.
    """

    build: Callable[[Recipe], tuple[Task, RunSpec]]
    arguments: tuple[str, ...]
    folder: str
    names: tuple[str, ...]

    @property
    def files(self) -> dict[str, Path]:
        """The files by their names."""
        return {name: Path(self.folder, name) for name in self.names}


class Session(ABC):
    """A process among those of a cluster, for the time of a run with what goes before and after it.

    Attributes
    ----------
    drives : bool
        Whether this process drives. All others serve it.
    recipe : Recipe or None
        How others get the task, if it is from files.
    """

    drives: bool = True
    recipe: Recipe | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files from which the task was read, by their names."""
        return {} if self.recipe is None else self.recipe.files

    @property
    @abstractmethod
    def parts(self) -> int:
        """How many parts there are as the run begins."""

    @abstractmethod
    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> World:
        """Return the world, once all parts have said hello; called by the process that drives.

        Parameters
        ----------
        part : Part
            What this process would answer with.
        decided : mapping
            JSON values that the others need to make the same part.
        stop : StopFlag
            Once it is set, questions end with `KeyboardInterrupt`.
        """

    def serve(self, make_part: Callable[[Mapping[str, Any]], Part]) -> tuple[dict[str, Any], Answer]:
        """Answer questions until the run has ended, and return what the driver shares; called by all others."""
        raise AssertionError("this process drives")

    def share(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Give the others what has come out, as JSON values and arrays, which ends their service."""
        return


class Cluster(ABC):
    """Where the parts of a run are, as users name it: `marginloom.MPI` or `marginloom.Dask`."""

    @abstractmethod
    def session(self, recipe: Recipe | None = None) -> AbstractContextManager[Session]:
        """Take part; within a ``with`` block of a session this is the same session again.

        An exception that leaves the outermost block reaches the other processes too, so that nobody waits.
        """

    def __deepcopy__(self, memo: dict[int, Any]) -> Cluster:
        """Return itself: copies of an estimator train on the same cluster."""
        return self


class _AloneSession(Session):
    parts = 1

    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> World:
        return Alone()


def session_on(cluster: Cluster | None, recipe: Recipe | None = None) -> AbstractContextManager[Session]:
    """Return the session of a run, also for one that has no cluster.

    Examples
    --------
    >>> with session_on(None) as session:
    ...     session.drives, session.parts
    (True, 1)
    """
    check_cluster(cluster)
    return nullcontext(_AloneSession()) if cluster is None else cluster.session(recipe)


def check_cluster(cluster: Any) -> None:
    """Raise `InputError` if something is neither a cluster nor None.

    Examples
    --------
    >>> check_cluster("mpi")
    Traceback (most recent call last):
    marginloom.errors.InputError: cluster must be marginloom.MPI() or marginloom.Dask(...), not 'mpi'
    """
    if cluster is not None and not isinstance(cluster, Cluster):
        raise InputError(f"cluster must be marginloom.MPI() or marginloom.Dask(...), not {cluster!r}")
