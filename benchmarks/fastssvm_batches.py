"""Measure which size of batches is best for `fastssvm`, the open question of fastssvm-2021.

Batches of one constraint to all of a pass, with the most threads; hinge loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import CLASSIFICATION
from harness.figures import WITHIN, Repeats, ending, lowest_primal, median_near
from harness.pictures import line, logarithmic, one_each
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import number, print_table

#: Batches as shares of all examples, in %; the paper has 1.
SHARES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
QUESTION = Question(
    "fastssvm_batches",
    __doc__,
    tuple(CLASSIFICATION),
    quick_sets=("letter", "digits"),
    budget=(60.0, 0.15),
    threads=(2,),
    clock=True,
)


def main() -> None:
    benchmark = Benchmark(QUESTION)
    for name in benchmark.sets:
        benchmark.run(plan(benchmark.problem(name), max(benchmark.threads)))
    runs = {name: found for name in benchmark.sets if (found := benchmark.repeats(name))}
    for name, found in runs.items():
        batch_table(name, found, benchmark.clock)
    clock = benchmark.clock
    benchmark.end(one_each(runs, benchmark.folder / "batches", lambda axes, found: _seconds(axes, found, clock)))


def plan(problem: Problem, threads: int) -> list[Planned]:
    """Plan every size; parts of examples that are searched by themselves count as examples."""
    size = problem.task.core.size
    named = {f"{share:g} %" if share else "one": max(int(share * size / 100), 1) for share in SHARES}
    return [
        Planned.of(problem, name, "fastssvm", loss="hinge", threads=threads, learner={"batch": batch})
        for name, batch in named.items()
    ]


def batch_table(data: str, runs: Repeats, clock: str) -> None:
    """Print how long it takes with batches of each size."""
    best = lowest_primal(runs)
    rows = [_batch(name, records, best, clock) for name, records in runs.items()]
    within = [f"to {100 * share:g} %" for share in WITHIN]
    header = ["batch", "constraints", "threads", *within, "end"]
    print_table(f"{data}: fastssvm by size of batch, {clock} seconds", header, rows)


def _batch(name: str, records: Sequence[Record], best: float, clock: str) -> list[str]:
    settings = records[0].settings
    times = [number(median_near(records, best, share, clock)) for share in WITHIN]
    return [name, f"{settings.learner['batch']:,}", str(settings.threads), *times, ending(records)]


def _seconds(axes: Any, runs: Repeats, clock: str) -> None:
    best = lowest_primal(runs)
    for share in WITHIN:
        points = [
            (records[0].settings.learner["batch"], seconds)
            for records in runs.values()
            if (seconds := median_near(records, best, share, clock)) is not None
        ]
        line(axes, sorted(points), f"to {100 * share:g} %")
    logarithmic(axes, y=True)
    axes.set(xlabel="constraints in a batch", ylabel=f"{clock} seconds")


if __name__ == "__main__":
    main()
