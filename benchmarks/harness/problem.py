"""`Problem`: what algorithms are compared on, whatever kind of data it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.package import Score, Task
from harness.peers import Peer


@dataclass(frozen=True)
class Parts:
    """What of a problem takes time and memory to make.

    `published` is the task with one slack per example, where `task` has more: with the hinge the objective is the same.
    `peer` is None where no other library has the objective.
    """

    task: Task
    score: Score
    peer: Peer | None = None
    published: Task | None = None


@dataclass(frozen=True)
class Problem:
    """A task to train on and a score of weights, both made on first use.

    `setting` says in words how the task was made where there is a choice. `development` makes the same problem scored
    on a part of the data that is not the test part. `make` is None where runs want the data in another form.
    """

    name: str
    size: int
    C: float
    score_name: str
    make: Callable[[], Parts] | None = None
    setting: str | None = None
    development: Callable[[], Problem] | None = None

    @cached_property
    def parts(self) -> Parts:
        """The task, the score and what else belongs to them."""
        assert self.make is not None
        return self.make()

    @property
    def task(self) -> Task:
        """The task to train on."""
        return self.parts.task

    def __str__(self) -> str:
        setting = f"; {self.setting}" if self.setting else ""
        return f"{self.name}: {self.size} examples, scored by {self.score_name}{setting}"


#: Makes a problem of the folder with the data sets and the number of examples of either part, None for all.
Adapter = Callable[[Path, int | None], Problem]


def sample(size: int, count: int | None) -> NDArray[np.int64]:
    """Return the numbers of all examples, or of a seeded sample, in the order of the data."""
    chosen = np.arange(size) if count is None else np.sort(np.random.default_rng(0).permutation(size)[:count])
    return chosen.astype(np.int64)
