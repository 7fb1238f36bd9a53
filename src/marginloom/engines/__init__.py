"""Who computes what, where and when: one file an engine."""

from marginloom.engines.base import Engine, Job
from marginloom.engines.decoupled import Decoupled
from marginloom.engines.master_worker import MasterWorker
from marginloom.engines.serial import Serial

__all__ = ["Decoupled", "Engine", "Job", "MasterWorker", "Serial"]
