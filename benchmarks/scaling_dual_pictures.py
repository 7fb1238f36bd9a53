"""Pictures of the part `dual`, after Figures 1 to 4 of demi-dcd-2013, one file a figure with a panel a data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from learners_pictures import panels, save
from learners_runs import Record
from scaling_dual import ENGINES, RHO_INFERENCES, RHO_UPDATES
from scaling_figures import by_threads, certified_seconds, measured, thread_shares, title
from scaling_runs import ACTIVITIES

Records = Mapping[str, Sequence[Record]]
BUSY = tuple(name for name in ACTIVITIES if name != "waiting")
GAPS = ("dcd-ssvm", "ms-dcd", "demi-dcd", "shared-dcd")


def draw_dual(records: Records, scores: Mapping[str, str], folder: Path) -> list[Path]:
    """Draw the four figures, and the seconds to 1 % by threads."""
    return [
        *_each(records, folder / "dual-figure1-primal", lambda axes, data, runs: _primal(axes, _most_threads(runs))),
        *_each(records, folder / "dual-figure2-score", lambda axes, data, runs: _score(axes, runs, scores[data])),
        *_each(records, folder / "dual-figure3-usage", lambda axes, data, runs: _usage(axes, _most_threads(runs))),
        *_each(records, folder / "dual-figure3-activities", lambda axes, data, runs: _activities(axes, runs)),
        *_each(records, folder / "dual-figure4-threads", lambda axes, data, runs: _threads(axes, runs)),
    ]


def draw_rho(records: Records, scores: Mapping[str, str], folder: Path) -> list[Path]:
    """Draw the seconds to 1 % against rho_updates, a line for each rho_inferences."""
    return _each(records, folder / "rho", lambda axes, data, runs: _rho(axes, runs))


def _each(records: Records, path: Path, paint: Callable[[Any, str, Sequence[Record]], None]) -> list[Path]:
    figure, rows = panels(len(records), 1)
    for axes, (data, runs) in zip(rows[0], records.items(), strict=True):
        paint(axes, data, runs)
        axes.set_title(data)
        if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="x-small")
    return save(figure, path)


def _most_threads(runs: Sequence[Record]) -> list[Record]:
    """Return the run of every engine with the most threads."""
    return [found[-1] for engine in ENGINES if (found := by_threads(runs, engine))]


def _primal(axes: Any, runs: Sequence[Record]) -> None:
    """Draw the relative difference to the lowest primal of all runs against time, both on log scales."""
    lines = {
        title(record): [(row["wall"], row["primal"]) for row in record.rows if row["primal"] is not None]
        for record in runs
        if record.settings.algorithm in GAPS
    }
    reference = min((value for points in lines.values() for _, value in points), default=1.0)
    axes.set(xlabel="training seconds", ylabel="primal / lowest primal - 1")
    above = {
        name: [(seconds, value / reference - 1) for seconds, value in points if value > reference]
        for name, points in lines.items()
    }
    if not any(above.values()):  # matplotlib refuses log scales without a point
        return
    for name, points in above.items():
        axes.plot([seconds for seconds, _ in points], [value for _, value in points], marker=".", lw=1, label=name)
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)


def _score(axes: Any, runs: Sequence[Record], score: str) -> None:
    shown = []
    for record in _most_threads(runs):
        rows = measured(record)
        axes.plot([row["wall"] for row in rows], [row["score"] for row in rows], marker=".", lw=1, label=title(record))
        shown += [row["score"] for row in rows[1:]]
    if shown:  # the first passes would press the rest into a line
        axes.set_ylim(max(min(shown), max(shown) - 0.05) - 0.002, max(shown) + 0.002)
    axes.set(xscale="log", xlabel="training seconds", ylabel=f"test {score}")
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)


def _usage(axes: Any, runs: Sequence[Record]) -> None:
    """Draw how busy the threads were in every pass, 100 % a thread, and the mean in the legend."""
    for record in runs:
        if not record.rows:
            continue
        wall = np.diff([0.0, *(row["wall"] for row in record.rows)])
        busy = np.array([sum(thread[name] for thread in row["threads"] for name in BUSY) for row in record.rows])
        label = f"{title(record)}: mean {100 * busy.sum() / wall.sum():.0f} %"
        axes.plot([row["wall"] for row in record.rows], 100 * busy / wall, marker=".", lw=1, label=label)
    axes.set(xlabel="training seconds", ylabel="threads at work, %", ylim=(0, None))
    axes.grid(alpha=0.3)


def _activities(axes: Any, runs: Sequence[Record]) -> None:
    """Stack what the threads of every run did."""
    ordered = [record for engine in ENGINES for record in by_threads(runs, engine)]
    shares = {title(record): found for record in ordered if (found := thread_shares(record))}
    left = np.zeros(len(shares))
    for name in ACTIVITIES:
        values = np.array([100 * share[name] for share in shares.values()])
        axes.barh(list(shares), values, left=left, label=name)
        left += values
    axes.invert_yaxis()
    axes.set(xlabel="% of the threads' time", xlim=(0, 100))
    axes.legend(fontsize="x-small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _threads(axes: Any, runs: Sequence[Record]) -> None:
    _primal(axes, [*by_threads(runs, "dcd-ssvm"), *by_threads(runs, "demi-dcd"), *by_threads(runs, "shared-dcd")])


def _rho(axes: Any, runs: Sequence[Record]) -> None:
    most = max(record.settings.threads for record in runs)
    for inferences in RHO_INFERENCES:
        points = sorted(
            (record.settings.engine["rho_updates"], seconds)
            for record in runs
            if record.settings.threads == most
            and record.settings.engine["rho_inferences"] == inferences
            and (seconds := certified_seconds(record)) is not None
        )
        label = f"rho_inferences = {inferences}"
        axes.plot([updates for updates, _ in points], [seconds for _, seconds in points], marker=".", lw=1, label=label)
    axes.set(xscale="log", xlabel="rho_updates", ylabel=f"seconds to 1 %, {most} threads", ylim=(0, None))
    axes.set_xticks(RHO_UPDATES, [str(updates) for updates in RHO_UPDATES])
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)
