"""Train with several builds of marginloom in alternation: is one slower than the other, or larger?

    python benchmarks/builds.py DATA --build before=TREE --build after=TREE --case conll2000-words:dcd-ssvm

A tree is a checkout whose native module was built into its `src/marginloom`. A case is DATA_SET:ALGORITHM, then
`:THREADS` (1) and options as `key=value`, as in `conll2000-words:dcd-ssvm:16:engine=shared`. Every run is a process of
its own, reads the data with its own tree's code and trains from nothing to `--tol`; seconds are those of `train`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Of classes and sets of labels; digits are detected to a third of that way.
CLASSES_TOL, DIGITS_TOL, DIGITS = 0.005, 0.3, 2000


@dataclass(frozen=True)
class Case:
    """What is trained."""

    data: str
    algorithm: str
    threads: int
    options: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read a case as the command line has it."""
        data, algorithm, *rest = text.split(":")
        threads = int(rest.pop(0)) if rest and rest[0].isdigit() else 1
        pairs = (item.split("=", 1) for item in rest)
        return cls(data, algorithm, threads, {key: _value(value) for key, value in pairs})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--build", action="append", required=True, metavar="NAME=TREE")
    parser.add_argument("--case", action="append", required=True, metavar="DATA:ALGORITHM[:THREADS][:KEY=VALUE]")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tol", type=float, help="the gap to reach, if not that of the data set")
    parser.add_argument("--passes", type=int, default=500)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no run begins")
    arguments = parser.parse_args()
    builds = dict(build.split("=", 1) for build in arguments.build)
    deadline = time.monotonic() + arguments.limit
    print("| case | " + " | ".join(f"{name} s (passes, MB of blocks)" for name in builds) + " | ratio |")
    print("|" + " --- |" * (len(builds) + 2))
    for text in arguments.case:
        seen: dict[str, list[dict[str, Any]]] = {name: [] for name in builds}
        for _ in range(arguments.repeat):
            for name, tree in builds.items():
                if time.monotonic() < deadline:
                    seen[name] += _in_process(arguments.data, tree, text, arguments.tol, arguments.passes)
        _show(text, list(seen.values()))


def _in_process(data: Path, tree: str, case: str, tol: float | None, passes: int) -> list[dict[str, Any]]:
    """Train once with the code of a tree; an empty list if it failed, which is told."""
    command = [sys.executable, "-c", "import builds; builds.child()", str(data), case, json.dumps(tol), str(passes)]
    # This file's folder comes last: the tree's own benchmarks are to read the data.
    folders = [f"{tree}/src", f"{tree}/benchmarks", str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{case} with {tree}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return []
    return [json.loads(done.stdout.splitlines()[-1])]


def child() -> None:
    """Train a case with the marginloom on the path, and print what came of it."""
    from marginloom.training import train

    data, case, tol, passes = Path(sys.argv[1]), Case.parse(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
    task, cost, own_tol = _task(data, case.data)
    started = time.perf_counter()
    result = train(
        task, algorithm=case.algorithm, C=cost, tol=tol or own_tol, random_state=0, max_iter=passes,
        n_threads=case.threads, **case.options,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    gap = None if result.certificate is None else result.certificate.gap
    held = result.trace.rows[-1]["working_set_mb"] or 0
    print(json.dumps({"seconds": seconds, "passes": result.iterations, "gap": gap, "megabytes": held}))


def _task(data: Path, name: str) -> tuple[Any, float, float]:
    """Return a task, its C and the gap to reach."""
    from learners_data import _ocr_letters
    from scaling_data import DATA_SETS

    if name in DATA_SETS or name == "ocr_letters":
        read = DATA_SETS.get(name, _ocr_letters)
        return read(data).for_comparison().task, 0.1, 0.01
    from classify import PROBLEMS

    problem = PROBLEMS[name](data, DIGITS if name == "digits" else None)
    return problem.task, problem.C, DIGITS_TOL if name == "digits" else CLASSES_TOL


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _show(case: str, builds: list[list[dict[str, Any]]]) -> None:
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
