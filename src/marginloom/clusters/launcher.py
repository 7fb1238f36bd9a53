"""What the program that has started this process says of the others that it has started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from marginloom.errors import InputError

#: How many processes there are, by MPICH and its kin, Open MPI, and Slurm: of its step, else of the job.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
#: Which of them this one is.
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")


def launched(environment: Mapping[str, str] = os.environ) -> tuple[int, str]:
    """Return how many processes were started together, and the variable that says so; 1 if none does.

    Examples
    --------
    >>> launched({"PMI_SIZE": "4"}), launched({"SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "8"})
    ((4, 'PMI_SIZE'), (1, 'SLURM_STEP_NUM_TASKS'))
    """
    for name in _SIZES:
        if (value := _number(environment, name)) is not None:
            return value, name
    return 1, ""


def launched_rank(environment: Mapping[str, str] = os.environ) -> int:
    """Return which of these processes this one is, from 0.

    Examples
    --------
    >>> launched_rank({"PMI_SIZE": "4", "PMI_RANK": "2"}), launched_rank({})
    (2, 0)
    """
    if launched(environment)[0] == 1:
        return 0
    return next((rank for name in _RANKS if (rank := _number(environment, name)) is not None), 0)


def another_process_tells(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a command leaves all words to the first of the processes that were started together.

    Examples
    --------
    >>> another_process_tells(["train", "tag", "--cluster", "mpi"], {"PMI_SIZE": "2", "PMI_RANK": "1"})
    True
    """
    return arguments[:1] == ["train"] and launched_rank(environment) > 0


def check_started_once(cluster: str | None, environment: Mapping[str, str] = os.environ) -> None:
    """Raise `InputError` if several processes were started, of which each would train and write the same model.

    `cluster` is the value of ``--cluster``, which is not "mpi". The driver of another cluster may well run in a job of
    Slurm that has several tasks, as long as it is not one of several in a step.
    """
    size, name = launched(environment)
    if size == 1 or (cluster is not None and name == "SLURM_NTASKS"):
        return
    one = "start one process, with Slurm by srun --ntasks=1"
    advice = one if cluster else f"give --cluster mpi to train one model together, or {one}"
    raise InputError(f"{size} processes were started ({name}), and each would train and write the same model; {advice}")


def _number(environment: Mapping[str, str], name: str) -> int | None:
    value = environment.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else None
