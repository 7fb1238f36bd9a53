"""How much of a question the process that drives answers itself, so that it ends when the others do."""

from __future__ import annotations

from marginloom.training.world import SECONDS, Answer

#: Weight of a question among those before it.
_MEMORY = 0.95
#: Answers that a part gives to one question at most, and the seconds that each should take at least.
_MOST_ANSWERS, _LEAST_SECONDS = 8, 1e-3


class Pace:
    """What questions of a kind have cost, the last ones most, and how to divide the next one.

    Part 0 is in the process that drives. It answers first. While the others still work, it uses what has come.

    Parameters
    ----------
    parts : int
        How many, at least two.

    Examples
    --------
    The driver uses answers for as long as parts need for them, so one part searches and the other uses:

    >>> pace = Pace(2)
    >>> pace.shares()
    [0.5, 0.5]
    >>> pace.count(work=0.002, driving=0.002)
    >>> pace.shares()
    [0.0, 0.5, 0.5]
    """

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._work = self._driving = self._questions = 0.0

    def count(self, work: float, driving: float) -> None:
        """Count a question.

        Parameters
        ----------
        work : float
            Seconds that one part would have taken for all answers.
        driving : float
            Seconds of the driver that were neither this work nor waiting.
        """
        self._work = _MEMORY * self._work + work
        self._driving = _MEMORY * self._driving + driving
        self._questions = _MEMORY * self._questions + 1

    def shares(self) -> list[float]:
        """Return the share of part 0, then those of all others, which take turns; see `World.shares`.

        Part 0 works for s W seconds and drives for D, each of the others works for (1 - s) W / (parts - 1). The share
        s is where both are equal.
        """
        others = self._parts - 1
        if self._work <= 0:
            return [1 / self._parts] * self._parts
        own = max(0.0, (self._work - others * self._driving) / (self._parts * self._work))
        seconds = self._work * (1 - own) / (others * self._questions)
        each = int(min(max(seconds / _LEAST_SECONDS, 1), _MOST_ANSWERS))
        return [own, *[(1 - own) / (others * each)] * (others * each)]


def seconds_of(answer: Answer) -> float:
    """Return how long a part has worked on an answer, with all its threads at the same time.

    Examples
    --------
    >>> import numpy as np
    >>> seconds_of({"seconds": np.array([1.0, 3.0])}), seconds_of({})
    (2.0, 0.0)
    """
    seconds = answer.get(SECONDS)
    return 0.0 if seconds is None or not seconds.size else float(seconds.mean())
