"""What tables and pictures read from records: when a gap, a score or a primal was reached, and what threads did."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.runs import ACTIVITIES, Record

#: How near to the lowest primal of all runs, where classification algorithms are compared.
WITHIN = (0.05, 0.005)
#: The runs of each name, one a repetition.
Repeats = Mapping[str, Sequence[Record]]


def measured(record: Record) -> list[dict[str, Any]]:
    """Return the rows of passes after which the score was measured."""
    return [row for row in record.rows if row["score"] is not None]


def final_score(record: Record) -> float | None:
    """Return the score after the last pass."""
    rows = measured(record)
    return rows[-1]["score"] if rows else None


def best_score(record: Record) -> float:
    """Return the highest score after any pass."""
    return max((row["score"] for row in measured(record)), default=0.0)


def common_score(records: Iterable[Record]) -> float:
    """Return a score that every run reaches, as in minibatch-2013."""
    return min((best_score(record) for record in records if record.rows), default=0.0)


def seconds_to_score(record: Record, score: float) -> float | None:
    """Return the training seconds after which a score was first reached."""
    return next((row["wall"] for row in measured(record) if row["score"] >= score), None)


def seconds_a_pass(record: Record, clock: str = "wall") -> float | None:
    """Return the mean training seconds of a pass."""
    return record.seconds(clock) / len(record.rows) if record.rows else None


def first_within(record: Record, gap: float, key: str = "gap") -> dict[str, Any] | None:
    """Return the first pass after which a gap was reached.

    `key` is ``gap``, computed from the primal of the weights after a pass, which is a certificate made outside the
    clock; or ``trace_gap``, the trace's estimate or certificate of every pass.
    """
    return next((row for row in record.rows if row[key] is not None and row[key] <= gap), None)


def certified_seconds(record: Record) -> float | None:
    """Return the seconds of a run that ended with its certified gap, the certificate included."""
    return record.seconds() + record.certify_seconds if record.stopped == "tolerance" else None


def row_at(record: Record, seconds: float, clock: str) -> dict[str, Any] | None:
    """Return the last pass that had ended by then."""
    ended = [row for row in record.rows if row[clock] <= seconds]
    return ended[-1] if ended else None


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return a speed-up, if both times are there."""
    return numerator / denominator if numerator is not None and denominator else None


def by_threads(records: Iterable[Record], algorithm: str) -> list[Record]:
    """Return the runs of an algorithm, fewest threads first."""
    return sorted((one for one in records if one.settings.algorithm == algorithm), key=lambda one: one.settings.threads)


def thread_shares(record: Record, threads: slice = slice(None)) -> dict[str, float] | None:
    """Return the shares of each activity in what some of the threads could have done in the training seconds."""
    count = len(record.rows[0]["threads"][threads]) if record.rows else 0
    if not count:
        return None
    spent = [thread for row in record.rows for thread in row["threads"][threads]]
    possible = count * record.seconds()
    return {name: sum(thread[name] for thread in spent) / possible for name in ACTIVITIES}


def accepted_share(record: Record) -> float | None:
    """Return the share of the candidates found that the learner took."""
    found = sum(row["candidates"]["found"] for row in record.rows)
    return sum(row["candidates"]["accepted"] for row in record.rows) / found if found else None


def mean_age(record: Record) -> float | None:
    """Return by how many updates the weights of a search were behind, on average over the passes."""
    return sum(row["weights_age"] for row in record.rows) / len(record.rows) if record.rows else None


def lowest_primal(runs: Repeats) -> float:
    """Return the lowest primal that any run has seen."""
    every = [row["primal"] for records in runs.values() for record in records for row in record.rows]
    return min(every, default=math.nan)


def highest_dual(runs: Repeats) -> float:
    """Return the highest dual that any run has seen: no primal is lower."""
    every = [row["dual"] for records in runs.values() for record in records for row in record.rows if row["dual"]]
    return max(every, default=math.nan)


def first_near(record: Record, best: float, share: float) -> dict[str, Any] | None:
    """Return the first pass after which the primal was within that share of the lowest."""
    return next((row for row in record.rows if row["primal"] <= best * (1 + share)), None)


def median_near(records: Sequence[Record], best: float, share: float, clock: str) -> float | None:
    """Return the median seconds to it over the repetitions, or None if one did not get there."""
    found = [first_near(record, best, share) for record in records]
    return None if None in found else statistics.median(row[clock] for row in found if row is not None)


def ending(records: Sequence[Record]) -> str:
    """Say how the runs ended; one that its budget ended within a pass was cut."""
    ends = {
        f"cut in pass {len(record.rows) + 1}" if record.stopped == "interrupted" else record.stopped
        for record in records
    }
    return ", ".join(sorted(ends))
