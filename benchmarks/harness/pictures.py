"""Pictures: panels side by side, one a data set as a rule, written as PNG and SVG."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def panels(columns: int, rows: int = 1) -> tuple[Any, Any]:
    """Make a figure with that many panels; the second value has a row of them for each row."""
    try:
        import matplotlib as mpl
    except ImportError:
        sys.exit("the pictures need matplotlib; install it with: pip install 'marginloom[benchmark]'")
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.4 * rows), squeeze=False)


def one_each(by_set: Mapping[str, T], path: Path, paint: Callable[[Any, T], None]) -> list[Path]:
    """Draw a panel a data set, each with its name above it and a legend if it has lines."""
    if not by_set:
        return []
    figure, (row,) = panels(len(by_set))
    for axes, (data, found) in zip(row, by_set.items(), strict=True):
        paint(axes, found)
        axes.set_title(data)
        finish(axes)
    return save(figure, path)


def line(axes: Any, points: Iterable[tuple[float, float]], label: str, style: str = "-", **more: Any) -> None:
    """Draw a line with a marker a point."""
    columns: Sequence[Sequence[float]] = list(zip(*points, strict=True)) or [(), ()]
    axes.plot(*columns, style, **{"marker": ".", "lw": 1, "label": label, **more})


def logarithmic(axes: Any, *, x: bool = True, y: bool = False) -> None:
    """Make scales logarithmic, if there is a point: matplotlib refuses logarithms of nothing."""
    if not any(len(drawn.get_xdata()) for drawn in axes.get_lines()):
        return
    if y:
        axes.set_yscale("log")
    if x:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")  # labels of ticks between the powers of ten overlap in a small panel


def zoom(axes: Any, values: Sequence[float], most: float = 0.1) -> None:
    """Show the highest values only: those of the first passes would press the rest into a line."""
    if values:
        axes.set_ylim(max(min(values), max(values) - most) - 0.002, max(values) + 0.002)


def finish(axes: Any) -> None:
    """Add grid and legend, where there is none yet."""
    axes.grid(alpha=0.3)
    if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="x-small")


def save(figure: Any, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG and return the paths."""
    from matplotlib import pyplot

    figure.tight_layout()
    paths = [path.with_suffix(ending) for ending in (".png", ".svg")]
    for target in paths:
        figure.savefig(target, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
    return paths
