"""Compare how fast classes, sets of labels and digits are learnt by every algorithm beside LinearSVC with the same C.

Hinge loss, C per example as in fastssvm-2021. Runs end at a certified gap of 0.1 % or when their budget of training
seconds is used up. LinearSVC is trained from nothing for one tolerance after the other. There is a table like Table 2
of the paper, and pictures like its Figures 4 and 6.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import CLASSIFICATION
from harness.figures import WITHIN, Repeats, ending, first_near, highest_dual, lowest_primal, median_near
from harness.package import can_run
from harness.peers import LINEAR_SVC
from harness.pictures import line, logarithmic, one_each, panels, save
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import number, print_table

PUBLISHED = "fsmo as published"
#: By their names in tables. Those of THREADED come once for every number of threads.
ALONE: dict[str, dict[str, Any]] = {
    "shrinking-dcd": {"algorithm": "shrinking-dcd"},
    "dcd-ssvm": {"algorithm": "dcd-ssvm"},
    "fsmo": {"algorithm": "fsmo"},
    "fsmo, inner stop": {"algorithm": "fsmo", "learner": {"inner_stop": True}},
    "bcfw": {"algorithm": "bcfw"},
    "one-slack": {"algorithm": "one-slack"},
    "fsmo, published steps": {"algorithm": "fsmo", "learner": {"variant": "as-published"}},
    PUBLISHED: {"algorithm": "fsmo", "learner": {"variant": "as-published", "batch": 1, "scope": "all"}},
}
THREADED: dict[str, dict[str, Any]] = {
    "fastssvm": {"algorithm": "fastssvm", "engine": {}},
    "shrinking-dcd pipelined": {"algorithm": "shrinking-dcd", "engine": {"name": "pipelined"}},
}
QUESTION = Question("classify", __doc__, tuple(CLASSIFICATION), budget=(60.0, 0.15), threads=(1, 2), clock=True)
Runs = Mapping[str, Repeats]


def main() -> None:
    parser = QUESTION.parser()
    names = (LINEAR_SVC, *ALONE, *THREADED)
    parser.add_argument("--algorithm", choices=names, action="append", help="only this; may be repeated")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    for name in benchmark.sets:
        problem = benchmark.problem(name)
        benchmark.run(plan(problem, benchmark.threads, benchmark.arguments.algorithm or names))
    runs = {name: found for name in benchmark.sets if (found := benchmark.repeats(name))}
    scores, clock = benchmark.score_names, benchmark.clock
    for name, found in runs.items():
        speed_table(name, found, scores[name], clock)
    paper_table(runs, clock)
    drawn = [
        *draw_progress(runs, scores, clock, benchmark.folder),
        *one_each(runs, benchmark.folder / "figure4-speedups", lambda axes, found: _speed_ups(axes, found, clock)),
        *one_each(runs, benchmark.folder / "figure6-threads", _threads),
    ]
    benchmark.end(drawn)


def plan(problem: Problem, threads: Sequence[int], only: Sequence[str]) -> list[Planned]:
    """Plan what runs against each other, the peer first."""
    wanted = {}
    if LINEAR_SVC in only and problem.parts.peer is not None:
        wanted[LINEAR_SVC] = {"algorithm": LINEAR_SVC}
    wanted |= {name: options for name, options in ALONE.items() if name in only}
    for name, options in THREADED.items():
        for count in threads if name in only else ():
            if can_run(options["algorithm"], options["engine"], count, problem.task):
                wanted[f"{name}, {count} threads"] = {**options, "threads": count}
    return [Planned.of(problem, name, loss="hinge", **options) for name, options in wanted.items()]


def speed_table(data: str, runs: Repeats, score: str, clock: str) -> None:
    """Print how soon each algorithm came near the lowest primal, and where it ended."""
    best = lowest_primal(runs)
    peer = median_near(runs[LINEAR_SVC], best, WITHIN[-1], clock) if LINEAR_SVC in runs else None
    within = [f"to {100 * share:g} % of it" for share in WITHIN]
    header = [
        *("algorithm", *within, f"{LINEAR_SVC} / this", "seconds", "passes", "primal", "gap"),
        *(f"test {score}", "end"),
    ]
    bounds = f"lowest primal {best:,.1f}, highest dual {highest_dual(runs):,.1f}"
    rows = [_speed(name, records, best, peer, clock) for name, records in runs.items()]
    print_table(f"{data}: {bounds}; medians of {clock} seconds over the repetitions", header, rows)


def _speed(name: str, records: Sequence[Record], best: float, peer: float | None, clock: str) -> list[str]:
    times = [median_near(records, best, share, clock) for share in WITHIN]
    last = [record.rows[-1] for record in records if record.rows]
    if not last:
        return [name, *["-"] * 8, ending(records)]
    gaps = [record.certified_gap for record in records if record.certified_gap is not None]
    return [
        name,
        *(number(value) for value in times),
        number(peer / times[-1] if peer is not None and times[-1] else None),
        f"{statistics.median(row[clock] for row in last):.2f}",
        f"{statistics.median(row['pass'] for row in last):g}",
        f"{statistics.median(row['primal'] for row in last):,.1f}",
        f"{100 * statistics.median(gaps):.3g} %" if gaps else "-",
        f"{statistics.median(row['score'] for row in last):.4f}",
        ending(records),
    ]


def paper_table(all_runs: Runs, clock: str) -> None:
    """Print seconds and test score by data set and algorithm, as in Table 2.

    The seconds are those to the first primal within 5 % of the lowest, the score is that of the same weights. Of
    fastssvm there are the fewest and the most threads.
    """
    names = list(dict.fromkeys(name for runs in all_runs.values() for name in runs))
    threaded = [name for name in names if name.startswith("fastssvm, ")]
    shown = ["shrinking-dcd", "dcd-ssvm", "fsmo", PUBLISHED, "bcfw", "one-slack", LINEAR_SVC]
    columns = [*reversed(dict.fromkeys([*threaded[:1], *threaded[-1:]])), *(name for name in shown if name in names)]
    rows = [
        [data, *(_paper_cell(runs.get(name, []), lowest_primal(runs), clock) for name in columns)]
        for data, runs in all_runs.items()
    ]
    title = f"As in Table 2: {clock} seconds to {100 * WITHIN[0]:g} % of the lowest primal, and the test score then"
    print_table(title, ["data", *columns], rows)


def _paper_cell(records: Sequence[Record], best: float, clock: str) -> str:
    if not records:
        return "-"
    seconds = median_near(records, best, WITHIN[0], clock)
    first = first_near(records[0], best, WITHIN[0])
    if seconds is not None and first is not None:
        return f"{seconds:.2f} s, {first['score']:.4f}"
    scores = [row["score"] for record in records for row in record.rows]
    reached = f", {max(scores):.4f}" if scores else ""
    return f"not within {records[0].settings.budget:g} s{reached}"


def draw_progress(all_runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    """Draw primal and score against time."""
    if not all_runs:
        return []
    figure, (tops, bottoms) = panels(len(all_runs), 2)
    names = list(dict.fromkeys(name for runs in all_runs.values() for name in runs))
    for top, bottom, (data, runs) in zip(tops, bottoms, all_runs.items(), strict=True):
        best = lowest_primal(runs)
        for name, records in runs.items():
            rows = sorted(records[0].rows, key=lambda row: row[clock])
            style = "--" if name == LINEAR_SVC else "-"
            colour = _colour(names.index(name))
            primals = [(row[clock], max(row["primal"] / best - 1, 1e-5)) for row in rows]
            line(top, primals, name, style, color=colour)
            line(bottom, [(row[clock], row["score"]) for row in rows], name, style, color=colour)
        logarithmic(top, y=True)
        logarithmic(bottom)
        top.axhline(WITHIN[-1], color="grey", lw=0.8)
        top.set(title=data, ylim=(1e-5, 3), ylabel="primal / lowest primal - 1")
        bottom.set(xlabel=f"training seconds ({clock})", ylabel=f"test {scores[data]}")
        seen = [row["score"] for records in runs.values() for record in records for row in record.rows]
        if seen:
            bottom.set_ylim(max(seen) - 0.1, max(seen) + 0.005)
    lines = {drawn.get_label(): drawn for top in tops for drawn in top.get_lines() if drawn.get_label() in names}
    figure.legend(lines.values(), lines, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=min(len(lines), 6))
    return save(figure, folder / "progress")


def _colour(number: int) -> Any:
    """Return one of twenty colours, so that an algorithm has the same one in all panels."""
    import matplotlib as mpl

    return mpl.colormaps["tab20"](number % 20)


def _speed_ups(axes: Any, runs: Repeats, clock: str) -> None:
    """Draw how many times sooner than the slowest each comes near the optimum, as in Figure 4a."""
    best = lowest_primal(runs)
    times = {name: median_near(records, best, WITHIN[0], clock) for name, records in runs.items()}
    reached = {name: value for name, value in times.items() if value}
    slowest = max(reached.values(), default=1.0)
    axes.barh([*reached], [slowest / value for value in reached.values()])
    axes.set(xscale="log", xlabel=f"times as fast as the slowest, to {100 * WITHIN[0]:g} %")
    axes.tick_params(axis="y", labelsize="x-small")
    axes.xaxis.set_minor_formatter("")


def _threads(axes: Any, runs: Repeats) -> None:
    """Draw wall seconds against threads as in Figure 6."""
    best = lowest_primal(runs)
    for way in THREADED:
        points = [
            (records[0].settings.threads, seconds)
            for name, records in runs.items()
            if name.startswith(f"{way}, ") and (seconds := median_near(records, best, WITHIN[0], "wall")) is not None
        ]
        line(axes, sorted(points), way)
    axes.set(xlabel="threads", ylabel=f"wall seconds to {100 * WITHIN[0]:g} %")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)


if __name__ == "__main__":
    main()
