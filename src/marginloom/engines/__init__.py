"""Who computes what, where and when: one file an engine. An engine is listed here, and nowhere else."""
# ruff: noqa: I001 - the order in which users see them

from marginloom.engines.base import Engine, check_native
from marginloom.engines.serial import Serial as Serial
from marginloom.engines.minibatch import Minibatch as Minibatch
from marginloom.engines.mixing import Mixing as Mixing
from marginloom.engines.subsample import Subsample as Subsample
from marginloom.engines.master_worker import MasterWorker as MasterWorker
from marginloom.engines.decoupled import Decoupled as Decoupled
from marginloom.engines.shared import Shared as Shared
from marginloom.engines.pipelined import Pipelined as Pipelined
from marginloom.engines.cascade import Cascade as Cascade
from marginloom.common.registry import registered, those_with_a_name

_OWN = those_with_a_name(globals(), Engine)

#: Names in `marginloom`.
PUBLIC: tuple[str, ...] = tuple(part.__name__ for part in _OWN)

#: All engines, by name.
ENGINES = registered("engine", Engine, _OWN, check_native)
