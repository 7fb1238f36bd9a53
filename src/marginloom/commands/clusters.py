"""Options of clusters, and what a cluster must know of a command."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marginloom.clusters.dask import Dask
from marginloom.clusters.launcher import check_started_once
from marginloom.clusters.mpi import MPI
from marginloom.commands.caller import caller
from marginloom.common.parameters import listed, option_name
from marginloom.errors import InputError
from marginloom.io.files import StrPath
from marginloom.io.names import quoted
from marginloom.training.world import Cluster, Recipe

#: Options that only Dask has, which are the parameters of `Dask` too.
DASK_OPTIONS = ("scheduler", "workers", "answer_timeout", "tls_ca", "tls_cert", "tls_key")


def chosen_cluster(name: str | None, dask_options: Mapping[str, Any]) -> Cluster | None:
    """Return the cluster that options name; `InputError` if one of them has no effect.

    Parameters
    ----------
    name : str or None
        The value of ``--cluster``.
    dask_options : mapping
        Those of `DASK_OPTIONS` that were given.

    Examples
    --------
    >>> chosen_cluster("dask", {"workers": 2})
    Dask(workers=2)
    """
    given = caller().cluster
    if given is not None and name is not None:
        raise InputError("--cluster cannot be given beside a cluster that is an object: leave one of them out")
    if name not in (None, "mpi", "dask"):
        raise InputError(f"--cluster must be mpi or dask, not {name!r}")
    if name != "dask" and dask_options:
        names = listed([option_name(option) for option in dask_options])
        raise InputError(f"{names} {'has' if len(dask_options) == 1 else 'have'} no effect without --cluster dask")
    if name == "dask":
        found: Cluster | None = Dask(**dask_options)
    else:
        found = MPI() if name == "mpi" else given
    if not isinstance(found, MPI):
        check_started_once(name)
    return found


def recipe_of(files: Sequence[StrPath]) -> Recipe | None:
    """Return how other processes get the task of this command, which reads these files; None if nobody knows.

    Every process reads them, so they must not be pipes.
    """
    for file in files:
        path = Path(file)
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{quoted(path)} can be read only once, and every process of a cluster reads it: name a file"
            )
    recipe = caller().recipe
    names = tuple(os.fspath(file) for file in files if not Path(file).is_dir())
    return None if recipe is None else dataclasses.replace(recipe, folder=str(Path.cwd()), names=names)
