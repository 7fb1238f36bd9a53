"""The part `mixing` of scaling.py: entities on the development part, as in section 5 of parameter-mixing-2010.

- `systems`: four systems with ten shards, plain and averaged, until the training set is separated or the training loss
  has stayed the same for three passes (Figure 4).
- `errors`: wrong training examples a pass for 10 and 100 shards and both mixings (Figure 6).
- `shards`: seconds a round and to a common score by the number of shards, averaged.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import print_table
from learners_runs import Record
from scaling_figures import (
    best_score,
    final_score,
    number,
    percent,
    seconds_a_pass,
    seconds_to_score,
    thread_shares,
)
from scaling_runs import Plan, Planned

DATA = ("conll2003_en",)
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


def plan(part: Plan, threads: Sequence[int]) -> list[Planned]:
    """Plan the four systems first, then the training errors, then the numbers of shards."""
    most = max(threads)
    runs = []
    for averaged in (False, True):
        learner = {"averaged": averaged, "stop_separated": True, "stop_unchanged": UNCHANGED}
        for algorithm in SYSTEMS:
            parallel = algorithm in ("parameter-mixing", "ipm")
            runs.append(
                part.run(
                    0,
                    algorithm,
                    min(most, SHARDS) if parallel else 1,
                    f"systems, {'averaged' if averaged else 'plain'}",
                    max_iter=MOST_PASSES,
                    learner=learner,
                    engine={} if algorithm == "averaged-perceptron" else {"shards": SHARDS},
                    on_dev=True,
                )
            )
    for shards in ERROR_SHARDS:
        for mixing in MIXINGS:
            runs.append(
                part.run(
                    1,
                    "ipm",
                    most,
                    f"errors, {shards} {mixing}",
                    max_iter=ERROR_PASSES,
                    learner={"averaged": False},
                    engine={"shards": shards, "mixing": mixing},
                    on_dev=True,
                )
            )
    runs.append(part.run(2, "averaged-perceptron", 1, "shards, 1", max_iter=SHARD_ROUNDS, on_dev=True))
    for shards in SHARD_COUNTS:
        engine = {"shards": shards}
        runs.append(part.run(2, "ipm", most, f"shards, {shards}", max_iter=SHARD_ROUNDS, engine=engine, on_dev=True))
    return runs


def of_study(study: str, records: Sequence[Record]) -> list[Record]:
    """Return the runs of `systems`, `errors` or `shards`."""
    return [record for record in records if record.settings.name.split(", ")[2] == study and record.rows]


def shard_count(record: Record) -> int:
    """Return the number of shards; 1 for serial training."""
    return record.settings.engine.get("shards", 1)


def of_systems(records: Sequence[Record]) -> list[Record]:
    """Return the runs of the four systems, plain and averaged."""
    order = list(SYSTEMS)
    return sorted(
        of_study("systems", records),
        key=lambda one: (one.settings.learner["averaged"], order.index(one.settings.algorithm), one.settings.threads),
    )


def of_errors(records: Sequence[Record]) -> list[Record]:
    """Return the runs of the study of training errors, few shards first."""
    return sorted(of_study("errors", records), key=lambda one: (shard_count(one), one.settings.engine["mixing"]))


def of_shards(records: Sequence[Record]) -> list[Record]:
    """Return the runs of the study of shards, few shards first."""
    return sorted(of_study("shards", records), key=lambda one: (one.settings.threads, shard_count(one)))


def show(data: str, records: Sequence[Record]) -> None:
    """Print the tables."""
    systems, errors, shards = of_systems(records), of_errors(records), of_shards(records)
    if systems:
        print(f"\n{data}, development part: four systems, {SHARDS} shards\n")
        header = ["system", "perceptron", "threads", "score", "best score", "passes", "seconds", "end"]
        print_table(header, [_system(record) for record in systems])
    if errors:
        print(f"\n{data}: wrong training examples a pass, plain perceptron\n")
        header = ["shards", "mixing", "threads", *(f"pass {count}" for count in ERROR_SHOWN)]
        print_table(header, [_errors(record) for record in errors])
    if shards:
        target = min(best_score(record) for record in shards)
        print(f"\n{data}: averaged perceptron by number of shards; a score of {target:.4f} is reached by all\n")
        header = ["shards", "threads", "seconds a round", "rounds to it", "seconds to it", "best score", "waiting"]
        print_table([*header, "publishing"], [_shards(record, target) for record in shards])


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
