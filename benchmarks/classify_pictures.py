"""Pictures of classify.py, from its records: after Figures 4 to 6 of fastssvm-2021, and of batch sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from classify_runs import LIBLINEAR
from classify_tables import WITHIN, Runs, median_within, optimum
from learners_pictures import panels, save

#: What is switched on one after the other in Figure 5a, with the name of what is new.
STEPS = {
    "nothing": "",
    "batches alone": "batches",
    "batches and stopping": "adapted stopping",
    "batches, stopping and threads": "threads",
    "fastssvm": "blocks of the batch only",
}


def progress(all_runs: Runs, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    """Draw primal and score against time."""
    figure, (tops, bottoms) = panels(len(all_runs), 2)
    names = list(dict.fromkeys(name for runs in all_runs.values() for name in runs))
    for top, bottom, (data, runs) in zip(tops, bottoms, all_runs.items(), strict=True):
        best = optimum(runs)
        for name, records in runs.items():
            rows = sorted(records[0].rows, key=lambda row: row[clock])
            times = [row[clock] for row in rows]
            style: dict[str, Any] = {
                "marker": ".",
                "lw": 1,
                "label": name,
                "ls": "--" if name == LIBLINEAR else "-",
                "color": _colour(names.index(name)),
            }
            top.plot(times, [max(row["primal"] / best - 1, 1e-5) for row in rows], **style)
            bottom.plot(times, [row["score"] for row in rows], **style)
        top.axhline(WITHIN[-1], color="grey", lw=0.8)
        top.set(title=data, xscale="log", yscale="log", ylim=(1e-5, 3), ylabel="primal / lowest primal - 1")
        seen = [row["score"] for records in runs.values() for record in records for row in record.rows]
        bottom.set(xscale="log", xlabel=f"training seconds ({clock})", ylabel=f"test {scores[data]}")
        if seen:
            bottom.set_ylim(max(seen) - 0.1, max(seen) + 0.005)
    lines = {line.get_label(): line for top in tops for line in top.get_lines() if line.get_label() in names}
    figure.legend(lines.values(), lines, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=min(len(lines), 6))
    return save(figure, folder / "progress")


def _colour(number: int) -> Any:
    """Return one of twenty colours, so that an algorithm has the same one in all panels."""
    import matplotlib as mpl

    return mpl.colormaps["tab20"](number % 20)


def speedups(all_runs: Runs, clock: str, folder: Path) -> list[Path]:
    """Draw how many times sooner than the slowest each comes near the optimum, as in Figure 4a."""
    figure, (axes,) = panels(len(all_runs), 1)
    for panel, (data, runs) in zip(axes, all_runs.items(), strict=True):
        best = optimum(runs)
        times = {name: median_within(records, best, WITHIN[0], clock) for name, records in runs.items()}
        reached = {name: value for name, value in times.items() if value}
        slowest = max(reached.values(), default=1.0)
        panel.barh([*reached], [slowest / value for value in reached.values()])
        panel.set(title=data, xscale="log", xlabel=f"times as fast as the slowest, to {100 * WITHIN[0]:g} %")
        panel.tick_params(axis="y", labelsize="x-small")
        panel.xaxis.set_minor_formatter("")  # labels of ticks between the powers of ten overlap in a small panel
    return save(figure, folder / "figure4-speedups")


def threads(all_runs: Runs, folder: Path) -> list[Path]:
    """Draw wall seconds against threads as in Figure 6."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for data, runs in all_runs.items():
        best = optimum(runs)
        for name, records in runs.items():
            seconds = median_within(records, best, WITHIN[0], "wall")
            if name.endswith(" threads") and seconds is not None:
                way = lines.setdefault(data, {}).setdefault(name.split(", ")[0], [])
                way.append((records[0].settings.threads, seconds))
    if not lines:
        return []
    figure, (axes,) = panels(len(lines), 1)
    for panel, (data, ways) in zip(axes, lines.items(), strict=True):
        for way, points in ways.items():
            panel.plot(*zip(*sorted(points), strict=True), marker="o", label=way)
        panel.set(title=data, xlabel="threads", ylabel=f"wall seconds to {100 * WITHIN[0]:g} %")
        panel.set_xscale("log", base=2)
        panel.set_ylim(bottom=0)
    axes[0].legend(fontsize="small")
    return save(figure, folder / "figure6-threads")


def shares(all_runs: Runs, clock: str, folder: Path) -> list[Path]:
    """Draw how many times as fast each part makes what was there before it: Figure 5a, but for its scale.

    The paper has shares of the whole speed-up, which would be negative for a part that costs time.
    """
    parts = {data: _factors(runs, clock) for data, runs in all_runs.items()}
    drawn = {data: found for data, found in parts.items() if found}
    if not drawn:
        return []
    figure, (axes,) = panels(len(drawn), 1)
    for panel, (data, factors) in zip(axes, drawn.items(), strict=True):
        panel.barh([*reversed(factors)], [factor - 1 for factor in reversed(factors.values())], left=1)
        panel.axvline(1, color="grey", lw=0.8)
        panel.set(title=data, xscale="log", xlabel=f"times as fast with it ({clock} seconds)")
        panel.xaxis.set_minor_formatter("")
    return save(figure, folder / "figure5a-shares")


def _factors(runs: Mapping[str, Any], clock: str) -> dict[str, float]:
    """Return what each step brings; only those between runs that came near the optimum."""
    best = optimum(runs)
    times = [median_within(runs[name], best, WITHIN[0], clock) if name in runs else None for name in STEPS]
    steps = zip(list(STEPS.values())[1:], times, times[1:], strict=False)
    return {part: before / after for part, before, after in steps if before and after}


def batches(all_runs: Runs, clock: str, folder: Path) -> list[Path]:
    """Draw the seconds by size of batch: the paper's open question."""
    figure, (axes,) = panels(len(all_runs), 1)
    for panel, (data, runs) in zip(axes, all_runs.items(), strict=True):
        best = optimum(runs)
        for share in WITHIN:
            points = []
            for records in runs.values():
                seconds = median_within(records, best, share, clock)
                if seconds is not None:
                    points.append((records[0].settings.learner["batch"], seconds))
            if points:
                panel.plot(*zip(*sorted(points), strict=True), marker="o", label=f"to {100 * share:g} %")
        panel.set(title=data, xlabel="constraints in a batch", ylabel=f"{clock} seconds", xscale="log", yscale="log")
    axes[0].legend(fontsize="small")
    return save(figure, folder / "batches")
