"""What the cascade of fastssvm-2021 brings: parts that solve apart and are merged, on threads and on processes.

    python benchmarks/cascade.py DATA --part table2 --part threads

Parts of the question: `table2` (Table 2 of the paper), `threads` (Figure 6: separate and shared weights), `storage`
(Figures 7 and 8: bytes, computation and communication), `grid` (Figure 9: processes times threads), `feedback`
(Figure 10), `nodes` (Figure 5b: how busy each process is) and `costs` (constants of docs/scaling.md).

Runs have `--size` examples of each data set and end at a certified gap of 1 % or after `--passes` passes. Processes up
to `--ranks` are ranks of MPI, and their seconds are measured. More processes are parts in one process: layers and bytes
are counted, and seconds are not shown. Hinge loss; threads inside of a process share the weights of its part.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.command import add_data
from harness.data_sets import read_problem
from harness.files import data_folder
from harness.tables import machine, percent, print_table
from harness.worlds import MPIEXEC

from marginloom import MPI, train
from marginloom.clusters.local import LocalParts

SETS = ("letter", "mnist", "ml_tmc2007_500", "conll2000-words")
TAGS = "conll2000-words"
TOL = 0.01
#: Table 2: seconds and score of FastSSVM on many nodes, on one node, sequential, and of FSMO.
PAPER = {
    "letter": ((48.1, 0.7220), (59.7, 0.7220), (140, 0.7212), (213, 0.7168)),
    "mnist": ((144, 0.9207), (239, 0.9200), (1574, 0.9196), (2946, 0.9183)),
    "ml_tmc2007_500": ((215, 0.7065), (340, 0.7036), (3144, 0.6817), (7256, 0.6817)),
}
#: Numbers of the cascade in a row of the trace that are added up over passes.
COUNTS = ("solutions", "runs", "layers", "candidates", "support_vectors", "sent", "received", "computing", "last")


def one_run(data: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Train as wanted, and return what is recorded of it."""
    problem = read_problem(data, wanted["set"], wanted["size"])
    engine = wanted.get("engine")
    processes, kind = wanted.get("processes", 1), wanted.get("kind")
    cluster = None if processes == 1 else MPI() if kind == "mpi" else LocalParts(processes)
    result = train(
        problem.task,
        algorithm=wanted["algorithm"],
        engine=engine,
        loss="hinge",
        C=problem.C,
        tol=TOL,
        max_iter=wanted["passes"],
        n_threads=wanted.get("threads", 1),
        cluster=cluster,
        random_state=0,
    )
    rows = result.trace.rows
    cascades = [row["cascade"] for row in rows if "cascade" in row]
    assert result.certificate is not None
    return {
        "seconds": rows[-1]["seconds"],
        "passes": len(rows),
        "gap": result.certificate.gap,
        "dual": result.certificate.dual,
        "score": problem.parts.score(result.weights),
        "updates": result.updates,
        "world": result.asked,
        **{name: sum(row[name] for row in cascades) for name in COUNTS},
        "solving": sum(row["seconds"] for row in cascades),
    }


