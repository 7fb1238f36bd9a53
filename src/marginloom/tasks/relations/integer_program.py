"""The 0-1 linear program of types and relations, section 5.1 of the paper on DEMI-DCD, for scipy's HiGHS.

    max  sum_{a,t} type_score(a, t) x_{a,t} + sum_{p,r} pair_score(p, r) z_{p,r}

with a binary for each type of each span and each label of each ordered pair, one label each:

    sum_t x_{a,t} = 1        sum_r z_{p,r} = 1

and the table of types, for a pair p = (a, b) and a relation r: a relation needs a type that it may have of its head and
of its tail,

    z_{p,r} <= sum_{s in heads(r)} x_{a,s}        z_{p,r} <= sum_{t in tails(r)} x_{b,t}

and where its tails depend on its head, for every head s:  z_{p,r} + x_{a,s} <= 1 + sum_{t in tails(r, s)} x_{b,t}.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

#: Programs that are kept, by the number of spans: their constraints do not depend on scores.
_MOST_KEPT = 32


class IntegerProgram:
    """A solver of joint inference by `scipy.optimize.milp`.

    Called with scores of types and labels, it returns types, labels, an upper bound of the score, and whether the
    program was solved to the end.

    Parameters
    ----------
    types, labels : int
        How many there are; label 0 is none.
    table : iterable of tuple
        Lines (label, head type, tail type): what a relation may connect.
    time_limit : float
        Seconds for one program at most; 0 for no limit.

    Examples
    --------
    >>> solve = IntegerProgram(2, 2, [(1, 0, 1)])
    >>> scores = np.array([1.0, 0, 1, 0]), np.array([0.0, 3, 0, 3])
    >>> types, labels, bound, complete = solve(*scores)
    >>> list(types), list(labels), round(bound, 6), complete
    ([0, 1], [1, 0], 4.0, True)
    """

    def __init__(self, types: int, labels: int, table: Iterable[tuple[int, int, int]], time_limit: float = 0.0) -> None:
        self._types, self._labels, self._time_limit = types, labels, time_limit
        self._allowed = np.zeros((labels, types, types), dtype=bool)
        for label, head, tail in table:
            self._allowed[label, head, tail] = True
        self._programs: dict[int, tuple[Any, NDArray[np.float64], NDArray[np.float64]]] = {}

    def __call__(
        self, type_scores: NDArray[np.float64], pair_scores: NDArray[np.float64]
    ) -> tuple[bytes, bytes, float, bool]:
        """Solve one sentence: scores are rows of every span and of every ordered pair, one after the other."""
        spans, pairs = type_scores.size // self._types, pair_scores.size // self._labels
        if pairs == 0:
            rows = type_scores.reshape(spans, self._types)
            return rows.argmax(axis=1).astype(np.uint8).tobytes(), b"", float(rows.max(axis=1).sum()), True
        scores = np.concatenate([type_scores, pair_scores])
        found = self._solve(spans, scores)
        if found.x is None:
            return self._nothing_found(type_scores.reshape(spans, -1), pair_scores.reshape(pairs, -1), found)
        numbers = found.x[: type_scores.size].reshape(spans, self._types).argmax(axis=1)
        labels = found.x[type_scores.size :].reshape(pairs, self._labels).argmax(axis=1)
        bound = -found.mip_dual_bound if np.isfinite(found.mip_dual_bound) else np.inf
        complete = found.status == 0
        return numbers.astype(np.uint8).tobytes(), labels.astype(np.uint8).tobytes(), float(bound), complete

    def _solve(self, spans: int, scores: NDArray[np.float64]) -> Any:
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix, lowest, highest = self._program(spans)
        options = {"mip_rel_gap": 0.0, **({"time_limit": self._time_limit} if self._time_limit else {})}
        return milp(
            -scores,
            integrality=np.ones(scores.size),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lowest, highest),
            options=options,
        )

    def _nothing_found(
        self, types: NDArray[np.float64], pairs: NDArray[np.float64], found: Any
    ) -> tuple[bytes, bytes, float, bool]:
        """Return the best types without any relation: at the limit there may be no solution yet."""
        if found.status not in (0, 1):
            raise InputError(
                f"the integer program of a sentence with {len(types)} entities was not solved ({found.message}); use "
                "the solver native (--solver native)"
            )
        bound = float(types.max(axis=1).sum() + pairs.max(axis=1).sum())
        best = types.argmax(axis=1).astype(np.uint8)
        return best.tobytes(), bytes(len(pairs)), bound, False

    def _program(self, spans: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """Return the constraints for so many spans, as a sparse matrix with lowest and highest values of its rows."""
        known = self._programs.get(spans)
        if known is not None:
            return known
        from scipy.sparse import csr_array

        rows: list[tuple[NDArray[np.int64], NDArray[np.float64], float, float]] = []

        def add(columns: list[int], values: list[float], lowest: float, highest: float) -> None:
            rows.append((np.array(columns), np.array(values), lowest, highest))

        first_pair, types, labels = spans * self._types, self._types, self._labels
        for a in range(spans):
            add([a * types + t for t in range(types)], [1.0] * types, 1, 1)
        ordered = [(a, b) for a in range(spans) for b in range(spans) if a != b]
        for p, (a, b) in enumerate(ordered):
            z = first_pair + p * labels
            add([z + r for r in range(labels)], [1.0] * labels, 1, 1)
            for r in range(1, labels):
                for columns, limit in self._limits[r]:
                    ends = [(a if is_head else b) * types + t for is_head, t, _ in columns]
                    add([z + r, *ends], [1.0, *(value for _, _, value in columns)], -np.inf, limit)
        data = np.concatenate([values for _, values, _, _ in rows])
        indices = np.concatenate([columns for columns, _, _, _ in rows])
        bounds = np.concatenate([[0], np.cumsum([len(columns) for columns, _, _, _ in rows])])
        matrix = csr_array((data, indices, bounds), shape=(len(rows), first_pair + len(ordered) * labels))
        program = matrix, np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
        if len(self._programs) < _MOST_KEPT:
            self._programs[spans] = program
        return program

    @cached_property
    def _limits(self) -> list[list[tuple[list[tuple[bool, int, float]], float]]]:
        """For every relation the rows z + sum of values * x <= limit, whose x are (of the head, type, value)."""
        found: list[list[tuple[list[tuple[bool, int, float]], float]]] = [[]]
        for r in range(1, self._labels):
            heads = np.flatnonzero(self._allowed[r].any(axis=1)).tolist()
            tails = np.flatnonzero(self._allowed[r].any(axis=0)).tolist()
            limits = [([(True, s, -1.0) for s in heads], 0.0), ([(False, t, -1.0) for t in tails], 0.0)]
            for s in heads:
                own = np.flatnonzero(self._allowed[r, s]).tolist()
                if own != tails:
                    limits.append(([(True, s, 1.0), *((False, t, -1.0) for t in own)], 1.0))
            found.append(limits)
        return found


def check_solver_installed() -> None:
    """Raise `InputError` unless scipy has a solver for integer programs."""
    try:
        from scipy.optimize import milp  # noqa: F401
    except ImportError as error:
        raise InputError(
            "the solver ilp needs scipy.optimize.milp, which is not installed (scipy 1.9 and later have it); update "
            "scipy, or use the solver native (--solver native)"
        ) from error
