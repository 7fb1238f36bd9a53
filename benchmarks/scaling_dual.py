"""Measure what threads bring to dual coordinate descent: seconds to a gap of 1 % and 0.1 %, and what they do.

`dcd-ssvm` on one thread beside `ms-dcd`, `demi-dcd` and `shared-dcd`; `ipm` with ten passes between mixings is the
third system of demi-dcd-2013 (SP-IPM) and has no gap. One run with a tolerance of 0.1 % gives all figures. The
seconds to 1 % are read in two ways: from the trace, whose rows are estimates unless a certificate was due; and from
the primal of the weights after each pass, which is a certificate made outside the clock. The seconds to 0.1 % are
those of the run, its last certificate included. Pictures are after Figures 1 to 4 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness.benchmark import Benchmark, with_rows
from harness.command import Question
from harness.figures import (
    accepted_share,
    by_threads,
    certified_seconds,
    common_score,
    final_score,
    first_within,
    mean_age,
    measured,
    ratio,
    seconds_to_score,
    thread_shares,
)
from harness.pictures import line, logarithmic, one_each, zoom
from harness.problem import Problem
from harness.runs import ACTIVITIES, COARSE_GAP, FINE_GAP, Planned, Record
from harness.tables import number, percent, print_table

SETS = ("conll2000-words", "conll2000-tagging", "brown-words", "conll2003_en", "brown-tagging")
SERIAL, MIXING = "dcd-ssvm", "ipm"
WITH_GAP = (SERIAL, "ms-dcd", "demi-dcd", "shared-dcd")
ENGINES = (*WITH_GAP, MIXING)
#: Engines with a thread that learns while the others search.
ONE_LEARNS = ("ms-dcd", "demi-dcd")
MOST_PASSES = 2000
MIXING_INNER_EPOCHS, MIXING_PASSES = 10, 50
QUESTION = Question("scaling_dual", __doc__, SETS, budget=(120.0, 5.0), threads=(1, 2, 4, 8, 16))
Records = Mapping[str, Sequence[Record]]


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--C", type=float, default=0.1, help="cost of slack of every algorithm (default 0.1)")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    C = benchmark.arguments.C
    problems = [benchmark.problem(name) for name in benchmark.sets]
    benchmark.run([run for problem in problems for run in plan(problem, benchmark.threads, C)])
    found: dict[str, list[Record]] = {}
    for name in benchmark.sets:
        of_cost = [record for record in benchmark.records(name) if record.settings.C == C]
        ordered = [record for engine in ENGINES for record in by_threads(of_cost, engine)]
        if ordered:
            speed_table(name, ordered)
            activity_table(name, ordered)
            found[name] = list(with_rows({record.settings.name: record for record in ordered}).values())
    benchmark.end(draw(found, benchmark.score_names, benchmark.folder))


def plan(problem: Problem, threads: Sequence[int], C: float) -> list[Planned]:
    """Plan the serial run and all engines with the most threads first, then those with two, then the rest."""
    most = max(threads)
    to_gap = {"tol": FINE_GAP, "max_iter": MOST_PASSES, "C": C}
    runs = [Planned.on_threads(problem, SERIAL, **to_gap)]
    for count in sorted(set(threads), reverse=True):
        runs.append(Planned.on_threads(problem, "ms-dcd", count, priority=0 if count == most else 2, **to_gap))
        if count >= 2:
            priority = {most: 0, 2: 1}.get(count, 2)
            for name in ("shared-dcd", "demi-dcd"):
                runs.append(Planned.on_threads(problem, name, count, priority=priority, **to_gap))
    engine = {"shards": most, "inner_epochs": MIXING_INNER_EPOCHS}
    mixed = Planned.on_threads(problem, MIXING, most, priority=1, C=C, max_iter=MIXING_PASSES, engine=engine)
    return [*runs, mixed]


def speed_table(data: str, records: Sequence[Record]) -> None:
    """Print how fast each run was."""
    serial = next((record for record in records if record.settings.algorithm == SERIAL), None)
    target = common_score(records)
    header = [
        *("algorithm", "threads", "1 %, by the trace", "1 %, measured", "serial / this at 1 %", "0.1 %, certified"),
        *("passes", "inferences a second", "updates a second", f"to score {target:.4f}", "last score", "end"),
    ]
    title = f"{data}: seconds to a relative gap and to a test score that all reach, and speeds"
    print_table(title, header, [_speeds(record, serial, target) for record in records])


def _coarse_seconds(record: Record | None) -> float | None:
    row = first_within(record, COARSE_GAP) if record else None
    return row["wall"] if row else None


def _speeds(record: Record, serial: Record | None, target: float) -> list[str]:
    coarse = _coarse_seconds(record)
    by_trace = first_within(record, COARSE_GAP, "trace_gap")
    last = record.rows[-1] if record.rows else None
    gap = record.certified_gap
    return [
        record.settings.algorithm,
        str(record.settings.threads),
        f"{by_trace['wall']:.2f} ({'certified' if by_trace['certified'] else 'estimate'})" if by_trace else "-",
        number(coarse),
        number(ratio(_coarse_seconds(serial), coarse)),
        number(certified_seconds(record)),
        str(len(record.rows)),
        f"{last['inferences'] / last['wall']:,.0f}" if last else "-",
        f"{last['updates'] / last['wall']:,.0f}" if last else "-",
        number(seconds_to_score(record, target)),
        number(final_score(record), "{:.4f}"),
        record.stopped + (f" at {100 * gap:.2f} %" if gap is not None else ""),
    ]


def activity_table(data: str, records: Sequence[Record]) -> None:
    """Print what the threads did."""
    more = ["none of these", "CPU / wall", "candidates accepted", "age of weights (updates)"]
    rows = [row for record in records for row in _activities_of(record)]
    title = f"{data}: what the threads did, in shares of their time"
    print_table(title, ["algorithm", "threads", "which", *ACTIVITIES, *more], rows)


def _activities_of(record: Record) -> list[list[str]]:
    """Show all threads together and, where one thread learns, that one and the others apart."""
    groups = {"all": slice(None)}
    if record.settings.algorithm in ONE_LEARNS and record.settings.threads > 1:
        groups |= {"learning": slice(0, 1), "others": slice(1, None)}
    rows = []
    for which, threads in groups.items():
        shares = thread_shares(record, threads)
        together = ["", "", ""]
        if which == "all" and record.rows:
            together = [_cpu(record), percent(accepted_share(record)), number(mean_age(record), "{:.0f}")]
        rows.append(
            [
                *(record.settings.algorithm, str(record.settings.threads), which),
                *(percent(shares[name] if shares else None) for name in ACTIVITIES),
                percent(1 - sum(shares.values()) if shares else None),
                *together,
            ]
        )
    return rows


def _cpu(record: Record) -> str:
    """Show the mean number of busy cores; that of averaged learners would have copies of the average in it."""
    return "-" if record.settings.algorithm == MIXING else number(record.seconds("cpu") / record.seconds())


def draw(records: Records, scores: Mapping[str, str], folder: Path) -> list[Path]:
    """Draw the four figures, and the seconds to 1 % by threads."""

    def scores_of(axes: Any, runs: Sequence[Record]) -> None:
        _score(axes, _most_threads(runs), scores[runs[0].settings.data])

    figures: dict[str, Callable[[Any, Sequence[Record]], None]] = {
        "figure1-primal": lambda axes, runs: _primal(axes, _most_threads(runs)),
        "figure2-score": scores_of,
        "figure3-usage": lambda axes, runs: _usage(axes, _most_threads(runs)),
        "figure3-activities": _activities,
        "figure4-threads": lambda axes, runs: _primal(
            axes, [run for name in (SERIAL, "demi-dcd", "shared-dcd") for run in by_threads(runs, name)]
        ),
    }
    return [path for name, paint in figures.items() for path in one_each(records, folder / name, paint)]


def _title(record: Record) -> str:
    return f"{record.settings.algorithm}, {record.settings.threads}"


def _most_threads(runs: Sequence[Record]) -> list[Record]:
    """Return the run of every engine with the most threads."""
    return [found[-1] for engine in ENGINES if (found := by_threads(runs, engine))]


def _primal(axes: Any, runs: Sequence[Record]) -> None:
    """Draw the relative difference to the lowest primal of all runs against time."""
    lines = {
        _title(record): [(row["wall"], row["primal"]) for row in record.rows if row["primal"] is not None]
        for record in runs
        if record.settings.algorithm in WITH_GAP
    }
    lowest = min((value for points in lines.values() for _, value in points), default=1.0)
    for name, points in lines.items():
        line(axes, [(seconds, value / lowest - 1) for seconds, value in points if value > lowest], name)
    logarithmic(axes, y=True)
    axes.set(xlabel="training seconds", ylabel="primal / lowest primal - 1")


def _score(axes: Any, runs: Sequence[Record], score: str) -> None:
    shown: list[float] = []
    for record in runs:
        points = [(row["wall"], row["score"]) for row in measured(record)]
        line(axes, points, _title(record))
        shown += [value for _, value in points[1:]]
    logarithmic(axes)
    zoom(axes, shown, 0.05)
    axes.set(xlabel="training seconds", ylabel=f"test {score}")


def _usage(axes: Any, runs: Sequence[Record]) -> None:
    """Draw how busy the threads were in every pass, 100 % a thread, and the mean in the legend."""
    for record in runs:
        times = [row["wall"] for row in record.rows]
        wall = np.diff([0.0, *times])
        waited = np.array([sum(thread["waiting"] for thread in row["threads"]) for row in record.rows])
        spent = np.array([sum(sum(thread.values()) for thread in row["threads"]) for row in record.rows])
        busy = spent - waited
        label = f"{_title(record)}: mean {100 * busy.sum() / wall.sum():.0f} %"
        line(axes, zip(times, 100 * busy / wall, strict=True), label)
    axes.set(xlabel="training seconds", ylabel="threads at work, %", ylim=(0, None))


def _activities(axes: Any, runs: Sequence[Record]) -> None:
    """Stack what the threads of every run did."""
    shares = {_title(record): found for record in runs if (found := thread_shares(record))}
    left = np.zeros(len(shares))
    for name in ACTIVITIES:
        values = np.array([100 * share[name] for share in shares.values()])
        axes.barh(list(shares), values, left=left, label=name)
        left += values
    axes.invert_yaxis()
    axes.set(xlabel="% of the threads' time", xlim=(0, 100))
    axes.legend(fontsize="x-small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.22))


if __name__ == "__main__":
    main()
