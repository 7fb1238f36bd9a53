"""Tables in Markdown, and the machine that their figures are of."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import marginloom
from harness.package import available_cores, instruction_set


def machine() -> str:
    """Describe the machine in a line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {available_cores()} cores, {instruction_set()}, Python {platform.python_version()}, "
        f"marginloom {marginloom.__version__}"
    )


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table under a line that says what it is; nothing if it has no rows."""
    if not rows:
        return
    print(f"\n{title}\n")
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(row) + " |", flush=True)


def number(value: float | None, form: str = "{:.2f}") -> str:
    """Show a number, or a dash."""
    return "-" if value is None else form.format(value)


def percent(value: float | None, form: str = "{:.1f} %") -> str:
    """Show a share, or a dash."""
    return number(None if value is None else 100 * value, form)
