"""Train with several builds of marginloom in alternation, to see whether one is slower or larger than another.

    python benchmarks/builds.py DATA --build before=TREE --build after=TREE --case conll2000-words:dcd-ssvm

A tree is a checkout whose native module was built into its `src/marginloom`. A case is DATA_SET:ALGORITHM[:THREADS], on
one thread unless told, then arguments of `train` as key=value, as in "conll2000-words:dcd-ssvm:16 engine=shared";
conll2000-words@1000 are 1,000 of its sentences, and NAME/ before a case leaves it to one build. Every tree has its own
process, which reads the data by its own code and trains from nothing to `--tol`; seconds are those of training,
without certificates.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.command import add_data, add_limit, add_repeat
from harness.data_sets import SEQUENCES, read_problem
from harness.files import data_folder
from harness.tables import print_table

from marginloom import train

Run = dict[str, Any]
#: Gaps to reach; 2,000 images are enough to see how fast digits are detected.
SEQUENCES_TOL, CLASSES_TOL, DIGITS_TOL, DIGITS = 0.01, 0.005, 0.3, 2000


@dataclass(frozen=True)
class Case:
    """What is trained."""

    text: str
    build: str | None  # that trains it, if not all do
    data: str
    algorithm: str
    threads: int
    options: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read a case as the command line has it."""
        name, *options = text.split()
        *build, name = name.split("/")
        data, algorithm, *threads = name.split(":")
        pairs = (option.split("=", 1) for option in options)
        return cls(
            text,
            build[0] if build else None,
            data,
            algorithm,
            int(*threads or "1"),
            {key: _value(value) for key, value in pairs},
        )


def main() -> None:
    arguments = _arguments()
    builds = dict(build.split("=", 1) for build in arguments.build)
    folder = data_folder(arguments.data)
    deadline = time.monotonic() + arguments.limit
    cases = [Case.parse(text) for text in arguments.case]
    header = ["case", *(f"{name} s (range; passes, MB of blocks)" for name in builds), "ratio"]
    for data in dict.fromkeys(case.data for case in cases):
        seen = [(case, {name: [] for name in builds}) for case in cases if case.data == data]
        workers = {name: Worker(folder, tree, data, arguments.tol, arguments.passes) for name, tree in builds.items()}
        for _, (case, runs) in itertools.product(range(arguments.repeat), seen):
            for name, worker in workers.items():
                if case.build in (None, name) and time.monotonic() < deadline:
                    runs[name] += worker.train(case)
        for worker in workers.values():
            worker.end()
        rows = [_row(case.text, list(runs.values())) for case, runs in seen]
        print_table(f"{data}: medians of training seconds, builds in alternation", header, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--build", action="append", required=True, metavar="NAME=TREE")
    parser.add_argument(
        "--case", action="append", required=True, metavar="[BUILD/]DATA:ALGORITHM[:THREADS] [KEY=VALUE]"
    )
    parser.add_argument("--tol", type=float, help="the gap to reach, if not that of the data set")
    parser.add_argument("--passes", type=int, default=500, help="at most (default 500)")
    add_repeat(parser, 3)
    add_limit(parser)
    return parser.parse_args()


class Worker:
    """A process that trains with the code of one tree, on a data set that it reads once."""

    def __init__(self, folder: Path, tree: str, data: str, tol: float | None, passes: int) -> None:
        command = [
            sys.executable,
            "-P",
            "-c",
            "import builds; builds.work()",
            str(folder),
            data,
            json.dumps(tol),
            str(passes),
        ]
        # This file's folder comes last: the tree's own benchmarks are to read the data.
        folders = [f"{tree}/src", f"{tree}/benchmarks", str(Path(__file__).parent)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def train(self, case: Case) -> list[Run]:
        """Train once; the list is empty if the process has failed, of which it has told."""
        if self._process.poll() is not None:
            return []
        print(case.text, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        return [json.loads(answer)] if answer else []

    def end(self) -> None:
        """Let the process end, and wait for it."""
        self._process.stdin.close()
        self._process.wait()


def work() -> None:
    """Train the cases that are read, one a line, with the marginloom on the path, and print what came of each."""
    tol, passes = json.loads(sys.argv[3]), int(sys.argv[4])
    task, cost, own_tol = _task(Path(sys.argv[1]), sys.argv[2])
    for line in sys.stdin:
        case = Case.parse(line.strip())
        result = train(
            task,
            algorithm=case.algorithm,
            C=cost,
            tol=tol or own_tol,
            random_state=0,
            max_iter=passes,
            n_threads=case.threads,
            **case.options,
        )
        gap = None if result.certificate is None else result.certificate.gap
        held = result.trace.rows[-1]["working_set_mb"] or 0
        run = {"seconds": result.seconds["train"], "passes": result.iterations, "gap": gap, "megabytes": held}
        print(json.dumps(run), flush=True)


def _task(folder: Path, name: str) -> tuple[Any, float, float]:
    """Return a task, its C and the gap to reach."""
    name, _, count = name.partition("@")
    size = int(count) if count else DIGITS if name == "digits" else None
    problem = read_problem(folder, name, size)
    tol = SEQUENCES_TOL if name in SEQUENCES else DIGITS_TOL if name == "digits" else CLASSES_TOL
    return problem.task, problem.C, tol


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _row(case: str, builds: list[list[Run]]) -> list[str]:
    medians = [statistics.median(run["seconds"] for run in runs) if runs else None for runs in builds]
    first, last = medians[0], medians[-1]
    ratio = f"{last / first:.2f}" if first and last and len(builds) > 1 else "-"
    return [case, *(_cell(runs) for runs in builds), ratio]


def _cell(runs: list[Run]) -> str:
    if not runs:
        return "-"
    seconds = sorted(run["seconds"] for run in runs)
    passes = statistics.median(run["passes"] for run in runs)
    held = max(run["megabytes"] for run in runs)
    return f"{statistics.median(seconds):.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f}; {passes:g}, {held:.1f})"


if __name__ == "__main__":
    main()
