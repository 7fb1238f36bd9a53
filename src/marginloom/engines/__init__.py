"""Who computes what, where and when: one file an engine."""

from marginloom.engines.base import Engine, Job
from marginloom.engines.decoupled import Decoupled
from marginloom.engines.master_worker import MasterWorker
from marginloom.engines.minibatch import Minibatch
from marginloom.engines.mixing import Mixing, Subsample
from marginloom.engines.serial import Serial

__all__ = ["Decoupled", "Engine", "Job", "MasterWorker", "Minibatch", "Mixing", "Serial", "Subsample"]
