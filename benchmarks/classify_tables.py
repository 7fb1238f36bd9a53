"""Tables and pictures of classify.py, from its records: after Table 2 and Figures 4 to 6 of fastssvm-2021."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from classify_runs import LIBLINEAR
from common import print_table
from learners_pictures import panels, save
from learners_runs import Record

#: The runs of each algorithm on each data set, one a repetition.
Runs = Mapping[str, Mapping[str, Sequence[Record]]]
WITHIN = (0.05, 0.005)


def grouped(records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
    """Sort records by data set and name, without the number of the repetition."""
    result: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        name = record.settings.name.rsplit(" #", 1)[0]
        result.setdefault(record.settings.data, {}).setdefault(name, []).append(record)
    return result


def optimum(runs: Mapping[str, Sequence[Record]]) -> float:
    """Return the lowest primal that any run has seen."""
    return min(row["primal"] for records in runs.values() for record in records for row in record.rows)


def seconds_within(record: Record, best: float, share: float, clock: str) -> float | None:
    """Return the time at which the primal was first within that share of the optimum."""
    return next((row[clock] for row in record.rows if row["primal"] <= best * (1 + share)), None)


def median_within(records: Sequence[Record], best: float, share: float, clock: str) -> float | None:
    """Return the median over the repetitions, or None if one did not get there."""
    found = [seconds_within(record, best, share, clock) for record in records]
    return None if None in found else statistics.median(value for value in found if value is not None)


def show(all_runs: Runs, scores: Mapping[str, str], clock: str) -> None:
    """Print a table a data set."""
    for data, runs in all_runs.items():
        best = optimum(runs)
        peer = median_within(runs.get(LIBLINEAR, []), best, WITHIN[-1], clock) if LIBLINEAR in runs else None
        print(f"\n{data}: lowest primal {best:,.1f}; medians of {clock} seconds over the repetitions\n")
        rows = [_row(name, records, best, peer, clock) for name, records in runs.items()]
        within = [f"to {100 * share:g} % of it" for share in WITHIN]
        header = [
            "algorithm",
            *within,
            f"{LIBLINEAR} / this",
            "seconds",
            "primal",
            "gap",
            f"test {scores[data]}",
            "end",
        ]
        print_table(header, rows)


def _row(name: str, records: Sequence[Record], best: float, peer: float | None, clock: str) -> list[str]:
    times = [median_within(records, best, share, clock) for share in WITHIN]
    last = [record.rows[-1] for record in records if record.rows]
    if not last:
        return [name, *["-"] * 7, "no pass"]
    gaps = [record.certified_gap for record in records if record.certified_gap is not None]
    return [
        name,
        *(f"{value:.2f}" if value is not None else "-" for value in times),
        f"{peer / times[-1]:.2f}" if peer is not None and times[-1] else "-",
        f"{statistics.median(row[clock] for row in last):.2f}",
        f"{statistics.median(row['primal'] for row in last):,.1f}",
        f"{100 * statistics.median(gaps):.3g} %" if gaps else "-",
        f"{statistics.median(row['score'] for row in last):.4f}",
        ", ".join(sorted({record.stopped for record in records})),
    ]


def draw(all_runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    """Draw all pictures, as PNG and SVG, and return their paths."""
    return _progress(all_runs, scores, clock, folder) + _speedups(all_runs, clock, folder) + _threads(all_runs, folder)


def _progress(all_runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    figure, (tops, bottoms) = panels(len(all_runs), 2)
    for top, bottom, (data, runs) in zip(tops, bottoms, all_runs.items(), strict=True):
        best = optimum(runs)
        for name, records in runs.items():
            rows = sorted(records[0].rows, key=lambda row: row[clock])
            times = [row[clock] for row in rows]
            style: dict[str, Any] = {"marker": ".", "lw": 1, "label": name, "ls": "--" if name == LIBLINEAR else "-"}
            top.plot(times, [max(row["primal"] / best - 1, 1e-5) for row in rows], **style)
            bottom.plot(times, [row["score"] for row in rows], **style)
        top.axhline(WITHIN[-1], color="grey", lw=0.8)
        top.set(title=data, xscale="log", yscale="log", ylim=(1e-5, 3), ylabel="primal / lowest primal - 1")
        highest = max(row["score"] for records in runs.values() for record in records for row in record.rows)
        bottom.set(xscale="log", xlabel=f"training seconds ({clock})", ylabel=f"test {scores[data]}")
        bottom.set_ylim(highest - 0.1, highest + 0.005)
    tops[0].legend(fontsize="x-small")
    return save(figure, folder / "progress")


def _speedups(all_runs: Runs, clock: str, folder: Path) -> list[Path]:
    """Speed-ups over the slowest as in Figures 4a and 5a: how many times sooner each comes near the optimum."""
    figure, (axes,) = panels(len(all_runs), 1)
    for panel, (data, runs) in zip(axes, all_runs.items(), strict=True):
        best = optimum(runs)
        times = {name: median_within(records, best, WITHIN[0], clock) for name, records in runs.items()}
        reached = {name: value for name, value in times.items() if value}
        slowest = max(reached.values(), default=1.0)
        panel.barh([*reached], [slowest / value for value in reached.values()])
        panel.set(title=data, xscale="log", xlabel=f"times as fast as the slowest, to {100 * WITHIN[0]:g} %")
    return save(figure, folder / "figure4-speedups")


def _threads(all_runs: Runs, folder: Path) -> list[Path]:
    """Wall seconds against threads as in Figure 6, for algorithms that ran with several numbers of them."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for data, runs in all_runs.items():
        best = optimum(runs)
        for name, records in runs.items():
            seconds = median_within(records, best, WITHIN[0], "wall")
            if name.endswith("threads") and seconds is not None:
                lines.setdefault(data, []).append((records[0].settings.threads, seconds))
    if not lines:
        return []
    figure, ((panel,),) = panels(1, 1)
    for data, points in lines.items():
        panel.plot(*zip(*sorted(points), strict=True), marker="o", label=data)
    panel.set(xlabel="threads", ylabel=f"wall seconds to {100 * WITHIN[0]:g} %", yscale="log")
    panel.legend()
    return save(figure, folder / "figure6-threads")
