"""What commands print for reading, as tables that fit a terminal and a pipe alike."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

#: Columns that no line exceeds.
WIDEST = 100


def line_width(widest: int = WIDEST) -> int:
    """Return how many columns a line on standard output may have: at most those of a terminal, or of COLUMNS."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return min(widest, shutil.get_terminal_size().columns) if known else widest


def print_table(table: Table, widest: int = WIDEST) -> None:
    """Print a table of at most so many columns on standard output, in colors where that is a terminal."""
    from rich.console import Console

    console = Console(file=sys.stdout, width=line_width(widest), highlight=False, emoji=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    print("\n".join(line for line in lines if line))


def plain_table(headers: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[str] = ()) -> Table:
    """Return a table without lines but one below the headers, with the columns of `numbers` to the right.

    Text in cells is shown as it is; what would control a terminal is shown as Python writes it.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, show_header=any(headers))
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    return table


def printable(text: str) -> str:
    r"""Show what is no printable character as Python writes it.

    Examples
    --------
    >>> printable("a\tb")
    'a\\tb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
