"""marginloom trains linear structured predictors with large margins and proves how close to the optimum they are."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from marginloom.tasks.registry import public_homes

__version__ = "0.1.0"

if TYPE_CHECKING:
    from marginloom.algorithms import ALGORITHMS as ALGORITHMS
    from marginloom.algorithms import find_algorithm as find_algorithm
    from marginloom.cli.files import train_files as train_files
    from marginloom.clusters.dask import Dask as Dask
    from marginloom.clusters.mpi import MPI as MPI
    from marginloom.engines import *  # noqa: F403
    from marginloom.errors import ClusterWarning as ClusterWarning
    from marginloom.errors import InputError as InputError
    from marginloom.errors import InputWarning as InputWarning
    from marginloom.errors import MarginloomError as MarginloomError
    from marginloom.errors import MemoryWarning as MemoryWarning
    from marginloom.errors import ModelFileError as ModelFileError
    from marginloom.errors import OptionWarning as OptionWarning
    from marginloom.errors import PartError as PartError
    from marginloom.errors import ScoreWarning as ScoreWarning
    from marginloom.io.crfsuite import read_crfsuite as read_crfsuite
    from marginloom.io.crfsuite import write_crfsuite as write_crfsuite
    from marginloom.io.libsvm import read_libsvm as read_libsvm
    from marginloom.io.libsvm import write_libsvm as write_libsvm
    from marginloom.io.libsvm_sequences import read_libsvm_sequences as read_libsvm_sequences
    from marginloom.learners import *  # noqa: F403
    from marginloom.tasks.loading import load as load
    from marginloom.tasks.registry import *  # noqa: F403
    from marginloom.training.callbacks import Callback as Callback
    from marginloom.training.callbacks import EarlyStopping as EarlyStopping
    from marginloom.training.callbacks import ProgressBar as ProgressBar
    from marginloom.training.certificate import Certificate as Certificate
    from marginloom.training.checkpoint import Checkpoint as Checkpoint
    from marginloom.training.result import Result as Result
    from marginloom.training.state import State as State
    from marginloom.training.train import train as train

_HOMES = {
    "ALGORITHMS": "marginloom.algorithms",
    "Callback": "marginloom.training.callbacks",
    "Certificate": "marginloom.training.certificate",
    "Checkpoint": "marginloom.training.checkpoint",
    "ClusterWarning": "marginloom.errors",
    "Dask": "marginloom.clusters.dask",
    "EarlyStopping": "marginloom.training.callbacks",
    "InputError": "marginloom.errors",
    "InputWarning": "marginloom.errors",
    "MPI": "marginloom.clusters.mpi",
    "MarginloomError": "marginloom.errors",
    "MemoryWarning": "marginloom.errors",
    "ModelFileError": "marginloom.errors",
    "OptionWarning": "marginloom.errors",
    "PartError": "marginloom.errors",
    "ProgressBar": "marginloom.training.callbacks",
    "Result": "marginloom.training.result",
    "ScoreWarning": "marginloom.errors",
    "State": "marginloom.training.state",
    "find_algorithm": "marginloom.algorithms",
    "load": "marginloom.tasks.loading",
    "read_crfsuite": "marginloom.io.crfsuite",
    "read_libsvm": "marginloom.io.libsvm",
    "read_libsvm_sequences": "marginloom.io.libsvm_sequences",
    "train": "marginloom.training.train",
    "train_files": "marginloom.cli.files",
    "write_crfsuite": "marginloom.io.crfsuite",
    "write_libsvm": "marginloom.io.libsvm",
    **public_homes(),
}


def _homes() -> dict[str, str]:
    """Return where the names are; which learners and engines there are is known when these are loaded."""
    parts = {
        package: importlib.import_module(package).PUBLIC for package in ("marginloom.learners", "marginloom.engines")
    }
    return {**_HOMES, **{name: package for package, names in parts.items() for name in names}}


def __getattr__(name: str) -> Any:
    if name == "metrics":  # a module: to be had without a second import
        return importlib.import_module("marginloom.metrics")
    if name == "__all__":
        return sorted(_homes())
    home = _HOMES.get(name) or (None if name.startswith("_") else _homes().get(name))
    if home is None:
        raise AttributeError(f"module 'marginloom' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
