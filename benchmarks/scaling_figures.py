"""What the tables and pictures of scaling.py read from a record: times, speeds and what threads did."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from learners_runs import Record
from scaling_runs import ACTIVITIES


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


def seconds_to_score(record: Record, score: float) -> float | None:
    """Return the training seconds after which a score was first reached."""
    return next((row["wall"] for row in measured(record) if row["score"] >= score), None)


def seconds_a_pass(record: Record) -> float | None:
    """Return the mean training seconds of a pass."""
    return record.rows[-1]["wall"] / len(record.rows) if record.rows else None


def seconds_to_gap(record: Record, gap: float, key: str) -> tuple[float, bool] | None:
    """Return when a gap was first reached, and whether that row is certified.

    `key` is ``trace_gap``, the trace's estimate or certificate of every pass, or ``gap``, computed from the primal of
    the weights after a pass; that one is a certificate made outside the clock.
    """
    for row in record.rows:
        if row[key] is not None and row[key] <= gap:
            return row["wall"], key == "gap" or row["certified"]
    return None


def certified_seconds(record: Record) -> float | None:
    """Return the seconds of a run that ended with its certified gap, the certificate included."""
    return record.rows[-1]["wall"] + record.certify_seconds if record.stopped == "tolerance" else None


def thread_seconds(record: Record, threads: slice = slice(None)) -> dict[str, float]:
    """Return the seconds that some of the threads, by number, spent on each activity."""
    spent = [thread for row in record.rows for thread in row["threads"][threads]]
    return {name: sum(thread[name] for thread in spent) for name in ACTIVITIES}


def thread_shares(record: Record, threads: slice = slice(None)) -> dict[str, float] | None:
    """Return the shares of each activity in what these threads could have done in the training seconds."""
    count = len(record.rows[0]["threads"][threads]) if record.rows else 0
    if not count:
        return None
    possible = count * record.rows[-1]["wall"]
    return {name: seconds / possible for name, seconds in thread_seconds(record, threads).items()}


def accepted_share(record: Record) -> float | None:
    """Return the share of the candidates found that the learner took."""
    found = sum(row["candidates"]["found"] for row in record.rows)
    return sum(row["candidates"]["accepted"] for row in record.rows) / found if found else None


def mean_age(record: Record) -> float | None:
    """Return by how many updates the weights of a search were behind, on average over the passes."""
    return sum(row["weights_age"] for row in record.rows) / len(record.rows) if record.rows else None


def number(value: float | None, form: str = "{:.2f}") -> str:
    """Show a number, or a dash."""
    return "-" if value is None else form.format(value)


def percent(value: float | None) -> str:
    """Show a share, or a dash."""
    return number(None if value is None else 100 * value, "{:.1f} %")


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return a speed-up, if both times are there."""
    return numerator / denominator if numerator is not None and denominator else None


def by_threads(records: Iterable[Record], algorithm: str) -> list[Record]:
    """Return the runs of an algorithm, fewest threads first."""
    return sorted((one for one in records if one.settings.algorithm == algorithm), key=lambda one: one.settings.threads)


def title(record: Record) -> str:
    """Name a run by algorithm and threads."""
    return f"{record.settings.algorithm}, {record.settings.threads}"
