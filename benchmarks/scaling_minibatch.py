"""Measure what threads bring to minibatches of perceptron and MIRA, against the online learners and `ipm`.

Ten passes. Extrinsic speed-up compares the seconds to a score that all compared runs reach (the lowest of their best
scores, as in minibatch-2013) with those of the online learner; intrinsic speed-up compares the seconds of a pass with
those of the same algorithm on one thread. Efficiency is intrinsic speed-up / threads. Waiting is a share of all
threads' time in the training seconds; unlike the paper's it has in it what threads wait for the update, whose share
in the time of the thread that makes it stands beside it. Pictures are after Figures 5 to 8 of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark, with_rows
from harness.command import Question
from harness.figures import (
    best_score,
    common_score,
    final_score,
    measured,
    ratio,
    seconds_a_pass,
    seconds_to_score,
    thread_shares,
)
from harness.pictures import finish, line, panels, save
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import number, percent, print_table

SETS = ("conll2000-tagging", "brown-tagging", "conll2003_en", "conll2000-words", "brown-words")
BATCH_SIZES = (8, 16, 24, 32)
FIRST_SIZES = (16, 24)
CHOSEN_SIZE = 24  # with which the paper measures threads
PASSES = 10
QUESTION = Question("scaling_minibatch", __doc__, SETS, budget=(120.0, 5.0), threads=(1, 2, 4, 8, 16))


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


def main() -> None:
    benchmark = Benchmark(QUESTION)
    problems = [benchmark.problem(name) for name in benchmark.sets]
    benchmark.run([run for problem in problems for run in plan(problem, benchmark.threads)])
    drawn: list[Path] = []
    for name, found in benchmark.of_all_sets().items():
        records = list(with_rows(found).values())
        families = {family: runs for family in FAMILIES if (runs := of_family(family, records))}
        for family, runs in families.items():
            speed_table(name, family, runs)
        drawn += draw(name, families, benchmark.score_names[name], benchmark.folder)
    benchmark.end(drawn)


def plan(problem: Problem, threads: Sequence[int]) -> list[Planned]:
    """Plan the perceptron with batches of 16 and 24 first, on one thread and on the most."""
    most = max(threads)
    counts = sorted({1, *threads}, key=lambda count: (count not in (1, most), -count))
    runs = []
    for place, family in enumerate(FAMILIES):
        runs.append(Planned.on_threads(problem, family.online, priority=place, max_iter=PASSES))
        for count in counts:
            later = place + (count not in (1, most))
            for size in BATCH_SIZES:
                options = {"priority": later + (size not in FIRST_SIZES), "engine": {"batch_size": size}}
                name = f"m {size}"
                runs.append(Planned.on_threads(problem, family.minibatch, count, name, max_iter=PASSES, **options))
            if count > 1:
                options = {"priority": later, "engine": {"shards": count}}
                runs.append(Planned.on_threads(problem, family.mixed, count, max_iter=PASSES, **options))
    return runs


def of_family(family: Family, records: Sequence[Record]) -> list[Record]:
    """Return the runs of a family: online, then by batch size and threads, then mixed."""
    order = (family.online, family.minibatch, family.mixed)
    present = [record for record in records if record.settings.algorithm in order]
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


def online_run(family: Family, runs: Sequence[Record]) -> Record | None:
    """Return the run of the online learner."""
    return next((record for record in runs if record.settings.algorithm == family.online), None)


def speed_table(data: str, family: Family, runs: Sequence[Record]) -> None:
    """Print how much faster each run was, and at what cost."""
    online = online_run(family, runs)
    header = [
        *("algorithm", "m", "threads", "score after the last pass", "best score", "seconds a pass"),
        *("extrinsic", "intrinsic", "efficiency", "waiting", "for each other", "update"),
    ]
    rows = [_line(record, SpeedUp.of(record, runs, online)) for record in runs]
    score = common_score(runs)
    print_table(f"{data}, {family.name}: extrinsic speed-up by the seconds to a score of {score:.4f}", header, rows)


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


def draw(data: str, families: Mapping[Family, Sequence[Record]], score: str, folder: Path) -> list[Path]:
    """Draw a row of four panels a learner: sizes on one thread, threads, speed-ups, waiting."""
    if not families:
        return []
    figure, rows = panels(4, len(families))
    for (sizes, threads, speed_ups, waiting), (family, runs) in zip(rows, families.items(), strict=True):
        _scores(sizes, [record for record in runs if record.settings.threads == 1], score)
        sizes.set_title(f"{data}, {family.name}: one thread", fontsize="medium")
        _scores(threads, [record for record in runs if batch_size(record) in (0, 1, CHOSEN_SIZE)], score)
        threads.set_title(f"m = {CHOSEN_SIZE} and ipm", fontsize="medium")
        _speed_ups(speed_ups, _by_threads(family, runs))
        _waiting(waiting, _by_threads(family, runs))
        for axes in (sizes, threads, speed_ups, waiting):
            finish(axes)
    return save(figure, folder / f"figures5to8-{data}")


def _label(record: Record) -> str:
    size = batch_size(record)
    name = {0: "ipm", 1: "online"}.get(size, f"m = {size}")
    return f"{name}, {record.settings.threads}"


def _scores(axes: Any, runs: Sequence[Record], score: str) -> None:
    for record in runs:
        line(axes, [(row["wall"], row["score"]) for row in measured(record)], _label(record))
    best = [best_score(record) for record in runs]
    if best:  # the first passes would press the rest into a line
        room = max(max(best) - min(best), 0.01)
        axes.set_ylim(min(best) - room, max(best) + 0.1 * room)
    axes.set(xlabel="training seconds", ylabel=score)


def _by_threads(family: Family, runs: Sequence[Record]) -> dict[str, list[tuple[int, SpeedUp]]]:
    """Return speed-ups by threads, of batches of the chosen size and of ipm."""
    online = online_run(family, runs)
    return {
        name: [(one.settings.threads, SpeedUp.of(one, runs, online)) for one in runs if batch_size(one) == size]
        for name, size in ((f"m = {CHOSEN_SIZE}", CHOSEN_SIZE), ("ipm", 0))
    }


def _speed_ups(axes: Any, lines: Mapping[str, Sequence[tuple[int, SpeedUp]]]) -> None:
    for name, points in lines.items():
        for kind, style in (("extrinsic", "-"), ("intrinsic", "--")):
            shown = [(threads, getattr(one, kind)) for threads, one in points if getattr(one, kind) is not None]
            line(axes, shown, f"{name}, {kind}", style)
    axes.set(xlabel="threads", ylabel="speed-up")


def _waiting(axes: Any, lines: Mapping[str, Sequence[tuple[int, SpeedUp]]]) -> None:
    for name, points in lines.items():
        line(axes, [(threads, 100 * one.for_others) for threads, one in points if one.for_others is not None], name)
    axes.set(xlabel="threads", ylabel="waiting for each other, % of the time", ylim=(0, None))


if __name__ == "__main__":
    main()
