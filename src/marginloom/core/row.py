"""A row of a trace: what is known after a pass, by the names that `marginloom.training.trace.Trace` explains."""

from typing import Any

Row = dict[str, Any]
