"""Who computes what, where and when: one file an engine."""

from marginloom.engines.base import Engine, Job
from marginloom.engines.serial import Serial

__all__ = ["Engine", "Job", "Serial"]
