"""The ranks of a job of MPI, and the messages between them."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.launcher import launched
from marginloom.clusters.messages import as_bytes, packed, unpacked
from marginloom.common.host_share import HostShare
from marginloom.common.threads import container_limit
from marginloom.errors import InputError
from marginloom.training.world import Answer, Arrays

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

#: Bytes of a host's name, and numbers of cores, that ranks tell each other.
NAME, CORES = 256, 4096
#: Looks for a message without a pause, and the longest pause between two looks, in seconds. A process that waits
#: without pauses takes a core from one that works.
_LOOKS, _LONGEST_PAUSE = 200, 1e-3

#: What is on its way, with the memory from which it is sent.
Sending: TypeAlias = "tuple[Request, NDArray[np.uint8]]"


class Ranks:
    """The ranks of the job, which talk about nothing but our questions here."""

    _of_job: Ranks | None = None

    def __init__(self, communicator: Intracomm) -> None:
        self.communicator = communicator.Dup()
        self.rank = communicator.Get_rank()
        self.size = communicator.Get_size()
        self._hosts = self._gathered(np.frombuffer(socket.gethostname().encode()[:NAME], dtype=np.uint8), NAME)
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        mask = np.zeros(CORES, dtype=np.uint8)
        mask[[core for core in cores if core < CORES]] = 1
        self._cores = self._gathered(mask, CORES)

    @classmethod
    def of_job(cls) -> Ranks:
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

    def send(self, rank: int, kind: int, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Send JSON values and arrays to a rank."""
        self.communicator.Send(packed(header, arrays), rank, kind)

    def begin_to_send(self, rank: int, kind: int, arrays: Arrays) -> Sending:
        """Begin to send arrays to a rank, which may take them later."""
        message = packed({}, arrays)
        return self.communicator.Isend(message, rank, kind), message

    def receive(self, rank: int, kind: int) -> tuple[dict[str, Any], Answer]:
        """Receive what a rank has begun to send."""
        from mpi4py import MPI as library  # noqa: N811

        status = library.Status()
        self.communicator.Probe(rank, kind, status)
        message = np.empty(status.Get_count(library.BYTE), dtype=np.uint8)
        self.communicator.Recv(message, rank, kind)
        return unpacked(message)

    def sender(self, kind: int) -> int | None:
        """Return a rank that has sent something; None if there is none at the moment."""
        from mpi4py import MPI as library  # noqa: N811

        status = library.Status()
        there = self.communicator.Iprobe(library.ANY_SOURCE, kind, status)
        return status.Get_source() if there else None

    def begin_to_broadcast(self, array: NDArray[Any]) -> Sending:
        """Begin to give all ranks an array of rank 0; called by all of them."""
        message = as_bytes(array)
        return self.communicator.Ibcast(message, 0), message


def wait_for(sending: list[Sending]) -> None:
    """Wait until all of it has arrived or left, and forget it."""
    for request, _ in sending:
        request.Wait()
    sending.clear()


class Pauses:
    """Pauses between looks for a message, short at first."""

    def __init__(self) -> None:
        self._looks = 0

    def pause(self) -> None:
        """Let other processes work for a moment."""
        self._looks += 1
        if self._looks > _LOOKS:
            time.sleep(min(_LONGEST_PAUSE, 1e-6 * (self._looks - _LOOKS)))
