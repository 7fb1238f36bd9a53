"""Who computes what, where and when: one file an engine."""

from marginloom.engines.base import Engine, Job
from marginloom.engines.minibatch import Minibatch
from marginloom.engines.mixing import Mixing, Subsample
from marginloom.engines.serial import Serial

__all__ = ["Engine", "Job", "Minibatch", "Mixing", "Serial", "Subsample"]
