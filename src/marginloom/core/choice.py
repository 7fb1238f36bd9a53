"""Which algorithm `auto` stands for: every task has a fixed rule, made of what was measured; see docs/learners.md."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any

#: Threads from which searching on all of them makes up for the waiting at barriers.
MANY_THREADS = 8
#: Products in a pass of inference, up to which one thread trains if nobody has said how many: some ten milliseconds.
SMALL_PASS = 10_000_000
#: Weights up to which Newton's method takes over where other methods stall: it is a matter of seconds then.
MOST_WEIGHTS_OF_NEWTON = 2000


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
    small : bool
        Whether there is but one thread because the problem is small.
    """

    loss: str | None = None
    n_threads: int = 1
    reproducible: bool = False
    small: bool = False

    @property
    def one_thread(self) -> str:
        """Why a choice does with one thread, whatever the number that it may use."""
        if self.n_threads > 1:
            return f"one thread, since {self.n_threads} are not faster"
        return "a small problem, one thread" if self.small else "one thread"


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
    newton_passes : float
        Passes in whose time Newton's method is done: it takes over where more are to come. Infinite if it never does.
    """

    algorithm: str
    reason: str
    learner: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    engine: str | None = None
    max_iter: int | None = None
    newton_passes: float = math.inf

    def stored(self) -> dict[str, Any]:
        """Return what JSON has of it, which knows no infinity."""
        passes = None if math.isinf(self.newton_passes) else self.newton_passes
        return {**dataclasses.asdict(self), "newton_passes": passes}


@dataclasses.dataclass(frozen=True)
class Costs:
    """What the time of a pass and of Newton's method depends on.

    Attributes
    ----------
    weights : int
        How many there are, but for those that only fill up rows.
    work : float
        Products in a pass of inference.
    candidates : float
        Outputs with a dual variable to expect.
    entries : float
        Numbers that are not 0 in the difference of two outputs' features.
    """

    weights: int
    work: float
    candidates: float
    entries: float

    @property
    def newton_passes(self) -> float:
        """Passes of dual coordinate descent that take as long as Newton's method, roughly; infinite if it is too large.

        Newton's method takes some 25 steps in up to eight passes. A step adds up half of a matrix and factors it.
        """
        if self.weights > MOST_WEIGHTS_OF_NEWTON:
            return math.inf
        step = self.candidates * (self.entries**2 / 4 + 300) + self.weights**3 / 36
        return 8 + 25 * step / (self.work + 20 * self.candidates * (self.entries + 50))


def usual_choice(capabilities: Collection[str], circumstances: Circumstances) -> Choice:
    """Return what suits tasks of which nothing else is known.

    Examples
    --------
    >>> usual_choice({"loss-augmented"}, Circumstances(n_threads=16)).algorithm
    'shared-dcd'
    """
    threads = circumstances.n_threads
    if "loss-augmented" not in capabilities:
        return Choice("averaged-perceptron", "one thread, since the task has no loss-augmented inference")
    if "needs-GIL" in capabilities:
        return Choice("shrinking-dcd", "one thread, since only one at a time can run Python")
    if threads == 1:
        return Choice("dcd-ssvm", circumstances.one_thread)
    if not circumstances.reproducible:
        return Choice("shared-dcd", f"{threads} threads")
    if threads >= MANY_THREADS:
        return Choice("ms-dcd", f"{threads} threads, reproducible")
    return Choice("dcd-ssvm", f"one thread, since {threads} are not faster for reproducible training")
