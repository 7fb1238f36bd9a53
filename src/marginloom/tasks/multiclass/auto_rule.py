"""Which algorithm `auto` stands for on classes; the figures are in benchmarks/RESULTS.md."""

from __future__ import annotations

import dataclasses
import math

from marginloom.core.choice import MANY_THREADS, Choice, Circumstances, Costs

#: Weights from which the mean of the weights costs more than it brings.
MANY_WEIGHTS = 1_000_000
#: Examples a feature up to which classes are told apart so easily that passes over kept candidates hardly pay.
FEW_EXAMPLES = 5
#: Classes up to which threads that own a part of the features each were measured to be faster than one thread.
PIPELINED_CLASSES = 64
#: Products of a feature with a weight in a pass of inference, up to which a thousand passes are a matter of seconds.
SHORT_PASS = 2_000_000


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a problem with classes is; `entries` are the features of all examples together."""

    examples: int
    classes: int
    features: int
    entries: int

    @property
    def weights(self) -> int:
        """One for every class and feature."""
        return self.classes * self.features

    @property
    def pass_work(self) -> float:
        """Products of a feature with a weight in a pass of inference."""
        return float(self.classes * self.entries)

    @property
    def costs(self) -> Costs:
        """What passes and steps cost; where they stall, a twentieth of the classes of an example have a dual."""
        candidates = self.examples * self.classes / 20
        return Costs(self.weights, self.pass_work, candidates, 2 * self.entries / max(self.examples, 1))


def choose(size: Size, circumstances: Circumstances) -> Choice:
    """Return the algorithm for a problem of that size.

    The rule is the same for both losses, and all that it chooses gives the same bits every time. One thread learns in
    most cases: threads that share weights of classes wait for each other's.

    Examples
    --------
    >>> choose(Size(1_800, 10, 65, 115_000), Circumstances()).algorithm
    'shrinking-dcd'
    >>> choose(Size(60_000, 10, 780, 9_000_000), Circumstances(n_threads=8)).engine
    'pipelined'
    """
    threads = circumstances.n_threads
    newton_passes = size.costs.newton_passes
    passes = 1000 if size.pass_work <= SHORT_PASS or math.isfinite(newton_passes) else None
    pipelined = threads >= MANY_THREADS and size.classes <= PIPELINED_CLASSES and size.weights <= MANY_WEIGHTS
    reason = f"{threads} threads" if pipelined else circumstances.one_thread
    easy = size.weights > MANY_WEIGHTS or size.examples <= FEW_EXAMPLES * size.features
    return Choice(
        "dcd-ssvm" if easy and not pipelined else "shrinking-dcd",
        f"classes, {reason}",
        learner={"inner_passes": 2} if easy and not pipelined else {},
        engine="pipelined" if pipelined else None,
        max_iter=passes,
        newton_passes=newton_passes,
    )
