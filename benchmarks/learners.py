"""Compare all learners on one thread, as dcd-ssvm-2013 does in section 4: scores, objectives and gaps against time.

Every learner gets the same features and the same C, which dcd-ssvm chooses on a development part, and 25 passes unless
its budget of training seconds ends first. The part `race` trains on ocr_letters until a gap of 1 % is certified. Runs
are stored in a folder, and a run that is there with the same settings is not repeated.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

import learners_pictures
import learners_tables
from common import data_folder, machine
from learners_data import DATA_SETS, DataSet
from learners_runs import Record, Settings, Store, best_cost, choose_cost

LEARNERS = (
    *("dcd-ssvm", "dcd-light", "cpd", "n-slack", "one-slack", "bcfw", "fsmo"),
    *("averaged-perceptron", "mira", "kbest-mira", "passive-aggressive", "sgd"),
)
RACE = "race"
RACERS = {
    "bcfw": ("bcfw", {}, None),
    "bcfw, inner_passes=5": ("bcfw", {"inner_passes": 5}, None),
    "one-slack": ("one-slack", {}, None),
    "one-slack, cache=0": ("one-slack", {"cache": 0}, None),
    "dcd-ssvm, hinge": ("dcd-ssvm", {}, "hinge"),
    "dcd-ssvm": ("dcd-ssvm", {}, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", help="folder with the data sets")
    parser.add_argument("--quick", action="store_true", help="1,000 sequences of each part and small budgets")
    parser.add_argument("--part", choices=(*DATA_SETS, RACE), action="append", help="only this; may be repeated")
    parser.add_argument("--budget", type=float, help="training seconds of a run (default 120; 2.5 with --quick)")
    parser.add_argument("--race-budget", type=float, help="the same in the part race (default 600; 10 with --quick)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds to show")
    parser.add_argument("--out", help="folder for runs and pictures (default build/learners, or build/learners-quick)")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    store = Store(Path(arguments.out or f"build/learners{'-quick' * arguments.quick}"), arguments.again)
    budget = arguments.budget or (2.5 if arguments.quick else 120.0)
    race_budget = arguments.race_budget or (10.0 if arguments.quick else 600.0)
    parts = arguments.part or [*DATA_SETS, RACE]
    print(f"{datetime.date.today()}, {machine()}", flush=True)

    records, scores, choices, chosen = {}, {}, {}, {}
    raced: dict[str, Record] = {}
    for name in dict.fromkeys("ocr_letters" if part == RACE else part for part in parts):
        data = DATA_SETS[name](folder)
        data = data.quick() if arguments.quick else data
        print(f"\n{name}: {data.sizes()}", flush=True)
        scores[name] = data.score
        choices[name] = choose_cost(data, store, budget)
        chosen[name] = best_cost(choices[name])
        if name in parts:
            records[name] = compare(data, chosen[name], store, budget)
        if name == "ocr_letters" and RACE in parts:
            raced = race(data, chosen[name], store, race_budget)
    show(records, scores, arguments.clock)
    learners_tables.choice_table(choices, chosen)
    if raced:
        learners_tables.race_table(raced)
    for path in learners_pictures.draw(records, scores, arguments.clock, store.folder):
        print(f"drawn: {path}")


def compare(data: DataSet, C: float, store: Store, budget: float) -> dict[str, Record]:
    """Run every learner; n-slack only where the data are small."""
    problem = data.for_comparison()
    size = len(problem.training)
    return {
        name: store.run(problem, Settings(data.name, size, data.constraints, name, name, C, budget))
        for name in LEARNERS
        if name != "n-slack" or data.name == "ocr_letters"
    }


def race(data: DataSet, C: float, store: Store, budget: float) -> dict[str, Record]:
    """Train to a certified gap of 1 %, however many passes it takes."""
    problem = data.for_comparison()
    size = len(problem.training)
    return {
        name: store.run(
            problem,
            Settings(
                data.name,
                size,
                data.constraints,
                f"race, {name}",
                algorithm,
                C,
                budget,
                100_000,
                0.01,
                parameters,
                loss,
            ),
        )
        for name, (algorithm, parameters, loss) in RACERS.items()
    }


def show(records: dict[str, dict[str, Record]], scores: dict[str, str], clock: str) -> None:
    if not records:
        return
    learners_tables.score_table(records, LEARNERS, scores)
    learners_tables.seconds_table(records, LEARNERS, clock)
    learners_tables.early_table(records, ("dcd-ssvm", "one-slack", "bcfw", "averaged-perceptron", "mira", "sgd"))
    learners_tables.gap_table(records, clock)
    for data, runs in records.items():
        learners_tables.equal_time_table(data, runs, clock)


if __name__ == "__main__":
    main()
