"""Kill, stop and lose processes at random moments: the run goes on, or is resumed, and gives the same bits.

    python benchmarks/faults.py DATA

Three Dask workers on this machine, and two ranks of MPI. A worker is killed at a random moment; the worker that holds
the weights is killed as soon as it has them; a worker is stopped, as if it hung, and killed after the run; the driver
is killed, and a new one resumes; a rank of MPI is killed, and the job is resumed. Moments are spread evenly over the
time of an undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.command import add_data
from harness.files import data_folder, required
from harness.tables import machine, print_table
from harness.worlds import Case, World, bits_of, kill, ranks_of, rows_of

from marginloom import Dask, train_files
from marginloom.clusters.dask_tasks import Tasks

WORKERS, RANKS = 3, 2
#: Few, since a round on Dask takes tens of milliseconds beside its work.
PASSES = ("--max-iter", "20", "--rounds", "4")
#: Seconds after which another worker is asked too.
PATIENCE = 5.0
_RESTART_SECONDS = 20


class Cluster:
    """Workers of Dask on this machine, and how long a run on them takes if nothing happens."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.folder = folder
        self._start()

    def _start(self) -> None:
        from distributed import Client, LocalCluster

        self._cluster = LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=60,
        )
        self.client = Client(self._cluster)

    @property
    def address(self) -> str:
        """Where the scheduler is."""
        return str(self.client.scheduler.address)

    def close(self) -> None:
        """End the workers."""
        self.client.close()
        self._cluster.close()

    def pids(self) -> dict[str, int]:
        """Return the processes of the workers, once all are there."""
        while True:
            try:
                self.client.wait_for_workers(WORKERS, timeout=_RESTART_SECONDS)
                return dict(self.client.run(os.getpid))
            except TimeoutError:  # who watches over them gives up if the machine is busy
                self.close()
                self._start()
            except OSError:  # one that was killed is still on the list
                continue

    def train(self) -> tuple[str, int]:
        """Train here, as the program does, and return the bits, and how many parts were asked again."""
        task, file, *words = self.case.arguments
        options = {
            name.removeprefix("--").replace("-", "_"): value
            for name, value in zip(words[::2], words[1::2], strict=True)
        }
        model = self.folder / "model"
        cluster = Dask(self.client, answer_timeout=PATIENCE)
        trace = self.folder / "trace"
        tagger = train_files(task, file, model=model, cluster=cluster, trace=trace, **options)
        _, rows = rows_of(trace)
        assert tagger.model_.weights.size
        return bits_of(model), sum(row["world"]["asked_again"] for row in rows)


@contextmanager
def struck(pid: int, number: int, after: float) -> Iterator[None]:
    """Send a signal to a process after some time."""

    def strike() -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return

    timer = threading.Timer(after, strike)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def kill_a_worker(cluster: Cluster, chance: random.Random, seconds: float) -> tuple[str, int]:
    """Kill some worker at some moment."""
    with struck(chance.choice(sorted(cluster.pids().values())), signal.SIGKILL, chance.uniform(0, seconds)):
        return cluster.train()


def kill_the_holder(cluster: Cluster, chance: random.Random, seconds: float) -> tuple[str, int]:
    """Kill the worker that holds the only copy of the weights as soon as it has them, in some question."""
    pids, usual, left = cluster.pids(), Tasks.placed, [chance.randrange(1, 20)]

    def placed(self: Tasks, message: Any, worker: str, timeout: float) -> Any:
        found = usual(self, message, worker, timeout)
        if found is not message and found is not None:
            left[0] -= 1
            if left[0] == 0 and worker in pids:
                os.kill(pids[worker], signal.SIGKILL)
        return found

    Tasks.placed = placed  # type: ignore[method-assign]
    try:
        return cluster.train()
    finally:
        Tasks.placed = usual  # type: ignore[method-assign]


