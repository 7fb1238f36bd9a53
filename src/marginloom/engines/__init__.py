"""Who computes what, where and when: one file an engine."""

from marginloom.engines.base import Engine, Job
from marginloom.engines.columns import Columns
from marginloom.engines.decoupled import Decoupled
from marginloom.engines.master_worker import MasterWorker
from marginloom.engines.minibatch import Minibatch
from marginloom.engines.mixing import Mixing, Subsample
from marginloom.engines.pipelined import Pipelined
from marginloom.engines.serial import Serial
from marginloom.engines.shared import Shared

#: All engines, by name.
ENGINES: dict[str, type[Engine]] = {
    engine.name: engine
    for engine in (Serial, Minibatch, Mixing, Subsample, MasterWorker, Decoupled, Shared, Pipelined, Columns)
}

__all__ = [
    "ENGINES",
    "Columns",
    "Decoupled",
    "Engine",
    "Job",
    "MasterWorker",
    "Minibatch",
    "Mixing",
    "Pipelined",
    "Serial",
    "Shared",
    "Subsample",
]
