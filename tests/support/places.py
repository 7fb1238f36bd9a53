"""Where things are, for tests that look at files of the project."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OUTSIDE = ROOT / "tests" / "outside"