class Runs:
    """Makes runs, each in a process of its own, or finds them among those that are stored."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._data = data_folder(given.data)
        given.out.mkdir(parents=True, exist_ok=True)

    def __call__(self, name: str, algorithm: str, **wanted: Any) -> dict[str, Any]:
        """Return the record of a run."""
        wanted = {"set": name, "algorithm": algorithm, "size": self._given.size, "passes": self._given.passes, **wanted}
        if wanted.get("processes", 1) > 1:
            wanted["kind"] = "mpi" if wanted["processes"] <= self._given.ranks else "parts"
        text = json.dumps(wanted, sort_keys=True)
        path = self._given.out / f"{''.join(c if c.isalnum() else '_' for c in text)}.json"
        if not path.exists() or self._given.again:
            script = [str(Path(__file__)), str(self._data), "--one", text, "--out", str(path)]
            before = [str(MPIEXEC), "-n", str(wanted["processes"])] if wanted.get("kind") == "mpi" else []
            mpi = ["-m", "mpi4py"] if before else []
            subprocess.run([*before, sys.executable, *mpi, *script], check=True)
        found: dict[str, Any] = json.loads(path.read_text())
        print(text, f"{found['seconds']:.2f} s", flush=True)
        return found


def cascade(**options: Any) -> dict[str, Any]:
    """Return the engine with options."""
    return {"name": "cascade", **options}


def table2(runs: Runs, sets: Sequence[str]) -> None:
    """Print seconds and scores beside those of Table 2."""
    table = []
    for name in sets:
        ours = [
            runs(name, "fastssvm", engine=cascade(), processes=2),
            runs(name, "fastssvm", engine=cascade(), threads=2),
            runs(name, "fastssvm", threads=2),
            runs(name, "fastssvm"),
            runs(name, "fsmo"),
            runs(name, "shrinking-dcd"),
        ]
        table.append([name, *(f"{run['seconds']:.2f}, {run['score']:.4f}, {100 * run['gap']:.1f} %" for run in ours)])
    header = ["data", "cascade, 2 processes", "cascade, 2 threads", "shared, 2 threads", "fastssvm, 1 thread", "fsmo"]
    print_table("Seconds, score and certified gap", [*header, "shrinking-dcd"], table)
    paper = [[name, *(f"{seconds:g}, {score:.4f}" for seconds, score in PAPER[name])] for name in sets if name in PAPER]
    print_table("The paper, all examples", ["data", "many nodes", "one node", "sequential", "FSMO"], paper)


def threads(runs: Runs, sets: Sequence[str]) -> None:
    """Print seconds with separate and with shared weights."""
    table = []
    for name in sets:
        base = runs(name, "fastssvm")
        for count in (1, 2):
            for label, engine in (("separate", cascade()), ("shared", None)):
                run = runs(name, "fastssvm", engine=engine, threads=count)
                table.append(
                    [
                        name,
                        str(count),
                        label,
                        f"{run['seconds']:.2f}",
                        f"{base['seconds'] / run['seconds']:.2f}",
                        str(run["passes"]),
                        f"{100 * run['gap']:.2f} %",
                        f"{run['score']:.4f}",
                    ]
                )
    header = ["data", "threads", "weights", "seconds", "speed-up", "passes", "gap", "score"]
    print_table("Separate and shared weights (Figure 6)", header, table)


def storage(runs: Runs, sets: Sequence[str]) -> None:
    """Print what is sent, and how long parts compute."""
    table = []
    for name in [name for name in sets if name == TAGS]:
        for processes in (2, 4, 8):
            found = {
                kind: runs(name, "fastssvm", engine=cascade(storage=kind), processes=processes)
                for kind in ("central", "local")
            }
            for kind, run in found.items():
                moved = run["sent"] + run["received"]
                central = found["central"]["sent"] + found["central"]["received"]
                measured = processes == 2
                table.append(
                    [
                        str(processes),
                        kind,
                        f"{moved / 1000000.0:.1f}",
                        f"{100 * moved / central:.1f} %",
                        f"{run['computing']:.2f}",
                        f"{run['solving'] - run['computing']:.2f}" if measured else "-",
                        f"{run['seconds']:.2f}" if measured else "-",
                    ]
                )
    header = ["processes", "storage", "MB", "of central", "computing, s", "communication, s", "training, s"]
    print_table(f"{TAGS}: central and local storage (Figures 7 and 8)", header, table)


def grid(runs: Runs, sets: Sequence[str]) -> None:
    """Print processes times threads; what exceeds two cores is counted."""
    table = []
    for name in sets:
        for processes in (1, 2, 4, 8):
            for count in (1, 2, 4, 8):
                measured = processes * count <= 2
                if not measured and count > 1:
                    continue  # layers and bytes do not depend on the threads inside
                run = runs(name, "fastssvm", engine=cascade(parts=processes * (count if processes == 1 else 1)),
                           processes=processes, threads=count if measured else 1)  # fmt: skip
                table.append(
                    [
                        name,
                        str(processes),
                        str(count) if measured else "any",
                        f"{run['seconds']:.2f}" if measured else "-",
                        f"{run['layers'] / run['runs']:.0f}",
                        f"{(run['sent'] + run['received']) / 1000000.0:.2f}",
                        str(run["passes"]),
                        f"{100 * run['gap']:.2f} %",
                        f"{run['score']:.4f}",
                    ]
                )
    header = ["data", "processes", "threads", "seconds", "layers of a solution", "MB", "passes", "gap", "score"]
    print_table("Processes and threads (Figure 9)", header, table)


def feedback(runs: Runs, sets: Sequence[str]) -> None:
    """Print how far training comes with more runs through the layers."""
    table = []
    for name in sets:
        for count in (1, 2, 3, 4, 5):
            run = runs(name, "fastssvm", engine=cascade(parts=4, feedback=count), threads=1)
            table.append(
                [
                    name,
                    str(count),
                    f"{run['runs'] / run['solutions']:.2f}",
                    f"{100 * run['gap']:.3f} %",
                    f"{run['score']:.4f}",
                    f"{run['seconds']:.2f}",
                    str(run["passes"]),
                    f"{100 * run['support_vectors'] / max(run['candidates'], 1):.1f} %",
                ]
            )
    header = ["data", "feedback", "runs of a solution", "gap", "score", "seconds", "passes", "support vectors"]
    print_table("Feedback, 4 parts (Figure 10)", header, table)


def nodes(runs: Runs, sets: Sequence[str]) -> None:
    """Print which share of the time each process works."""
    table = []
    for name in sets:
        run = runs(name, "fastssvm", engine=cascade(), processes=2)
        work = [100 * seconds / run["seconds"] for seconds in run["world"]["work"]]
        work[0] += 100 * run["last"] / run["seconds"]  # the driver solves the last layer
        table.append([name, *(f"{share:.0f} %" for share in work), f"{statistics.mean(work):.0f} %"])
    print_table("Node efficiency, 2 processes (Figure 5b)", ["data", "rank 0", "rank 1", "mean"], table)


def costs(runs: Runs, sets: Sequence[str]) -> None:
    """Print the constants of the cost model, and what follows from them for more processes."""
    table, expected = [], []
    for name in sets:
        alone = runs(name, "fastssvm", engine=cascade(parts=1))
        two = runs(name, "fastssvm", engine=cascade(parts=2), processes=2)
        each = alone["computing"] / alone["candidates"]
        moved = (two["sent"] + two["received"]) / two["candidates"]
        kept = alone["support_vectors"] / alone["candidates"]
        question = (two["solving"] - two["computing"]) / (two["layers"] - two["runs"])
        table.append(
            [
                name,
                f"{alone['candidates'] / alone['solutions']:.0f}",
                f"{1e6 * each:.2f}",
                f"{moved:.0f}",
                percent(kept),
                f"{1e3 * question:.2f}",
                percent(alone["solving"] / alone["seconds"]),
            ]
        )
        size = alone["candidates"] / alone["solutions"]
        ratios = [speed_up(layers, kept, each * size, moved * size / NETWORK, question) for layers in LAYERS]
        expected.append([name, *(f"{ratio:.2f}" for ratio in ratios)])
    header = ["data", "candidates of a solution", "us a candidate", "bytes a candidate", "support vectors"]
    print_table("Constants of the cost model", [*header, "ms a question", "solutions, of training"], table)
    processes = [f"{2 ** (layers - 1)} processes" for layers in LAYERS]
    print_table("Speed-up of a solution that follows", ["data", *processes], expected)
    shares = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75)
    plain = [[percent(k), *(f"{speed_up(layers, k):.2f}" for layers in LAYERS)] for k in shares]
    print_table("Speed-up if sending took no time", ["support vectors", *processes], plain)


#: Numbers of layers that are compared, and bytes a second of a network of 1 Gbit.
LAYERS = (2, 3, 4, 6, 8, 11)
NETWORK = 125e6


def speed_up(layers: int, kept: float, seconds: float = 1.0, sending: float = 0.0, question: float = 0.0) -> float:
    """Return what section 4.3 of the paper expects of 2^(layers - 1) processes.

    Parameters
    ----------
    layers : int
        L.
    kept : float
        k, the share of candidates that are support vectors; each layer but the last keeps the same share.
    seconds, sending, question : float
        Of a solution by one process, to send all of its candidates to the driver, and of a question beyond that.
    """
    rho = kept ** (1 / (layers - 1))
    processes = 2 ** (layers - 1)
    computing = sum((2 * rho) ** i for i in range(layers)) / processes * seconds
    # All blocks of a layer go through the driver, there and back.
    moving = sum(rho**i * sending + question for i in range(layers - 1))
    return seconds / (computing + moving)


PARTS: dict[str, Callable[[Runs, Sequence[str]], None]] = {
    "table2": table2,
    "threads": threads,
    "storage": storage,
    "grid": grid,
    "feedback": feedback,
    "nodes": nodes,
    "costs": costs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--set", choices=SETS, action="append", help="only this; may be repeated")
    parser.add_argument("--size", type=int, default=5_000, help="examples of each data set (default 5,000)")
    parser.add_argument("--passes", type=int, default=10, help="passes at most (default 10)")
    parser.add_argument("--ranks", type=int, default=2, help="processes that are ranks of MPI at most (default 2)")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/cascade"), help="folder for runs")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a run, as JSON
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of runs that end before they have converged
    if given.one:
        found = one_run(data_folder(given.data), json.loads(given.one))
        if _rank() == 0:
            given.out.write_text(json.dumps(found))
        return
    print(machine(), f"{given.size} examples, {given.passes} passes at most", flush=True)
    runs = Runs(given)
    for part in given.part or PARTS:
        PARTS[part](runs, given.set or SETS)


def _rank() -> int:
    if "mpi4py" not in sys.modules:
        return 0
    from mpi4py import MPI as library  # noqa: N811

    return int(library.COMM_WORLD.Get_rank())


if __name__ == "__main__":
    main()
