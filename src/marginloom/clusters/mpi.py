"""Parts as the ranks of MPI: rank 0 drives and answers for its part, all others answer until they are told to end."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.changes import only_changes, with_changes
from marginloom.clusters.launcher import launched
from marginloom.clusters.messages import as_bytes, checked_description, description, reason_of
from marginloom.common.host_share import HostShare, sharing_host
from marginloom.common.threads import container_limit
from marginloom.errors import InputError, MarginloomError, PartError
from marginloom.training.interrupts import signals_held_back, signals_ignored
from marginloom.training.part import check_hellos
from marginloom.training.world import Alone, Answer, Arrays, Cluster, Recipe, Session, World, size_of

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from marginloom import _core
    from marginloom.training.part import Part

_INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Of messages from the driver and to it: what is to be done, then arrays.
_TO_DO, _GIVEN, _SAID, _FOUND = 1, 2, 3, 4

#: Looks for a message without a pause, and the longest pause between two looks, in seconds. A process that waits
#: without pauses takes a core from one that works.
_LOOKS, _LONGEST_PAUSE = 200, 1e-3
#: Seconds between two looks for a request to stop, while a question is being answered.
_STOP_INTERVAL = 0.02


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
        ranks = _Ranks.of_job()
        session = self._session = (_Driver if ranks.rank == 0 else _Follower)(ranks, recipe)
        try:
            with sharing_host(ranks.host_share()), _warnings_told_by(ranks.rank == 0), session:
                yield session
        finally:
            self._session = None


class _Ranks:
    """The ranks of the job, which talk about nothing but our questions here."""

    _of_job: _Ranks | None = None

    def __init__(self, communicator: Intracomm) -> None:
        self.communicator = communicator.Dup()
        self.rank = communicator.Get_rank()
        self.size = communicator.Get_size()
        self._hosts = self._gathered(np.frombuffer(socket.gethostname().encode()[:_NAME], dtype=np.uint8), _NAME)
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        mask = np.zeros(_CORES, dtype=np.uint8)
        mask[[core for core in cores if core < _CORES]] = 1
        self._cores = self._gathered(mask, _CORES)

    @classmethod
    def of_job(cls) -> _Ranks:
        """Return them, found out once; `InputError` if MPI is not there, or does not know of the other processes."""
        if cls._of_job is None:
            try:
                with warnings.catch_warnings():  # of mpi4py, about what is an error below
                    warnings.simplefilter("ignore", RuntimeWarning)
                    from mpi4py import MPI as library  # noqa: N811
            except (ImportError, RuntimeError) as error:
                raise InputError(
                    f"MPI cannot be used ({error}); install the extra with pip install 'marginloom[mpi]', and an MPI "
                    "library such as MPICH or Open MPI"
                ) from error
            size, variable = launched()
            if library.COMM_WORLD.Get_size() == 1 < size:
                raise InputError(
                    f"{variable} says that {size} processes were started, and each of them is alone in its MPI: the "
                    "launcher belongs to another MPI library than mpi4py uses; start them with that library's mpiexec"
                )
            cls._of_job = cls(library.COMM_WORLD)
        return cls._of_job

    def _gathered(self, own: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
        padded = np.zeros(length, dtype=np.uint8)
        padded[: own.size] = own
        everything = np.zeros((self.size, length), dtype=np.uint8)
        self.communicator.Allgather(padded, everything)
        return everything

    def name(self, rank: int) -> str:
        """Return a rank with its host."""
        return f"rank {rank} on {self._hosts[rank].tobytes().rstrip(bytes(1)).decode(errors='replace')}"

    def host_share(self) -> HostShare:
        """Return what this rank may take of its host: a core that several ranks may use is shared by them."""
        here = (self._hosts == self._hosts[self.rank]).all(axis=1)
        usable = self._cores[self.rank] > 0
        cores = float((1 / self._cores[here][:, usable].sum(axis=0, dtype=np.int64)).sum())
        processes = int(here.sum())
        return HostShare(processes, max(1, int(min(cores + 1e-9, container_limit() / processes))))

    def send(self, rank: int, kinds: tuple[int, int], header: Mapping[str, Any], arrays: Arrays) -> None:
        """Send JSON values and arrays to a rank; the two tags are those of `receive`."""
        text = json.dumps({**header, "arrays": description(arrays)}).encode()
        self.communicator.Send(np.frombuffer(text, dtype=np.uint8), rank, kinds[0])
        for array in arrays.values():
            self.communicator.Send(as_bytes(array), rank, kinds[1])

    def receive(self, rank: int, kinds: tuple[int, int]) -> tuple[dict[str, Any], Answer]:
        """Receive what a rank has begun to send."""
        from mpi4py import MPI as library  # noqa: N811

        status = library.Status()
        self.communicator.Probe(rank, kinds[0], status)
        text = np.empty(status.Get_count(library.BYTE), dtype=np.uint8)
        self.communicator.Recv(text, rank, kinds[0])
        header = json.loads(text.tobytes())
        arrays = {}
        for name, kind, size in checked_description(header.pop("arrays")):
            arrays[name] = np.empty(size, dtype=kind)
            self.communicator.Recv(as_bytes(arrays[name]), rank, kinds[1])
        return header, arrays

    def sender(self, kind: int) -> int | None:
        """Return a rank that has sent something; None if there is none at the moment."""
        from mpi4py import MPI as library  # noqa: N811

        status = library.Status()
        there = self.communicator.Iprobe(library.ANY_SOURCE, kind, status)
        return status.Get_source() if there else None

    def broadcast(self, array: NDArray[Any]) -> None:
        """Give all ranks an array of rank 0; called by all of them."""
        self.communicator.Bcast(as_bytes(array), 0)


_NAME, _CORES = 256, 4096


class _Pauses:
    """Pauses between looks for a message, short at first."""

    def __init__(self) -> None:
        self._looks = 0

    def pause(self) -> None:
        self._looks += 1
        if self._looks > _LOOKS:
            time.sleep(min(_LONGEST_PAUSE, 1e-6 * (self._looks - _LOOKS)))


class _MPISession(Session):
    def __init__(self, ranks: _Ranks, recipe: Recipe | None) -> None:
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

    def __init__(self, ranks: _Ranks, recipe: Recipe | None) -> None:
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
            self._ranks.send(rank, (_TO_DO, _GIVEN), header, arrays)


class _MPIWorld(World):
    """The ranks, as rank 0 asks them."""

    def __init__(self, ranks: _Ranks, part: Part, stop: _core.StopFlag) -> None:
        super().__init__()
        self._ranks = ranks
        self._part = part
        self._stop = stop
        self._open: set[int] = set()  # ranks whose answers are to come
        self._known: set[str] = set()  # common arrays that all ranks have from the last question

    @property
    def parts(self) -> int:
        return self._ranks.size

    def name(self, part: int) -> str:
        return self._ranks.name(part)

    def _sizes(self, own: Sequence[Arrays], answers: Sequence[Answer]) -> tuple[int, int]:
        return super()._sizes(own[1:], answers[1:])

    def _ask(self, question: str, common: Arrays, own: Sequence[Arrays], changed: Arrays) -> list[Answer]:
        sent, names = only_changes(common, {name: changed[name] for name in changed if name in self._known})
        self._known, self._common_bytes = set(common), size_of(sent)
        header = {"do": "answer", "question": question, "common": description(sent), "changed": names}
        with signals_held_back(*_INTERRUPTING):
            for rank in range(1, self._ranks.size):
                self._ranks.send(rank, (_TO_DO, _GIVEN), header, own[rank])
                self._open.add(rank)
            for array in sent.values():
                self._ranks.broadcast(np.ascontiguousarray(array))
        try:
            answers = {0: self._part.answer(question, common, own[0], self._stop)}
            while self._open:
                rank, header, answer = self._next_answer()
                if "error" in header:
                    raise PartError(f"{self.name(rank)}: {header['error']}")
                answers[rank] = answer
            if self._stop.is_set:
                raise KeyboardInterrupt
        except BaseException:
            with signals_held_back(*_INTERRUPTING):
                self.give_up()
            raise
        return [answers[rank] for rank in range(self._ranks.size)]

    def _next_answer(self) -> tuple[int, dict[str, Any], Answer]:
        """Wait for an answer of any rank."""
        pauses = _Pauses()
        while (rank := self._ranks.sender(_SAID)) is None:
            if self._stop.is_set:
                raise KeyboardInterrupt
            pauses.pause()
        with signals_held_back(*_INTERRUPTING):
            header, answer = self._ranks.receive(rank, (_SAID, _FOUND))
            self._open.discard(rank)
        return rank, header, answer

    def give_up(self) -> None:
        """Tell all ranks that still work on a question to stop, and wait until they have."""
        for rank in self._open:
            self._ranks.send(rank, (_TO_DO, _GIVEN), {"do": "stop"}, {})
        for rank in sorted(self._open):
            self._ranks.receive(rank, (_SAID, _FOUND))
        self._open.clear()


class _Follower(_MPISession):
    """A rank above 0."""

    drives = False

    def __init__(self, ranks: _Ranks, recipe: Recipe | None) -> None:
        super().__init__(ranks, recipe)
        self._serving = True
        self._known: Answer = {}  # common arrays of the last question

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
                    self._answer(executor, part, header, given)
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
                    self._receive_common(header)
                    self._say_error(error)
                elif header["do"] == "end":
                    self._serving = False
                    _tell_nobody(error)
                    return

    def _answer(self, executor: ThreadPoolExecutor, part: Part, header: dict[str, Any], own: Answer) -> None:
        from marginloom import _core

        common = self._receive_common(header)
        stop = _core.StopFlag()
        done = threading.Event()
        future = executor.submit(part.answer, header["question"], common, own, stop)
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_STOP_INTERVAL):
            if self._ranks.sender(_TO_DO) is not None:  # nothing else comes before there is an answer
                self._ranks.receive(0, (_TO_DO, _GIVEN))
                stop.set()
        error = future.exception()
        if error is None:
            self._ranks.send(0, (_SAID, _FOUND), {}, future.result())
        else:
            self._say_error(error)
            if not stop.is_set:
                raise error

    def _receive_common(self, header: dict[str, Any]) -> Answer:
        arrays = {}
        for name, kind, size in checked_description(header["common"]):
            last = self._known.get(name)
            again = last is not None and last.dtype.name == kind and last.size == size
            arrays[name] = last if last is not None and again else np.empty(size, dtype=kind)
            self._ranks.broadcast(arrays[name])
        self._known = with_changes(self._known, arrays, tuple(header["changed"]))
        return self._known

    def _next(self) -> tuple[dict[str, Any], Answer]:
        pauses = _Pauses()
        while self._ranks.sender(_TO_DO) is None:
            pauses.pause()
        return self._ranks.receive(0, (_TO_DO, _GIVEN))

    def _say_error(self, error: BaseException) -> None:
        self._ranks.send(0, (_SAID, _FOUND), {"error": reason_of(error)}, {})

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
