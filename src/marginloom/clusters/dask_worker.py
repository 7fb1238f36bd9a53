"""What a Dask worker does: it makes the task of a run when it is asked for the first time, and keeps it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.messages import check_finite, packed, reason_of, unpacked
from marginloom.common.host_share import HostShare, sharing_host
from marginloom.common.threads import available_cores
from marginloom.training.part import Part
from marginloom.training.plan import Decided, make_plan
from marginloom.training.world import Recipe

#: Parts that a worker keeps: a cluster may be used by another run too.
_MOST_KEPT = 2


class _Kept:
    """A part, of which one thread at a time asks something."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.part: Part | None = None


_kept: OrderedDict[str, _Kept] = OrderedDict()
_kept_lock = threading.Lock()
#: Reading changes the working folder and what is done with warnings: one run at a time.
_reading = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Order:
    """How a worker makes a part.

    Attributes
    ----------
    recipe : Recipe
        How it gets the task.
    decided : str
        JSON of what the recipe does not say, see `Decided`.
    """

    recipe: Recipe
    decided: str

    @property
    def digest(self) -> str:
        """Identify the part."""
        text = json.dumps([self.recipe.arguments, self.recipe.folder, self.recipe.names, self.decided])
        return hashlib.sha256(text.encode()).hexdigest()


def answer(
    order: Order, question: str, common: NDArray[np.uint8], own: NDArray[np.uint8], processes: int
) -> NDArray[np.uint8]:
    """Answer a question, all in messages; what goes wrong is an answer too.

    Parameters
    ----------
    order : Order
        How the part is made.
    question : str
        What is asked.
    common, own : array
        Arrays, packed.
    processes : int
        Workers on this host.
    """
    try:
        with _kept_lock:
            kept = _kept.setdefault(order.digest, _Kept())
            _kept.move_to_end(order.digest)
            while len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
        with kept.lock:
            kept.part = kept.part or _part(order, processes)
            arrays = unpacked(common)[1]
            check_finite(arrays)
            return packed({}, kept.part.answer(question, arrays, unpacked(own)[1]))
    except Exception as error:
        return packed({"error": reason_of(error)}, {})


def forget(digest: str) -> None:
    """Give back the memory of a part that is needed no more."""
    with _kept_lock:
        _kept.pop(digest, None)


def _part(order: Order, processes: int) -> Part:
    with _reading, sharing_host(_host_share(processes)):
        task, spec = order.recipe.build(order.recipe)
        plan = make_plan(task, spec, Decided.from_stored(json.loads(order.decided)))
        return Part(task, plan, order.recipe.files)


def _host_share(processes: int) -> HostShare:
    """Return what the cluster leaves to this worker, and its host to all workers."""
    from distributed import get_worker

    worker: Any = get_worker()
    cores = max(1, min(worker.state.nthreads, available_cores() // processes))
    return HostShare(processes, cores, worker.memory_manager.memory_limit)
