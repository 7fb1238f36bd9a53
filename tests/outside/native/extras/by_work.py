"""Examples in the order of their work: description and parameters; the engine is in engines/by_work.cpp."""

from __future__ import annotations

import dataclasses

from marginloom.common.parameters import one_of, parameter
from marginloom.engines.base import Engine


@dataclasses.dataclass(frozen=True)
class ByWork(Engine):
    """One thread that visits the examples in the order of the work that their searches are."""

    work_order: str = parameter(
        "cheap-first", one_of("cheap-first", "expensive-first"), "which examples come first in every pass"
    )

    name = "by-work"
    kinds = frozenset({"dual"})
    needs = frozenset[str]()
    honours = frozenset({"inner_passes", "shrinking", "averaged"})
    minimum_threads = 1
