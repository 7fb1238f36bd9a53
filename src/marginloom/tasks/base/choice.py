"""Which algorithm `auto` stands for: every task has a fixed rule, made of what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

#: Threads from which searching on all of them makes up for the waiting at barriers.
MANY_THREADS = 8


@dataclasses.dataclass(frozen=True)
class Circumstances:
    """What a rule may look at besides the task: the same ones give the same choice.

    Attributes
    ----------
    loss : str or None
        The loss that was asked for.
    n_threads : int
        Threads that training may use.
    reproducible : bool
        Whether the same seed must give the same bits.
    """

    loss: str | None = None
    n_threads: int = 1
    reproducible: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    """An algorithm, and what is different from its preset.

    Attributes
    ----------
    algorithm : str
        The preset.
    reason : str
        Why, in a few words.
    learner : mapping
        Parameters of the learner that differ from the preset's.
    engine : str or None
        Another engine than the preset's.
    max_iter : int or None
        Passes at most, if none were asked for.
    """

    algorithm: str
    reason: str
    learner: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    engine: str | None = None
    max_iter: int | None = None


def usual_choice(capabilities: Collection[str], circumstances: Circumstances) -> Choice:
    """Return what suits tasks of which nothing else is known.

    Examples
    --------
    >>> usual_choice({"loss-augmented"}, Circumstances(n_threads=16)).algorithm
    'shared-dcd'
    """
    threads = circumstances.n_threads
    if "loss-augmented" not in capabilities:
        return Choice("averaged-perceptron", "the task has no loss-augmented inference")
    if threads == 1:
        return Choice("dcd-ssvm", "one thread")
    if "needs-GIL" in capabilities:
        return Choice("dcd-ssvm", "threads would wait for each other in Python")
    if not circumstances.reproducible:
        return Choice("shared-dcd", f"{threads} threads")
    if threads >= MANY_THREADS:
        return Choice("ms-dcd", f"{threads} threads and the same bits")
    return Choice("dcd-ssvm", f"the same bits, for which {threads} threads are no help")
