"""What a program that takes part in a comparison is, and what is measured of it."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

OURS = "marginloom"


class Measured(NamedTuple):
    """Test scores by name, CPU seconds of training and prediction, items predicted, and bytes of the stored model."""

    scores: dict[str, float]
    training: float
    predicting: float
    items: int
    model_bytes: int


@dataclass(frozen=True)
class System:
    """A program, and the module that must be there to run it; None for ours.

    `run` trains on a contest, predicts and scores. It gets the folder of the data and how many items to sample.
    """

    name: str
    module: str | None
    run: Callable[[Path, int | None], Measured]

    @property
    def is_installed(self) -> bool:
        """Whether the module can be imported."""
        try:
            return self.module is None or importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # of the package that it is in
            return False


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work returns, and its CPU seconds."""
    start = time.process_time()
    return work(), time.process_time() - start


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
