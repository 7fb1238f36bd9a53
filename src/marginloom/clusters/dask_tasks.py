"""Questions as tasks of a Dask cluster: put, fetched and cancelled without ever waiting for one of them."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import threading
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future as Pending
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.dask_worker import Order, answer, forget
from marginloom.clusters.messages import unpacked
from marginloom.errors import PartError
from marginloom.training.world import Answer, Recipe

if TYPE_CHECKING:
    from distributed import Client, Future

    from marginloom import _core

#: Seconds between two looks at whether something has changed while nothing comes.
LOOK_INTERVAL = 0.05
#: Bytes from which a message does not go with its task, but ahead of it.
_LARGE = 1 << 18


@dataclasses.dataclass(eq=False)
class Asked:
    """A question that a worker has got.

    Attributes
    ----------
    part : int
        Which part it was asked for.
    worker : str
        Address of the worker.
    task : Future
        The task on the cluster.
    answer : Future
        What it gives, once it is here.
    since : float
        When it was asked.
    late : bool
        Whether another worker was asked too.
    """

    part: int
    worker: str
    task: Future[Any]
    answer: Pending[Any]
    since: float
    late: bool = False

    @property
    def lost(self) -> bool:
        """Whether it was lost with its worker, or with what it needed."""
        return self.answer.done() and (
            self.answer.cancelled() or isinstance(self.answer.exception(), _infrastructure_errors())
        )

    @property
    def done(self) -> bool:
        """Whether there is an answer, be it an error."""
        return self.answer.done() and not self.lost

    def opened(self, name: str) -> Answer:
        """Return the answer; `PartError` with the words of the worker, which is called `name`, if it is an error."""
        error = self.answer.exception()
        if error is not None:
            raise PartError(f"the worker {name}: {type(error).__name__}: {first_line(error)}")
        header, arrays = unpacked(self.answer.result())
        if "error" in header:
            raise PartError(f"the worker {name}: {header['error']}")
        return arrays


def _infrastructure_errors() -> tuple[type[BaseException], ...]:
    """Return the errors that say nothing of the question; its own are part of the answer."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    return KilledWorker, FutureCancelledError, OSError, asyncio.TimeoutError


class Tasks:
    """Questions about one part, put to the workers of a cluster.

    Parameters
    ----------
    client : Client
        Connected to the scheduler.
    recipe : Recipe
        How a worker gets the task.
    decided : mapping
        What the recipe does not say.
    stop : StopFlag
        Ends waiting.
    direct : bool
        Whether this process can reach the workers, and not only the scheduler.
    """

    def __init__(
        self, client: Client, recipe: Recipe, decided: Mapping[str, Any], stop: _core.StopFlag, *, direct: bool
    ) -> None:
        self.client = client
        self._order = Order(recipe, json.dumps(decided))
        self._stop = stop
        self._direct: bool | None = direct or None
        self._run = uuid.uuid4().hex  # keys are never used again, not even by another process
        self._numbers = itertools.count()
        self._something_came = threading.Event()

    def put(self, question: str, part: int, worker: str, common: Any, own: Any, processes: int) -> Asked:
        """Ask a worker; the messages may be placed ones."""
        task = self.client.submit(
            answer,
            self._order,
            question,
            common,
            own,
            processes,
            workers=[worker],
            allow_other_workers=False,
            pure=False,
            retries=0,
            key=self._key(question),
        )
        return Asked(part, worker, task, self._begun(self._fetched(task)), time.monotonic())

    def placed(self, message: NDArray[np.uint8], worker: str, timeout: float) -> Any:
        """Bring a message to a worker, from which the others get it; None if that does not take it in time."""
        if message.size <= _LARGE:
            return message
        pending = self._begun(self._scattered(message, worker))
        deadline = time.monotonic() + timeout
        try:
            while not pending.done():
                self.wait()
                if time.monotonic() > deadline:
                    return None
            lost = pending.cancelled() or pending.exception() is not None
            return None if lost else pending.result()
        finally:
            pending.cancel()

    def cancel(self, asked: Sequence[Asked]) -> None:
        """Let go of questions, whether they were answered or not."""
        if not asked:
            return
        with suppress(Exception):  # the scheduler may be gone
            self._begun(self._cancelled([one.task for one in asked]))

    def let_forget(self, workers: Sequence[str]) -> None:
        """Let workers give back the memory of the part."""
        with suppress(Exception):  # they may be gone
            from distributed import fire_and_forget

            for worker in workers:
                fire_and_forget(
                    self.client.submit(
                        forget, self._order.digest, workers=[worker], pure=False, key=self._key("forget")
                    )
                )

    def wait(self) -> None:
        """Wait a little, or until something has come; `KeyboardInterrupt` if the run is to stop."""
        self._something_came.wait(LOOK_INTERVAL)
        self._something_came.clear()
        if self._stop.is_set:
            raise KeyboardInterrupt

    def _key(self, question: str) -> str:
        return f"marginloom-{question}-{self._run}-{next(self._numbers)}"

    def _begun(self, work: Coroutine[Any, Any, Any]) -> Pending[Any]:
        """Begin what the client does in its own thread."""
        pending = asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)
        pending.add_done_callback(lambda _: self._something_came.set())
        return pending

    async def _fetched(self, task: Future[Any]) -> Any:
        return await self.client.gather(task, direct=self._direct, asynchronous=True)

    async def _scattered(self, message: NDArray[np.uint8], worker: str) -> Any:
        return await self.client.scatter(
            message, workers=[worker], broadcast=False, hash=False, direct=self._direct, asynchronous=True
        )

    async def _cancelled(self, tasks: list[Future[Any]]) -> None:
        await self.client.cancel(tasks, force=True, asynchronous=True)


def workers_of(client: Client) -> dict[str, dict[str, Any]]:
    """Return what the scheduler says of its workers, by their addresses; none if it does not answer."""
    try:
        return dict(client.scheduler_info(n_workers=-1)["workers"])
    except (TimeoutError, OSError, RuntimeError):
        return {}


def no_worker(client: Client, seconds: float) -> PartError:
    """Return the error for a cluster without workers."""
    address = "its address" if client.scheduler is None else client.scheduler.address
    return PartError(f"no worker of the scheduler at {address} has answered for {seconds:g} s")


def first_line(error: BaseException) -> str:
    r"""Return what an error says, in a line.

    Examples
    --------
    >>> first_line(ValueError("it is\nlong")), first_line(TimeoutError())
    ('it is', 'TimeoutError')
    """
    return str(error).partition("\n")[0] or type(error).__name__
