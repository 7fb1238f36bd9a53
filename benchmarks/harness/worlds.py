"""The real program in many processes: started, cut off, and asked which bits it has given."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import marginloom

PROGRAM = Path(sys.executable).with_name("marginloom")
MPIEXEC = Path(sys.executable).with_name("mpiexec")


@dataclasses.dataclass(frozen=True)
class World:
    """How a run is started: by what, and with which options."""

    name: str
    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @classmethod
    def mpi(cls, count: int) -> World:
        """Return so many ranks."""
        return cls(f"MPI, {count}", (str(MPIEXEC), "-n", str(count)), ("--cluster", "mpi"))

    @classmethod
    def dask(cls, count: int) -> World:
        """Return so many workers on this machine."""
        return cls(f"Dask, {count}", (), ("--cluster", "dask", "--workers", str(count)))

    @classmethod
    def threads(cls, count: int) -> World:
        """Return one process with so many threads."""
        return cls("alone" if count == 1 else f"alone, {count} threads", (), ("--threads", str(count)))


@dataclasses.dataclass(frozen=True)
class Case:
    """What is trained, as the command line says it."""

    name: str
    arguments: tuple[str, ...]

    def start(self, world: World, model: Path, *more: str) -> subprocess.Popen[str]:
        """Begin to train."""
        command = [*world.before, str(PROGRAM), "train", *self.arguments, "--model", str(model), "--quiet"]
        return subprocess.Popen(
            [*command, *world.options, *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, world: World, model: Path, *more: str) -> str:
        """Train, and return which bits that gave; ends the program if it fails."""
        process = self.start(world, model, *more)
        _, said = process.communicate()
        if process.returncode:
            sys.exit(f"{self.name}, {world.name}: exit code {process.returncode}\n{said}")
        return bits_of(model)


def bits_of(model: Path) -> str:
    """Return the SHA-256 of the weights and the certificate of a model."""
    found = marginloom.load(model).model_
    digest = hashlib.sha256(found.weights.tobytes())
    digest.update(json.dumps(None if found.certificate is None else dataclasses.asdict(found.certificate)).encode())
    return digest.hexdigest()


def rows_of(trace: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings and the rows of a trace."""
    settings, *rows = (json.loads(line) for line in trace.read_text().splitlines())
    return settings, rows


def lines_of(trace: Path) -> int:
    """Return how many lines a file has so far."""
    return trace.read_text().count("\n") if trace.exists() else 0


def stop_after(process: subprocess.Popen[str], trace: Path, passes: int) -> bool:
    """Interrupt a run after so many passes, as batch systems do, and say whether that was before its end."""
    while process.poll() is None and lines_of(trace) < passes + 1:
        time.sleep(0.005)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.communicate()
    return process.returncode == 128 + signal.SIGTERM


def descendants(pid: int) -> list[int]:
    """Return all processes that a process has started, and those that these have."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else -1
        except (OSError, IndexError):
            continue
        if parent == pid:
            found += [int(entry.name), *descendants(int(entry.name))]
    return found


def ranks_of(pid: int) -> list[int]:
    """Return the processes of marginloom among those of a launcher."""
    return [child for child in descendants(pid) if str(PROGRAM).encode() in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(pids: Sequence[int]) -> None:
    """Kill processes that may have ended."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
