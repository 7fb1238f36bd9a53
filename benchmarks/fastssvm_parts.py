"""Measure what each of `fastssvm`'s parts brings: batches, adapted stopping, threads, as in Figure 5a of fastssvm-2021.

Each is switched on alone, and one after the other, on 2,000 examples of each data set; hinge loss.
"""

from __future__ import annotations

from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.data_sets import CLASSIFICATION
from harness.figures import WITHIN, Repeats, ending, lowest_primal, median_near
from harness.pictures import one_each
from harness.problem import Problem
from harness.runs import Planned
from harness.tables import number, print_table

NOTHING = "nothing"
#: What is switched on one after the other, with the name of what is new.
STEPS = {
    NOTHING: "",
    "batches alone": "batches",
    "batches and stopping": "adapted stopping",
    "batches, stopping and threads": "threads",
    "fastssvm": "blocks of the batch only",
}
QUESTION = Question(
    "fastssvm_parts",
    __doc__,
    tuple(CLASSIFICATION),
    quick_sets=("letter", "digits"),
    budget=(60.0, 0.15),
    threads=(2,),
    clock=True,
)


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--size", type=int, default=2_000, help="examples of each data set (default 2,000)")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    for name in benchmark.sets:
        problem = benchmark.problem(name, benchmark.arguments.size)
        benchmark.run(plan(problem, max(benchmark.threads)))
    runs = {name: found for name in benchmark.sets if (found := benchmark.repeats(name))}
    for name, found in runs.items():
        part_table(name, found, benchmark.clock)
    factors = {name: parts for name, found in runs.items() if (parts := _factors(found, benchmark.clock))}
    benchmark.end(one_each(factors, benchmark.folder / "figure5a-parts", _bars))


def plan(problem: Problem, threads: int) -> list[Planned]:
    """Plan each part alone, and one after the other.

    Nothing is on in the first one, which is Algorithm 1 over Algorithm 2 with steps that converge. The last one is the
    preset, which also solves only over the examples of a batch and takes all violated outputs where they can be listed.
    """
    nothing = {"batch": 1, "scope": "all"}
    stopping = {"inner_stop": True}
    shared = {"engine": {"name": "shared"}, "threads": threads}
    parts: dict[str, dict[str, Any]] = {
        NOTHING: {"learner": nothing},
        "batches alone": {"learner": {"scope": "all"}},
        "stopping alone": {"learner": {**nothing, **stopping}},
        "threads alone": {"learner": nothing, **shared},
        "batches and stopping": {"learner": {"scope": "all", **stopping}},
        "batches, stopping and threads": {"learner": {"scope": "all", **stopping}, **shared},
    }
    runs = [Planned.of(problem, name, "fsmo", loss="hinge", **options) for name, options in parts.items()]
    return [*runs, Planned.of(problem, "fastssvm", "fastssvm", loss="hinge", threads=threads)]


def part_table(data: str, runs: Repeats, clock: str) -> None:
    """Print how many times as fast as without any part it is."""
    best = lowest_primal(runs)
    times = {name: median_near(records, best, WITHIN[0], clock) for name, records in runs.items()}
    base = times.get(NOTHING)
    rows = [
        [
            name,
            str(records[0].settings.threads),
            number(value, "{:.3f}"),
            number(base / value if base and value else None),
            ending(records),
        ]
        for name, records in runs.items()
        for value in [times[name]]
    ]
    size = next(iter(runs.values()))[0].settings.size
    title = f"{data}, {size} examples: {clock} seconds to {100 * WITHIN[0]:g} % of the lowest primal"
    print_table(title, ["switched on", "threads", "seconds", "nothing / this", "end"], rows)


def _factors(runs: Repeats, clock: str) -> dict[str, float]:
    """Return what each step brings; only those between runs that came near the optimum."""
    best = lowest_primal(runs)
    times = [median_near(runs[name], best, WITHIN[0], clock) if name in runs else None for name in STEPS]
    steps = zip(list(STEPS.values())[1:], times, times[1:], strict=False)
    return {part: before / after for part, before, after in steps if before and after}


def _bars(axes: Any, factors: dict[str, float]) -> None:
    """Draw how many times as fast each part makes what was there before it.

    The paper has shares of the whole speed-up, which would be negative for a part that costs time.
    """
    axes.barh([*reversed(factors)], [factor - 1 for factor in reversed(factors.values())], left=1)
    axes.axvline(1, color="grey", lw=0.8)
    axes.set(xscale="log", xlabel="times as fast with it")
    axes.xaxis.set_minor_formatter("")


if __name__ == "__main__":
    main()
