"""How progress looks on a terminal: a text, a bar where there is room for one, and the times, all in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task


def progress_columns() -> list[ProgressColumn]:
    """Return the columns of a progress line; where the terminal is narrow, the bar is short and the rest whole."""
    from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Times(ProgressColumn):
        """The time so far, and an estimate of the rest."""

        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            elapsed, remaining = task.elapsed or 0.0, task.time_remaining
            if remaining is None and task.total and task.completed:  # steps too far apart for an estimate of rich's
                remaining = elapsed * (task.total / task.completed - 1)
            return Text(times(elapsed, remaining), style="progress.elapsed")

    return [
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=None, table_column=Column(ratio=1)),
        Times(table_column=Column(no_wrap=True)),
    ]


def times(elapsed: float, remaining: float | None) -> str:
    """Say how long something has taken, and how long it may still take if that is known.

    Examples
    --------
    >>> times(65.4, 3725.0), times(3.0, None)
    ('1:05 elapsed, 1:02:05 remaining', '0:03 elapsed')
    """
    so_far = f"{_clock(elapsed)} elapsed"
    return so_far if remaining is None else f"{so_far}, {_clock(remaining)} remaining"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
