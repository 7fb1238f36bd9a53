"""Which algorithm `auto` stands for on classes; the figures are in benchmarks/RESULTS.md."""

from __future__ import annotations

import dataclasses

from marginloom.tasks.base.choice import MANY_THREADS, Choice, Circumstances

#: Classes times features, with the bias, up to which a step of Newton's method takes some milliseconds, and examples
#: times classes up to which adding up its matrix does. Features that are so few often have different units, which slows
#: down everything else by orders of magnitude.
FEW_WEIGHTS, FEW_SCORES = 700, 200_000
#: Weights from which the mean of the weights costs more than it brings.
MANY_WEIGHTS = 1_000_000
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


def choose(size: Size, circumstances: Circumstances) -> Choice:
    """Return the algorithm for a problem of that size.

    The rule is the same for both losses, and all that it chooses gives the same bits every time. One thread learns in
    all cases: threads that share weights of classes wait for each other's.

    Examples
    --------
    >>> choose(Size(1_800, 10, 65, 115_000), Circumstances()).algorithm
    'newton'
    >>> choose(Size(60_000, 10, 780, 9_000_000), Circumstances(n_threads=8)).engine
    'pipelined'
    """
    weights, threads = size.classes * size.features, circumstances.n_threads
    if weights <= FEW_WEIGHTS and size.examples * size.classes <= FEW_SCORES:
        return Choice("newton", f"classes with {weights:,} weights, which are few")
    passes = 1000 if size.classes * size.entries <= SHORT_PASS else None
    if threads >= MANY_THREADS and size.classes <= PIPELINED_CLASSES and weights <= MANY_WEIGHTS:
        return Choice("shrinking-dcd", f"classes, {threads} threads", engine="pipelined", max_iter=passes)
    reason = "classes" if threads == 1 else f"classes, for which {threads} threads are no help"
    return Choice("shrinking-dcd" if weights <= MANY_WEIGHTS else "dcd-ssvm", reason, max_iter=passes)
