"""What the benchmarks share: where the data are, what the machine is, and tables."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import marginloom
from marginloom import _core
from marginloom.threads import available_cores


def data_folder(argument: str | None) -> Path:
    """Return the folder with the data sets, or end the program with what to do."""
    named = argument or os.environ.get("MARGINLOOM_DATA")
    if named is None:
        sys.exit("say where the data sets are: as the argument, or in the environment variable MARGINLOOM_DATA")
    if not Path(named).is_dir():
        sys.exit(f"{named}: there is no such folder; it should hold the data sets that benchmarks/README.md names")
    return Path(named)


def required(path: Path) -> str:
    """Return a data file's path, or end the program if it is not there."""
    if not path.is_file():
        sys.exit(f"{path}: this data file is missing; benchmarks/README.md says what it should hold")
    return str(path)


def machine() -> str:
    """Describe the machine in a line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {available_cores()} cores, {_core.simd_selected()}, Python {platform.python_version()}, "
        f"marginloom {marginloom.__version__}"
    )


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(row) + " |", flush=True)
