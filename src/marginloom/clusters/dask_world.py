"""The workers of a Dask cluster as a world: any of them answers for any part, and what does not come is asked again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.dask_tasks import Asked, Tasks, no_worker, workers_of
from marginloom.clusters.messages import packed
from marginloom.errors import ClusterWarning, PartError
from marginloom.training.part import HELLO, check_hello
from marginloom.training.world import Answer, Answers, Arrays, World

#: Seconds for which what the scheduler says of its workers is taken as true.
_FRESH = 0.5
#: How often a part is asked before the run ends.
_MOST_ATTEMPTS = 20


class DaskWorld(World):
    """The workers of a cluster.

    Parameters
    ----------
    tasks : Tasks
        How questions are put.
    identity : mapping
        Of the part in this process, with which all must agree.
    answer_timeout : float
        Seconds after which another worker is asked too.
    """

    def __init__(self, tasks: Tasks, identity: Mapping[str, Any], answer_timeout: float) -> None:
        super().__init__()
        self._tasks = tasks
        self._workers = Workers(tasks, identity, answer_timeout)
        self._answer_timeout = answer_timeout

    @property
    def parts(self) -> int:
        """The workers that answer at the moment, and 1 if there is none."""
        return max(1, self.answering)

    @property
    def answering(self) -> int:
        """How many workers answer at the moment."""
        return len(self._workers.usable)

    def greet_all(self) -> None:
        """Wait until all workers that there are have said hello; `PartError` if one is not like this process."""
        self._workers.greet_all()

    def close(self) -> None:
        """Let the workers forget the task."""
        self._workers.close()

    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> Answers:
        asking = _Question(self._tasks, self._workers, question, packed({}, common), [packed({}, part) for part in own])
        try:
            while asking.missing:
                self._workers.look()
                if late := asking.late(self._answer_timeout):
                    self._workers.suspect(late, asking.holder)
                    asking.place_again()
                if lost := asking.lost():
                    self._tasks.cancel(lost)
                    asking.place_again()
                for _ in range(asking.put()):
                    self.count_asked_again()
                self._tasks.wait()
                while asking.take():  # what has come while others were used is not late
                    yield from asking.next_in_order()
        finally:
            asking.end()


class _Question:
    """A question to all parts, until each has its first answer."""

    def __init__(
        self,
        tasks: Tasks,
        workers: Workers,
        question: str,
        common: NDArray[np.uint8],
        own: Sequence[NDArray[np.uint8]],
    ) -> None:
        self._tasks = tasks
        self._workers = workers
        self._question = question
        self._common = common
        self._own = own
        self._asked: list[Asked] = []
        self._answers: dict[int, Answer] = {}
        self._attempts = [0] * len(own)
        self._placed: Any = None  # the common arrays on a worker
        self.holder = ""  # which one
        self._yielded = 0  # answers that were passed on

    @property
    def missing(self) -> bool:
        """Whether an answer is to come."""
        return len(self._answers) < len(self._own)

    def late(self, seconds: float) -> list[Asked]:
        """Return what has not come in time, for the first time, if there is somebody else to ask."""
        if not self._workers.has_several:
            return []
        start = time.monotonic() - seconds
        late = [one for one in self._asked if not one.late and one.since < start]
        for one in late:
            one.late = True
        return late

    def lost(self) -> list[Asked]:
        """Return what was lost, and wait for it no more."""
        lost = [one for one in self._asked if one.lost or not self._workers.has(one.worker)]
        self._asked = [one for one in self._asked if one not in lost]
        return lost

    def place_again(self) -> None:
        """Bring the common arrays to another worker: where they were, they may be lost."""
        self._placed = None

    def put(self) -> int:
        """Ask for what nobody works on, if there is a worker, and return for how many parts it was not the first time.

        Raises
        ------
        PartError
            If a part was asked too often.
        """
        waited_for = {one.part for one in self._asked if not one.late}
        parts = [part for part in range(len(self._own)) if part not in self._answers and part not in waited_for]
        usable = self._workers.usable
        if not parts or not usable:
            return 0
        timeout = self._workers.answer_timeout
        if self._placed is None:
            self.holder = usable[max(self._attempts) % len(usable)]
            self._placed = self._tasks.placed(self._common, self.holder, timeout)
            if self._placed is None:
                return 0
        for part in parts:
            worker = usable[(part + self._attempts[part]) % len(usable)]
            own = self._tasks.placed(self._own[part], worker, timeout)
            if own is None:
                continue
            self._attempts[part] += 1
            if self._attempts[part] > _MOST_ATTEMPTS:
                raise PartError(f"part {part} was asked to {self._question} {_MOST_ATTEMPTS} times, without an answer")
            processes = self._workers.beside(worker)
            self._asked.append(self._tasks.put(self._question, part, worker, self._placed, own, processes))
        return sum(self._attempts[part] > 1 for part in parts)

    def take(self) -> bool:
        """Take the answers that have come, and say whether there are any."""
        before = len(self._answers)
        for one in [one for one in self._asked if one.done]:
            if one.part not in self._answers:
                self._answers[one.part] = one.opened(self._workers.name(one.worker))
        return len(self._answers) > before

    def next_in_order(self) -> Iterator[Answer]:
        """Yield the answers that follow those that were yielded, as far as they have come."""
        while self._yielded in self._answers:
            self._yielded += 1
            yield self._answers[self._yielded - 1]

    def end(self) -> None:
        """Let go of everything."""
        self._tasks.cancel(self._asked)


class Workers:
    """Who is there, and who of them has said hello and gets work.

    Attributes
    ----------
    usable : list of str
        Addresses of those that get work.
    """

    def __init__(self, tasks: Tasks, identity: Mapping[str, Any], answer_timeout: float) -> None:
        self.usable: list[str] = []
        self.answer_timeout = answer_timeout
        self._tasks = tasks
        self._identity = identity
        self._there: dict[str, dict[str, Any]] = {}
        self._looked = self._last_usable = time.monotonic()
        self._greeting: dict[str, Asked] = {}
        self._rejected: set[str] = set()
        self._beginning = True

    def has(self, worker: str) -> bool:
        """Tell whether a worker is there, as far as the scheduler knows."""
        return worker in self._there

    @property
    def has_several(self) -> bool:
        """Whether there is somebody else to ask, now or soon."""
        return len(self.usable) + len(self._greeting) > 1

    def name(self, worker: str) -> str:
        """Return what to call a worker in messages."""
        host = str(self._there.get(worker, {}).get("host", ""))
        return worker if not host or host in worker else f"{worker} on {host}"

    def beside(self, worker: str) -> int:
        """Return how many workers there are on the host of one."""
        host = self._there.get(worker, {}).get("host")
        same = [worker for worker, info in self._there.items() if info.get("host") == host]
        return max(1, len(same))

    def greet_all(self) -> None:
        """Wait until all workers that are there at first have said hello."""
        start = time.monotonic()
        self._look_at_scheduler()
        while self._greeting or not self.usable:
            self.look()
            if self.usable and time.monotonic() - start > self.answer_timeout:
                names = ", ".join(self.name(worker) for worker in self._greeting)
                _warn(f"training begins without {names}, which has not answered for {self.answer_timeout:g} s")
                break
            self._tasks.wait()
        self._beginning = False

    def look(self) -> None:
        """Find out who has come and gone; `PartError` if nobody has been there for too long."""
        if time.monotonic() - self._looked > _FRESH:
            self._look_at_scheduler()
        for worker, hello in list(self._greeting.items()):
            if hello.answer.done():
                del self._greeting[worker]
                self._take_up(worker, hello)
        if self.usable:
            self._last_usable = time.monotonic()
        elif time.monotonic() - self._last_usable > self.answer_timeout:
            raise no_worker(self._tasks.client, self.answer_timeout)

    def _look_at_scheduler(self) -> None:
        self._there = workers_of(self._tasks.client)
        self._looked = time.monotonic()
        for worker in [worker for worker in self.usable if worker not in self._there]:
            self.usable.remove(worker)
            _warn(f"the worker {worker} was lost; its work is done by others")
        for worker in [worker for worker in self._greeting if worker not in self._there]:
            self._tasks.cancel([self._greeting.pop(worker)])
        for worker in self._there:
            if worker not in {*self.usable, *self._greeting, *self._rejected}:
                self._greet(worker)

    def _greet(self, worker: str) -> None:
        if worker not in self._greeting:
            nothing = packed({}, {})
            self._greeting[worker] = self._tasks.put(HELLO, 0, worker, nothing, nothing, self.beside(worker))

    def _take_up(self, worker: str, hello: Asked) -> None:
        if hello.lost:
            return  # greeted again, if it is still there
        name = f"the worker {self.name(worker)}"
        try:
            check_hello(hello.opened(self.name(worker)), name, self._identity, "this process")
        except PartError as error:
            if self._beginning:
                raise
            self._rejected.add(worker)
            _warn(f"{error}; it gets no work")
        else:
            self.usable.append(worker)
            self.usable.sort()

    def suspect(self, late: Sequence[Asked], holder: str) -> None:
        """Ask nothing more of a worker that hangs until it says hello again.

        One that holds the common arrays and does not answer keeps all others from working.
        """
        hanging = {one.worker for one in late}
        for worker in {holder} if holder in hanging else hanging:
            if worker in self.usable:
                self.usable.remove(worker)
                self._greet(worker)
                seconds = f"{self.answer_timeout:g} s"
                _warn(f"the worker {self.name(worker)} has not answered for {seconds}; another is asked too")

    def close(self) -> None:
        """Let all forget the task."""
        self._tasks.cancel(list(self._greeting.values()))
        self._greeting.clear()
        self._tasks.let_forget(self.usable)


def _warn(text: str) -> None:
    warnings.warn(ClusterWarning(text), stacklevel=4)
