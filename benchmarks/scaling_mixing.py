"""Measure what mixing of shards costs and brings, as in section 5 of parameter-mixing-2010.

Entities, scored on the development part.

- `systems`: four systems with ten shards, plain and averaged, until the training set is separated or the training loss
  has stayed the same for three passes (Figure 4).
- `errors`: wrong training examples a pass for 10 and 100 shards and both mixings (Figure 6).
- `shards`: seconds a round and to a common score by the number of shards, averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.figures import (
    best_score,
    common_score,
    final_score,
    measured,
    seconds_a_pass,
    seconds_to_score,
    thread_shares,
)
from harness.pictures import finish, line, logarithmic, panels, save, zoom
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.tables import number, percent, print_table

DATA = "conll2003_en"
SHARDS = 10
SYSTEMS = {
    "averaged-perceptron": "serial (all data)",
    "subsample": "serial (sub-sampling)",
    "parameter-mixing": "parallel (parameter mixing)",
    "ipm": "parallel (iterative parameter mixing)",
}
UNCHANGED = 1e-4  # mean loss of a training example
MOST_PASSES = 50
ERROR_SHARDS, MIXINGS, ERROR_PASSES = (10, 100), ("uniform", "errors"), 30
SHARD_COUNTS, SHARD_ROUNDS = (2, 4, 8, 10, 16, 25, 32, 50, 100), 20
ERROR_SHOWN = (1, 2, 3, 5, 10, 20, 30)
QUESTION = Question("scaling_mixing", __doc__, (DATA,), budget=(120.0, 5.0), threads=(16,))


def main() -> None:
    benchmark = Benchmark(QUESTION)
    problem = benchmark.problem(DATA)
    assert problem.development is not None
    benchmark.run(plan(problem.development(), max(benchmark.threads)))
    systems = sorted(_ended(benchmark, "systems"), key=_of_system)
    errors, shards = (sorted(_ended(benchmark, group), key=_of_shards) for group in ("errors", "shards"))
    system_table(systems)
    error_table(errors)
    shard_table(shards)
    benchmark.end(draw(systems, errors, shards, benchmark.folder))


def plan(problem: Problem, most: int) -> list[Planned]:
    """Plan the four systems first, then the training errors, then the numbers of shards."""
    return [*_plan_systems(problem, most), *_plan_errors(problem, most), *_plan_shards(problem, most)]


def _plan_systems(problem: Problem, most: int) -> Iterable[Planned]:
    for averaged in (False, True):
        learner = {"averaged": averaged, "stop_separated": True, "stop_unchanged": UNCHANGED}
        for algorithm in SYSTEMS:
            parallel = algorithm in ("parameter-mixing", "ipm")
            yield Planned.on_threads(
                problem,
                algorithm,
                min(most, SHARDS) if parallel else 1,
                "averaged" if averaged else "plain",
                group="systems",
                max_iter=MOST_PASSES,
                learner=learner,
                engine={} if algorithm == "averaged-perceptron" else {"shards": SHARDS},
            )


def _plan_errors(problem: Problem, most: int) -> Iterable[Planned]:
    for shards in ERROR_SHARDS:
        for mixing in MIXINGS:
            options = {"learner": {"averaged": False}, "engine": {"shards": shards, "mixing": mixing}}
            name = f"{shards} {mixing}"
            yield Planned.on_threads(problem, "ipm", most, name, group="errors", max_iter=ERROR_PASSES, **options)


def _plan_shards(problem: Problem, most: int) -> Iterable[Planned]:
    options = {"group": "shards", "max_iter": SHARD_ROUNDS}
    yield Planned.on_threads(problem, "averaged-perceptron", 1, "1", **options)
    for shards in SHARD_COUNTS:
        yield Planned.on_threads(problem, "ipm", most, str(shards), engine={"shards": shards}, **options)


def shard_count(record: Record) -> int:
    """Return the number of shards; 1 for serial training."""
    return record.settings.engine.get("shards", 1)


def _ended(benchmark: Benchmark, group: str) -> list[Record]:
    return [record for record in benchmark.records(DATA, group) if record.rows]


def _of_shards(record: Record) -> tuple[int, int]:
    return shard_count(record), record.settings.threads


def _of_system(record: Record) -> tuple[bool, int, int]:
    settings = record.settings
    return settings.learner["averaged"], list(SYSTEMS).index(settings.algorithm), settings.threads


def system_table(records: Sequence[Record]) -> None:
    header = ["system", "perceptron", "threads", "score", "best score", "passes", "seconds", "end"]
    print_table(f"development part: four systems, {SHARDS} shards", header, [_system(record) for record in records])


def error_table(records: Sequence[Record]) -> None:
    header = ["shards", "mixing", "threads", *(f"pass {count}" for count in ERROR_SHOWN)]
    print_table("wrong training examples a pass, plain perceptron", header, [_errors(record) for record in records])


def shard_table(records: Sequence[Record]) -> None:
    target = common_score(records)
    header = ["shards", "threads", "seconds a round", "rounds to it", "seconds to it", "best score", "waiting"]
    title = f"averaged perceptron by number of shards; a score of {target:.4f} is reached by all"
    print_table(title, [*header, "publishing"], [_shards(record, target) for record in records])


def _system(record: Record) -> list[str]:
    last = record.rows[-1]
    return [
        SYSTEMS[record.settings.algorithm],
        "averaged" if record.settings.learner["averaged"] else "plain",
        str(record.settings.threads),
        number(final_score(record), "{:.4f}"),
        f"{best_score(record):.4f}",
        str(last["pass"]),
        f"{last['wall']:.2f}",
        record.stopped,
    ]


def _errors(record: Record) -> list[str]:
    wrong = {row["pass"]: row["wrong"] for row in record.rows}
    return [
        str(shard_count(record)),
        record.settings.engine["mixing"],
        str(record.settings.threads),
        *(str(wrong.get(count, "-")) for count in ERROR_SHOWN),
    ]


def _shards(record: Record, target: float) -> list[str]:
    seconds = seconds_to_score(record, target)
    shares = thread_shares(record)
    rounds = sum(row["wall"] <= seconds for row in record.rows) if seconds is not None else None
    return [
        str(shard_count(record)),
        str(record.settings.threads),
        number(seconds_a_pass(record), "{:.3g}"),
        number(rounds, "{}"),
        number(seconds),
        f"{best_score(record):.4f}",
        percent(shares["waiting"] if shares else None),
        percent(shares["publishing"] if shares else None),
    ]


def draw(systems: Sequence[Record], errors: Sequence[Record], shards: Sequence[Record], folder: Path) -> list[Path]:
    """Draw four panels: plain, averaged, training errors, seconds by shards."""
    figure, (row,) = panels(4)
    for axes, averaged in zip(row[:2], (False, True), strict=True):
        chosen = [record for record in _most_threads(systems) if record.settings.learner["averaged"] is averaged]
        _system_scores(axes, chosen)
        axes.set_title("averaged" if averaged else "plain", fontsize="medium")
    _error_lines(row[2], _most_threads(errors))
    _shard_lines(row[3], _most_threads(shards))
    for axes in row:
        finish(axes)
    return save(figure, folder / "figures4and6")


def _most_threads(runs: Sequence[Record]) -> list[Record]:
    """Leave out the runs of earlier calls with fewer threads."""
    most = {}
    for record in sorted(runs, key=lambda one: one.settings.threads):
        most[record.settings.name.rsplit(", ", 1)[0]] = record
    return list(most.values())


def _system_scores(axes: Any, runs: Sequence[Record]) -> None:
    for record in runs:
        points = [(row["wall"], row["score"]) for row in measured(record)]
        line(axes, points, SYSTEMS[record.settings.algorithm])
    zoom(axes, [best_score(record) for record in runs])
    axes.set(xlabel="training seconds", ylabel="development f1")


def _error_lines(axes: Any, runs: Sequence[Record]) -> None:
    for record in runs:
        label = f"{shard_count(record)} shards, {record.settings.engine['mixing']}"
        line(axes, [(row["pass"], row["wrong"]) for row in record.rows], label)
    logarithmic(axes, x=False, y=True)
    axes.set(xlabel="pass", ylabel="wrong training examples")


def _shard_lines(axes: Any, runs: Sequence[Record]) -> None:
    target = common_score(runs)
    ordered = sorted(runs, key=shard_count)
    line(axes, [(shard_count(record), seconds_a_pass(record)) for record in ordered], "a round")
    reached = [(shard_count(record), seconds_to_score(record, target)) for record in ordered]
    line(axes, reached, f"to a score of {target:.4f}")
    logarithmic(axes, y=True)
    axes.set(xlabel="shards", ylabel="seconds")


if __name__ == "__main__":
    main()
