"""Measure how often the decoupled engine should publish and take weights: `rho_updates` by `rho_inferences`.

`demi-dcd` with the most threads to a certified gap of 1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.figures import certified_seconds, mean_age
from harness.pictures import line, logarithmic, one_each
from harness.problem import Problem
from harness.runs import COARSE_GAP, Planned, Record
from harness.tables import print_table

SETS = ("conll2000-words", "conll2000-tagging", "brown-words", "brown-tagging")
RHO_UPDATES = (16, 64, 250, 1000)
RHO_INFERENCES = (1, 4, 16)
MOST_PASSES = 2000
QUESTION = Question("scaling_rho", __doc__, SETS, budget=(120.0, 2.0), threads=(16,))


def main() -> None:
    benchmark = Benchmark(QUESTION)
    for name in benchmark.sets:
        benchmark.run(plan(benchmark.problem(name), max(2, *benchmark.threads)))
    found = {name: records for name in benchmark.sets if (records := benchmark.records(name))}
    for name, records in found.items():
        for threads in sorted({record.settings.threads for record in records}):
            grid_table(name, threads, [record for record in records if record.settings.threads == threads])
    benchmark.end(one_each(found, benchmark.folder / "rho", _seconds))


def plan(problem: Problem, threads: int) -> list[Planned]:
    """Plan the grid of both parameters."""
    return [
        Planned.on_threads(
            problem,
            "demi-dcd",
            threads,
            f"rho {updates} {inferences}",
            tol=COARSE_GAP,
            max_iter=MOST_PASSES,
            engine={"rho_updates": updates, "rho_inferences": inferences},
        )
        for updates in RHO_UPDATES
        for inferences in RHO_INFERENCES
    ]


def grid_table(data: str, threads: int, records: Sequence[Record]) -> None:
    """Print a row for each `rho_updates`."""
    cells = {_place(record): _cell(record) for record in records}
    rows = [[str(updates), *(cells.get((updates, k), "-") for k in RHO_INFERENCES)] for updates in RHO_UPDATES]
    title = f"{data}, demi-dcd, {threads} threads: seconds to a certified gap of 1 % (passes; age of weights)"
    print_table(title, ["rho_updates", *(f"rho_inferences = {k}" for k in RHO_INFERENCES)], rows)


def _place(record: Record) -> tuple[int, int]:
    return record.settings.engine["rho_updates"], record.settings.engine["rho_inferences"]


def _cell(record: Record) -> str:
    if not record.rows:
        return "-"
    seconds = certified_seconds(record)
    shown = f"not in {record.seconds():.1f}" if seconds is None else f"{seconds:.2f}"
    return f"{shown} ({len(record.rows)}; {mean_age(record):.0f})"


def _seconds(axes: Any, records: Sequence[Record]) -> None:
    """Draw seconds against `rho_updates`, a line for each `rho_inferences`."""
    most = max(record.settings.threads for record in records)
    chosen = {_place(record): certified_seconds(record) for record in records if record.settings.threads == most}
    for inferences in RHO_INFERENCES:
        points = sorted(
            (place[0], seconds) for place, seconds in chosen.items() if place[1] == inferences and seconds is not None
        )
        line(axes, points, f"rho_inferences = {inferences}")
    logarithmic(axes)
    axes.set(xlabel="rho_updates", ylabel=f"seconds to 1 %, {most} threads", ylim=(0, None))
    axes.set_xticks(RHO_UPDATES, [str(updates) for updates in RHO_UPDATES])


if __name__ == "__main__":
    main()