def stop_a_worker(cluster: Cluster, chance: random.Random, seconds: float) -> tuple[str, int]:
    """Let some worker hang from some moment on."""
    pid = chance.choice(sorted(cluster.pids().values()))
    try:
        with struck(pid, signal.SIGSTOP, chance.uniform(0, seconds)):
            return cluster.train()
    finally:
        kill([pid])


def kill_the_driver(cluster: Cluster, chance: random.Random, seconds: float) -> tuple[str, int]:
    """Kill the driver at some moment, and resume."""
    cluster.pids()
    options = ("--cluster", "dask", "--scheduler", cluster.address)
    return resumed(cluster.case, World("Dask", (), options), chance, seconds, cluster.folder, lambda pid: [pid]), 0


def kill_a_rank(cluster: Cluster, chance: random.Random, seconds: float) -> tuple[str, int]:
    """Kill a rank of MPI at some moment, and resume."""
    world = World.mpi(RANKS)
    return resumed(cluster.case, world, chance, seconds, cluster.folder, lambda pid: chance.sample(ranks_of(pid), 1)), 0


def resumed(
    case: Case,
    world: World,
    chance: random.Random,
    seconds: float,
    folder: Path,
    victims: Callable[[int], list[int]],
) -> str:
    """Kill processes of a run at some moment, wait for its end, and let another one go on."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    place = ("--checkpoint", str(folder / "run"), "--checkpoint-interval", "0", "--resume")
    process = case.start(world, folder / "model", *place)
    time.sleep(chance.uniform(0.2, 1) * seconds)
    if process.poll() is None:
        kill(victims(process.pid))
    process.communicate()
    return case.run(world, folder / "model", *place)


FAULTS = {
    "a Dask worker killed at a random moment": (kill_a_worker, 20),
    "the holder of the weights killed": (kill_the_holder, 5),
    "a Dask worker that hangs": (stop_a_worker, 5),
    "the driver killed, resumed": (kill_the_driver, 5),
    "an MPI rank killed, resumed": (kill_a_rank, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--seed", type=int, default=0, help="of workers and moments (default 0)")
    parser.add_argument("--share", type=float, default=1.0, help="of all runs that are made (default 1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults with this in their name")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/faults"), help="folder for runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    chunks = required(data_folder(given.data) / "conll2000_chunking" / "train.conll.xz")
    case = Case(
        "conll2000-words",
        ("tag", str(chunks), "--column", "2", "--features", "words", "--algorithm", "ms-dcd", *PASSES),
    )
    warnings.simplefilter("ignore")
    expected = case.run(World.threads(1), given.out / "model")
    cluster = Cluster(case, given.out)
    try:
        start = time.monotonic()
        assert cluster.train()[0] == expected
        seconds = time.monotonic() - start
        print(f"undisturbed: {seconds:.1f} s, {expected}", flush=True)
        rows = [made(name, fault, round(count * given.share), cluster, given.seed, seconds, expected)
                for name, (fault, count) in FAULTS.items() if given.only in name]  # fmt: skip
    finally:
        cluster.close()
    print(machine())
    print_table("Runs", ["what happened", "runs", "same bits", "asked again", "seconds, median and longest"], rows)


def made(
    name: str,
    fault: Callable[[Cluster, random.Random, float], tuple[str, int]],
    count: int,
    cluster: Cluster,
    seed: int,
    seconds: float,
    expected: str,
) -> list[str]:
    """Make the runs of a fault, and return the row of the table."""
    same, again, times = 0, 0, []
    for number in range(count):
        chance = random.Random(f"{seed} {name} {number}")
        start = time.monotonic()
        bits, parts = fault(cluster, chance, seconds)
        times.append(time.monotonic() - start)
        same += bits == expected
        again += parts
        print(f"{name}, {number + 1} of {count}: {times[-1]:.1f} s, {bits[:16]}, {parts} asked again", flush=True)
    ordered = sorted(times) or [0.0]
    return [name, str(count), str(same), str(again), f"{ordered[len(ordered) // 2]:.1f}, {ordered[-1]:.1f}"]


if __name__ == "__main__":
    main()
