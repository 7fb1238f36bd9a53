"""Parts as the ranks of MPI: rank 0 drives and answers for its part, all others answer until they are told to end."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from marginloom.clusters.changes import only_changes, with_changes
from marginloom.clusters.messages import checked_description, description, reason_of
from marginloom.clusters.pace import Pace, seconds_of
from marginloom.clusters.ranks import Pauses, Ranks, Sending, wait_for
from marginloom.common.host_share import sharing_host
from marginloom.errors import InputError, MarginloomError, PartError
from marginloom.training.interrupts import signals_held_back, signals_ignored
from marginloom.training.part import check_hellos
from marginloom.training.world import Alone, Answer, Answers, Arrays, Cluster, Recipe, Session, World, size_of

if TYPE_CHECKING:
    from marginloom import _core
    from marginloom.training.part import Part

_INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Of messages from the driver and to it: what is to be done, what a part alone is asked, and what was found.
_TO_DO, _OWN, _FOUND = 1, 2, 3

#: Seconds between two looks for a request to stop, while a question is being answered.
_STOP_INTERVAL = 0.02
#: The same while an answer is on its way, which may need this process to be sent.
_SEND_INTERVAL = 5e-4


class MPI(Cluster):
    """All processes that ``mpiexec`` has started, each with a part.

    Every process runs the same program. Within `fit` or `train` rank 0 drives, with its callbacks and files, and the
    others answer questions. All return with the same result, so that the program goes on alike; save on one rank only.

    Examples
    --------
    Started by ``mpiexec -n 4 python -m mpi4py train.py``, which also ends all processes if one fails elsewhere:

    >>> from marginloom import MPI, SequenceTagger
    >>> tagger = SequenceTagger("ms-dcd", cluster=MPI())
    """

    def __init__(self) -> None:
        self._session: _MPISession | None = None

    def __repr__(self) -> str:
        return "MPI()"

    def __getstate__(self) -> dict[str, Any]:
        return {"_session": None}

    @contextmanager
    def session(self, recipe: Recipe | None = None) -> Iterator[Session]:
        """Take part with all processes of the job; see `Cluster.session`."""
        if self._session is not None:
            yield self._session
            return
        ranks = Ranks.of_job()
        session = self._session = (_Driver if ranks.rank == 0 else _Follower)(ranks, recipe)
        try:
            with sharing_host(ranks.host_share()), _warnings_told_by(ranks.rank == 0), session:
                yield session
        finally:
            self._session = None


class _MPISession(Session):
    def __init__(self, ranks: Ranks, recipe: Recipe | None) -> None:
        self._ranks = ranks
        self.recipe = recipe

    @property
    def parts(self) -> int:
        return self._ranks.size

    def __enter__(self) -> _MPISession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        raise NotImplementedError


class _Driver(_MPISession):
    """Rank 0."""

    def __init__(self, ranks: Ranks, recipe: Recipe | None) -> None:
        super().__init__(ranks, recipe)
        self._serving = ranks.size > 1
        self._world: _MPIWorld | None = None

    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> World:
        if self._ranks.size == 1:
            return Alone()
        if not self._serving:
            raise InputError("the other processes have been told to end")
        self._tell({"do": "begin", "decided": dict(decided)}, {})
        self._world = _MPIWorld(self._ranks, part, stop)
        check_hellos(self._world, part.identity, self._ranks.name(0))
        return self._world

    def share(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        if self._serving:
            with signals_held_back(*_INTERRUPTING):
                self._tell({"do": "take", "result": dict(header)}, arrays)
            self._serving = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self._serving:
            return
        with signals_held_back(*_INTERRUPTING):
            if self._world is not None:
                self._world.give_up()
            interrupted = isinstance(error, KeyboardInterrupt)
            self._tell({"do": "end", "interrupted": interrupted, "reason": reason_of(error)}, {})
        self._serving = False

    def _tell(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        for rank in range(1, self._ranks.size):
            self._ranks.send(rank, _TO_DO, header, arrays)


class _MPIWorld(World):
    """The ranks, as rank 0 asks them."""

    here = 0

    def __init__(self, ranks: Ranks, part: Part, stop: _core.StopFlag) -> None:
        super().__init__()
        self._ranks = ranks
        self._part = part
        self._stop = stop
        self._open: dict[int, int] = {}  # how many answers are to come of a rank
        self._come: dict[int, deque[Answer]] = defaultdict(deque)  # those that nobody has used so far
        self._sending: list[Sending] = []
        self._paces: dict[str, Pace] = defaultdict(lambda: Pace(ranks.size))
        self._known: set[str] = set()  # common arrays that all ranks have from the last question

    @property
    def parts(self) -> int:
        return self._ranks.size

    def name(self, part: int) -> str:
        return self._ranks.name(part)

    def shares(self, question: str) -> list[float]:
        return self._paces[question].shares()

    def part_of(self, answer: int) -> int:
        return 1 + (answer - 1) % (self._ranks.size - 1) if answer else 0

    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> Answers:
        try:
            self._put(question, common, own, changed)
            work = using = 0.0
            for number in range(len(own)):
                answer = self._next_answer(self.part_of(number)) if number else self._first(question, common, own[0])
                work += seconds_of(answer)
                came = time.thread_time()  # not what other programs take away from it
                yield answer
                using += time.thread_time() - came
            self._paces[question].count(work, using)
        finally:
            if any(self._open.values()):
                with signals_held_back(*_INTERRUPTING):
                    self.give_up()

    def _put(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> None:
        sent, names = only_changes(common, {name: changed[name] for name in changed if name in self._known})
        self._known, self._common_bytes = set(common), size_of(sent)
        others = self._ranks.size - 1
        header = {"do": "answer", "question": question, "common": description(sent), "changed": names}
        with signals_held_back(*_INTERRUPTING):
            wait_for(self._sending)  # all ranks have what they were asked before
            for rank in range(1, self._ranks.size):
                wanted = own[rank::others]
                self._open[rank] = len(wanted)
                self._ranks.send(rank, _TO_DO, {**header, "answers": len(wanted)}, {})
                for arrays in wanted:
                    self._ranks.send(rank, _OWN, {}, arrays)
            for array in sent.values():
                self._sending.append(self._ranks.begin_to_broadcast(np.ascontiguousarray(array)))

    def _first(self, question: str, common: Arrays, own: Arrays) -> Answer:
        """Answer for the part of this process while the others begin; common arrays may change from then on."""
        answer = self._part.answer(question, common, own, self._stop)
        wait_for(self._sending)
        return answer

    def _next_answer(self, rank: int) -> Answer:
        """Wait for the next answer of a rank; `PartError` if any rank has an error."""
        pauses = Pauses()
        while not self._come[rank]:
            if self._stop.is_set:
                raise KeyboardInterrupt
            sender = self._ranks.sender(_FOUND)
            if sender is None:
                pauses.pause()
                continue
            with signals_held_back(*_INTERRUPTING):
                header, answer = self._receive(sender)
            if "error" in header:
                raise PartError(f"{self.name(sender)}: {header['error']}")
            self._come[sender].append(answer)
        if self._stop.is_set:
            raise KeyboardInterrupt
        return self._come[rank].popleft()

    def _receive(self, rank: int) -> tuple[dict[str, Any], Answer]:
        header, answer = self._ranks.receive(rank, _FOUND)
        self._open[rank] = 0 if "error" in header else self._open[rank] - 1  # an error is the last that a rank says
        return header, answer

    def give_up(self) -> None:
        """Tell all ranks that still work on a question to stop, and wait until they have."""
        busy = [rank for rank, answers in self._open.items() if answers]
        for rank in busy:
            self._ranks.send(rank, _TO_DO, {"do": "stop"}, {})
        for rank in busy:
            while self._open[rank]:
                self._receive(rank)
        self._come.clear()


class _Follower(_MPISession):
    """A rank above 0."""

    drives = False

    def __init__(self, ranks: Ranks, recipe: Recipe | None) -> None:
        super().__init__(ranks, recipe)
        self._serving = True
        self._known: Answer = {}  # common arrays of the last question
        self._sending: list[Sending] = []

    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> NoReturn:
        raise AssertionError("this process serves")

    def serve(self, make_part: Callable[[Mapping[str, Any]], Part]) -> tuple[dict[str, Any], Answer]:
        with signals_ignored(*_INTERRUPTING), ThreadPoolExecutor(1) as executor:
            part: Part | None = None
            while True:
                header, given = self._next()
                if header["do"] == "begin":
                    part = make_part(header["decided"])
                elif header["do"] == "answer":
                    assert part is not None
                    self._answer(executor, part, header)
                elif header["do"] == "take":
                    self._serving = False
                    return header["result"], given
                elif header["do"] == "end":
                    self._end(header)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Let the driver know of an error, whenever it asks next."""
        if not self._serving:
            return
        if error is None:
            error = PartError("this process has left before training began")
        if not isinstance(error, MarginloomError) and os.environ.get("MARGINLOOM_TRACEBACK"):
            traceback.print_exception(error, file=sys.__stderr__)
        with signals_ignored(*_INTERRUPTING):
            while True:
                header, _ = self._next()
                if header["do"] == "answer":
                    self._receive_question(header)
                    self._say_error(error)
                elif header["do"] == "end":
                    self._serving = False
                    _tell_nobody(error)
                    return

    def _answer(self, executor: ThreadPoolExecutor, part: Part, header: dict[str, Any]) -> None:
        from marginloom import _core

        own, common = self._receive_question(header)
        stop = _core.StopFlag()
        answers: SimpleQueue[Answer | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                for arrays in own:
                    answers.put(part.answer(header["question"], common, arrays, stop))
            except BaseException as error:  # which is raised by whoever takes it
                answers.put(error)

        executor.submit(work)
        for _ in own:
            answer = self._next_of(answers, stop)
            if isinstance(answer, BaseException):
                self._say_error(answer)
                if not stop.is_set:
                    raise answer
                return
            self._sending.append(self._ranks.begin_to_send(0, _FOUND, answer))

    def _next_of(self, answers: SimpleQueue[Answer | BaseException], stop: _core.StopFlag) -> Answer | BaseException:
        while True:
            self._sending = [(request, message) for request, message in self._sending if not request.Test()]
            try:
                return answers.get(timeout=_SEND_INTERVAL if self._sending else _STOP_INTERVAL)
            except Empty:
                if self._ranks.sender(_TO_DO) is not None:  # nothing else comes before all answers were sent
                    self._ranks.receive(0, _TO_DO)
                    stop.set()

    def _receive_question(self, header: dict[str, Any]) -> tuple[list[Answer], Answer]:
        wait_for(self._sending)  # rank 0 has all answers to the last question, or it would not ask again
        own = [self._ranks.receive(0, _OWN)[1] for _ in range(header["answers"])]
        arrays = {}
        receiving = []
        for name, kind, size in checked_description(header["common"]):
            last = self._known.get(name)
            again = last is not None and last.dtype.name == kind and last.size == size
            arrays[name] = last if last is not None and again else np.empty(size, dtype=kind)
            receiving.append(self._ranks.begin_to_broadcast(arrays[name]))
        wait_for(receiving)
        self._known = with_changes(self._known, arrays, tuple(header["changed"]))
        return own, self._known

    def _next(self) -> tuple[dict[str, Any], Answer]:
        pauses = Pauses()
        while self._ranks.sender(_TO_DO) is None:
            pauses.pause()
        return self._ranks.receive(0, _TO_DO)

    def _say_error(self, error: BaseException) -> None:
        self._ranks.send(0, _FOUND, {"error": reason_of(error)}, {})

    def _end(self, header: Mapping[str, Any]) -> NoReturn:
        self._serving = False
        if header["interrupted"]:
            raise KeyboardInterrupt
        raise _tell_nobody(PartError(f"{self._ranks.name(0)} has ended training: {header['reason']}"))


@contextmanager
def _warnings_told_by(this_rank: bool) -> Iterator[None]:
    """Leave warnings to rank 0, which has the same data and settings."""
    with warnings.catch_warnings() if not this_rank else nullcontext():
        if not this_rank:
            warnings.simplefilter("ignore")
        yield


def _tell_nobody(error: BaseException) -> BaseException:
    """Let an error that rank 0 tells end this process without words, if nobody catches it."""
    if isinstance(error, MarginloomError):
        error.__dict__["told_elsewhere"] = True
        if sys.excepthook is not _show_unless_told:
            _shown_before.append(sys.excepthook)
            sys.excepthook = _show_unless_told
    return error


_shown_before: list[Callable[[type[BaseException], BaseException, TracebackType | None], Any]] = []


def _show_unless_told(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if not getattr(error, "told_elsewhere", False):
        _shown_before[-1](kind, error, where)
