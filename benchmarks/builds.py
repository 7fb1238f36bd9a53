"""Train with several builds of marginloom in alternation, to see whether one is slower or larger.

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

Run = dict[str, Any]
#: Of classes and sets of labels; digits are detected to a third of that way.
CLASSES_TOL, DIGITS_TOL, DIGITS = 0.005, 0.3, 2000


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--build", action="append", required=True, metavar="NAME=TREE")
    parser.add_argument(
        "--case", action="append", required=True, metavar="[BUILD/]DATA:ALGORITHM[:THREADS] [KEY=VALUE]"
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tol", type=float, help="the gap to reach, if not that of the data set")
    parser.add_argument("--passes", type=int, default=500)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no run begins")
    arguments = parser.parse_args()
    builds = dict(build.split("=", 1) for build in arguments.build)
    deadline = time.monotonic() + arguments.limit
    print("| case | " + " | ".join(f"{name} s (passes, MB of blocks)" for name in builds) + " | ratio |")
    print("|" + " --- |" * (len(builds) + 2))
    cases = [Case.parse(text) for text in arguments.case]
    for data in dict.fromkeys(case.data for case in cases):
        workers = [Worker(arguments.data, tree, data, arguments.tol, arguments.passes) for tree in builds.values()]
        seen: list[tuple[Case, list[list[Run]]]] = [
            (case, [[] for _ in workers]) for case in cases if case.data == data
        ]
        for _, (case, runs_of) in itertools.product(range(arguments.repeat), seen):
            for name, worker, runs in zip(builds, workers, runs_of, strict=True):
                if case.build in (None, name) and time.monotonic() < deadline:
                    runs += worker.train(case)
        for case, runs_of in seen:
            _show(case.text, runs_of)
        for worker in workers:
            worker.end()


class Worker:
    """A process that trains with the code of one tree, on a data set that it reads once."""

    def __init__(self, folder: Path, tree: str, data: str, tol: float | None, passes: int) -> None:
        command = [
            sys.executable,
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
    from marginloom.training.train import train

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


def _task(data: Path, name: str) -> tuple[Any, float, float]:
    """Return a task, its C and the gap to reach."""
    from learners_data import _ocr_letters
    from scaling_data import DATA_SETS

    name, _, count = name.partition("@")
    if name in DATA_SETS or name == "ocr_letters":
        read = DATA_SETS.get(name, _ocr_letters)(data)
        return (read.quick(int(count)) if count else read).for_comparison().task, 0.1, 0.01
    from classify import PROBLEMS

    problem = PROBLEMS[name](data, DIGITS if name == "digits" else None)
    return problem.task, problem.C, DIGITS_TOL if name == "digits" else CLASSES_TOL


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _show(case: str, builds: list[list[Run]]) -> None:
    cells, medians = [], []
    for runs in builds:
        if not runs:
            cells.append("-")
            continue
        seconds = sorted(run["seconds"] for run in runs)
        medians.append(statistics.median(seconds))
        passes = statistics.median(run["passes"] for run in runs)
        held = max(run["megabytes"] for run in runs)
        spread = f"{seconds[0]:.2f} to {seconds[-1]:.2f}"
        cells.append(f"{medians[-1]:.2f} ({spread}; {passes:g}, {held:.1f})")
    ratio = f"{medians[-1] / medians[0]:.2f}" if len(medians) == len(builds) > 1 else "-"
    print(f"| {case} | " + " | ".join(cells) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
