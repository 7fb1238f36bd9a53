"""The part `minibatch` of scaling.py: perceptron and MIRA by batches against the online learners and ipm.

Extrinsic speed-up compares the seconds to a score that all compared runs reach (the lowest of their best scores, as in
minibatch-2013) with those of the online learner; intrinsic speed-up compares the seconds of a pass with those of the
same algorithm on one thread. Efficiency is intrinsic speed-up / threads. Waiting is a share of all threads' time in the
training seconds; unlike the paper's it has in it what threads wait for the update, whose share in the time of the
thread that makes it stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common import print_table
from learners_runs import Record
from scaling_figures import (
    best_score,
    final_score,
    number,
    percent,
    ratio,
    seconds_a_pass,
    seconds_to_score,
    thread_shares,
)
from scaling_runs import Plan, Planned

DATA = ("conll2000-tagging", "brown-tagging", "conll2003_en", "conll2000-words", "brown-words")
BATCH_SIZES = (8, 16, 24, 32)
FIRST_SIZES = (16, 24)
PASSES = 10


@dataclass(frozen=True)
class Family:
    """A learner online, by batches and mixed."""

    name: str
    online: str
    minibatch: str
    mixed: str


FAMILIES = (
    Family("perceptron", "averaged-perceptron", "minibatch-perceptron", "ipm"),
    Family("MIRA", "mira", "minibatch-mira", "ipm-mira"),
)


def plan(part: Plan, threads: Sequence[int]) -> list[Planned]:
    """Plan the perceptron with batches of 16 and 24 first, on one thread and on the most."""
    most = max(threads)
    counts = sorted({1, *threads}, key=lambda count: (count not in (1, most), -count))
    runs = []
    for place, family in enumerate(FAMILIES):
        runs.append(part.run(place, family.online, max_iter=PASSES))
        for count in counts:
            later = place + (count not in (1, most))
            for size in BATCH_SIZES:
                priority = later + (size not in FIRST_SIZES)
                engine = {"batch_size": size}
                runs.append(part.run(priority, family.minibatch, count, f"m {size}", max_iter=PASSES, engine=engine))
            if count > 1:
                runs.append(part.run(later, family.mixed, count, max_iter=PASSES, engine={"shards": count}))
    return runs


def of_family(family: Family, records: Sequence[Record]) -> list[Record]:
    """Return the runs of a family: online, then by batch size and threads, then mixed."""
    order = (family.online, family.minibatch, family.mixed)
    present = [record for record in records if record.settings.algorithm in order and record.rows]
    return sorted(present, key=lambda one: (order.index(one.settings.algorithm), batch_size(one), one.settings.threads))


def batch_size(record: Record) -> int:
    """Return the examples of a batch; 1 for an online learner, 0 for a mixture of them."""
    if record.settings.algorithm.startswith("ipm"):
        return 0
    return record.settings.engine.get("batch_size", 1)


@dataclass(frozen=True)
class SpeedUp:
    """How much faster a run was, and at what cost."""

    extrinsic: float | None
    intrinsic: float | None
    waiting: float | None
    for_others: float | None  # waiting without the time of updates, as in Figure 8 of the paper
    updating: float | None

    @classmethod
    def of(cls, record: Record, runs: Sequence[Record], online: Record | None) -> SpeedUp:
        """Compare a run with the others of its family."""
        target = common_score(runs)
        alone = next((one for one in runs if batch_size(one) == batch_size(record) and one.settings.threads == 1), None)
        if batch_size(record) == 0:  # a mixture of one shard is the online learner
            alone = online
        shares = thread_shares(record)
        first = thread_shares(record, slice(0, 1))
        return cls(
            ratio(seconds_to_score(online, target) if online else None, seconds_to_score(record, target)),
            ratio(seconds_a_pass(alone) if alone else None, seconds_a_pass(record)),
            shares["waiting"] if shares else None,
            _waiting_for_others(record),
            first["update"] if first else None,
        )


def _waiting_for_others(record: Record) -> float | None:
    """Return the share of waiting without that for the update of a batch, which the first thread makes alone."""
    shares = thread_shares(record)
    first = thread_shares(record, slice(0, 1))
    if not shares or not first:
        return None
    threads = len(record.rows[0]["threads"])
    for_update = first["update"] * (threads - 1) / threads if batch_size(record) else 0.0
    return max(shares["waiting"] - for_update, 0.0)


def common_score(runs: Sequence[Record]) -> float:
    """Return a score that every run reaches."""
    return min(best_score(record) for record in runs)


def online_run(family: Family, runs: Sequence[Record]) -> Record | None:
    """Return the run of the online learner."""
    return next((record for record in runs if record.settings.algorithm == family.online), None)


def show(data: str, records: Sequence[Record]) -> None:
    """Print a table a family."""
    for family in FAMILIES:
        runs = of_family(family, records)
        if not runs:
            continue
        print(f"\n{data}, {family.name}: extrinsic speed-up by the seconds to a score of {common_score(runs):.4f}\n")
        online = online_run(family, runs)
        print_table(
            [
                *("algorithm", "m", "threads", "score after the last pass", "best score", "seconds a pass"),
                *("extrinsic", "intrinsic", "efficiency", "waiting", "for each other", "update"),
            ],
            [_line(record, SpeedUp.of(record, runs, online)) for record in runs],
        )


def _line(record: Record, speed_up: SpeedUp) -> list[str]:
    threads = record.settings.threads
    efficiency = speed_up.intrinsic / threads if speed_up.intrinsic is not None else None
    cut = f" ({len(record.rows)} passes)" if record.cut_short else ""
    return [
        record.settings.algorithm,
        str(batch_size(record) or "-"),
        str(threads),
        number(final_score(record), "{:.4f}") + cut,
        f"{best_score(record):.4f}",
        number(seconds_a_pass(record), "{:.3g}"),
        number(speed_up.extrinsic),
        number(speed_up.intrinsic),
        percent(efficiency),
        percent(speed_up.waiting),
        percent(speed_up.for_others),
        percent(speed_up.updating),
    ]
