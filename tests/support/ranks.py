"""Real ranks of MPI, started as users start them."""

import subprocess
import sys
from pathlib import Path

from support.program import PROGRAM, TIMEOUT, environment

MPIEXEC = Path(sys.executable).with_name("mpiexec")


def start_ranks(count, *command, cwd=None):
    """Start a command in so many processes."""
    return subprocess.Popen(
        [MPIEXEC, "-n", str(count), *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=cwd,
    )


def ended(process):
    """Wait for the end, and return exit code, output and errors."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


def run_ranks(count, *command, cwd=None):
    """Run a command in so many processes, and return exit code, output and errors."""
    return ended(start_ranks(count, *command, cwd=cwd))


def train_ranks(count, *arguments, cwd=None):
    """Run ``marginloom train --cluster mpi``."""
    return run_ranks(count, PROGRAM, "train", *arguments, "--cluster", "mpi", cwd=cwd)
