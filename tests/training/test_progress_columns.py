"""What a terminal shows of progress: the text and the times whole, and a bar where there is room."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from marginloom.training.progress_columns import progress_columns

TEXT = "pass 100  gap 97.51 %  dev micro_f1 0.8672"


def shown(columns, elapsed):
    """Show a pass in a terminal of so many columns, a quarter done after some time."""
    now = [0.0]
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)
    bar = Progress(*progress_columns(), console=console, expand=True, get_time=lambda: now[0], auto_refresh=False)
    task = bar.add_task(TEXT, total=1.0)
    for done in (0.125, 0.25):
        now[0] += elapsed / 2
        bar.update(task, completed=done)
    console.print(bar.get_renderable())
    return console.file.getvalue().rstrip("\n")


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize(
    ("elapsed", "times"), [(8, "0:08 elapsed, 0:24 remaining"), (600, "10:00 elapsed, 30:00 remaining")]
)
def test_text_and_times_are_whole(columns, elapsed, times):
    line = shown(columns, elapsed)
    assert TEXT in line
    assert line.rstrip().endswith(times)
    assert len(line) <= columns


def test_the_bar_takes_what_is_left():
    assert shown(200, 8).count("━") > shown(100, 8).count("━") > shown(80, 8).count("━") >= 0
