"""Where the data are."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder(argument: str | Path | None) -> Path:
    """Return the folder with the data sets, or end the program with what to do."""
    named = argument or os.environ.get("MARGINLOOM_DATA")
    if not named:
        sys.exit("say where the data sets are: as the argument, or in the environment variable MARGINLOOM_DATA")
    if not Path(named).is_dir():
        sys.exit(f"{named}: there is no such folder; it should hold the data sets that benchmarks/README.md names")
    return Path(named)


def required(path: Path) -> Path:
    """Return a data file's path, or end the program if it is not there."""
    if not path.is_file():
        sys.exit(f"{path}: this data file is missing; benchmarks/README.md says what it should hold")
    return path
