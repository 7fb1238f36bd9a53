"""Pictures of learners.py, after Figures 1 to 3 of dcd-ssvm-2013, from its records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from learners_runs import Record
from learners_tables import SQUARED_HINGE, Records

PICTURES = {
    "figure2-cutting-planes-and-frank-wolfe": ("dcd-ssvm", "one-slack", "bcfw"),
    "figure3-online": ("dcd-ssvm", "averaged-perceptron", "mira", "sgd"),
}


def draw(records: Records, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    """Draw all pictures, as PNG and SVG, and return their paths."""
    if not records:
        return []
    paths = _squared_hinge(records, scores, clock, folder)
    for name, learners in PICTURES.items():
        figure, rows = panels(len(records), 1)
        for axes, (data, runs) in zip(rows[0], records.items(), strict=True):
            _score_lines(axes, runs, learners, clock)
            axes.set(title=data, xlabel=f"training seconds ({clock})", ylabel=f"test {scores[data]}")
            _zoom(axes, runs, learners)
        paths += save(figure, folder / name)
    return paths


def _squared_hinge(records: Records, scores: Mapping[str, str], clock: str, folder: Path) -> list[Path]:
    figure, (tops, bottoms) = panels(len(records), 2)
    for top, bottom, (data, runs) in zip(tops, bottoms, records.items(), strict=True):
        _score_lines(top, runs, SQUARED_HINGE, clock)
        top.set(title=data, ylabel=f"test {scores[data]}")
        _zoom(top, runs, SQUARED_HINGE)
        present = {name: runs[name] for name in SQUARED_HINGE if name in runs}
        optimum = max((row["dual"] for record in present.values() for row in record.rows), default=1.0)
        _lines(bottom, present, clock, lambda row, optimum=optimum: row["primal"] / optimum - 1)
        bottom.set(xlabel=f"training seconds ({clock})", ylabel="primal / greatest dual - 1", yscale="log")
    return save(figure, folder / "figure1-squared-hinge")


def panels(columns: int, rows: int) -> tuple[Any, Any]:
    """Make a figure with that many panels."""
    try:
        import matplotlib as mpl
    except ImportError:
        sys.exit("the pictures need matplotlib; install it with: pip install 'marginloom[report]'")
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.4 * rows), squeeze=False)
    return figure, axes


def _score_lines(axes: Any, runs: Mapping[str, Record], learners: tuple[str, ...], clock: str) -> None:
    _lines(axes, {name: runs[name] for name in learners if name in runs}, clock, lambda row: row["score"])


def _lines(axes: Any, runs: Mapping[str, Record], clock: str, value: Callable[[dict[str, Any]], float]) -> None:
    """Draw a line a learner with a marker a pass."""
    for name, record in runs.items():
        axes.plot(
            [row[clock] for row in record.rows], [value(row) for row in record.rows], marker=".", lw=1, label=name
        )
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter("")  # labels of ticks between the powers of ten overlap in a small panel
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _zoom(axes: Any, runs: Mapping[str, Record], learners: tuple[str, ...]) -> None:
    """Leave out the lowest scores of early passes, which would press the rest into a line."""
    shown = [row["score"] for name in learners if name in runs for row in runs[name].rows[2:]]
    if shown:
        axes.set_ylim(max(min(shown), max(shown) - 0.1) - 0.002, max(shown) + 0.002)


def save(figure: Any, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG and return the paths."""
    figure.tight_layout()
    paths = [path.with_suffix(ending) for ending in (".png", ".svg")]
    for target in paths:
        figure.savefig(target, dpi=120, bbox_inches="tight")
    return paths
