"""Where a case finds the good files, and where it may write."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Lab:
    """Folders: `samples` is shared and only read, `scratch` is the worker's own."""

    samples: Path
    scratch: Path

    def empty(self, name):
        """Return an empty folder."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
