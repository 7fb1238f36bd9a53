"""Measure the parallel engines by number of threads, as their papers do.

Every run is stored in a folder, and one that is there with the same settings is not repeated: a benchmark that was
stopped, or that was told to stop by `--limit`, goes on where it was. The most important runs come first. Tables and
pictures show all runs of the chosen parts and data sets in the folder, also those of earlier calls with other
numbers of threads.
"""

from __future__ import annotations

import argparse
import datetime
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import scaling_dual
import scaling_dual_pictures
import scaling_minibatch
import scaling_mixing
import scaling_online_pictures
from common import data_folder, machine
from learners_data import DataSet, Problem
from learners_runs import Record, Store
from scaling_data import DATA_SETS
from scaling_runs import Plan, Planned, run

Records = Mapping[str, Sequence[Record]]


@dataclass(frozen=True)
class Part:
    """A question: on which data sets, which runs, and how to show them."""

    data: Sequence[str]
    plan: Callable[[Plan, Sequence[int]], list[Planned]]
    show: Callable[[str, Sequence[Record]], None]
    draw: Callable[[Records, Mapping[str, str], Path], list[Path]]


PARTS = {
    "dual": Part(
        scaling_dual.DUAL_DATA, scaling_dual.plan_dual, scaling_dual.show_dual, scaling_dual_pictures.draw_dual
    ),
    "minibatch": Part(
        scaling_minibatch.DATA, scaling_minibatch.plan, scaling_minibatch.show, scaling_online_pictures.draw_minibatch
    ),
    "mixing": Part(scaling_mixing.DATA, scaling_mixing.plan, scaling_mixing.show, scaling_online_pictures.draw_mixing),
    "rho": Part(scaling_dual.RHO_DATA, scaling_dual.plan_rho, scaling_dual.show_rho, scaling_dual_pictures.draw_rho),
}


class Data:
    """The data sets, read when a run first needs them; a problem is encoded once."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self._folder = folder
        self._quick = quick
        self._sets: dict[str, DataSet] = {}
        self._problems: dict[tuple[str, bool], Problem] = {}

    def get(self, name: str) -> DataSet:
        """Return a data set, or with `quick` a sample of it."""
        if name not in self._sets:
            data = DATA_SETS[name](self._folder)
            self._sets[name] = data.quick() if self._quick else data
            print(f"{name}: {self._sets[name].sizes()}", flush=True)
        return self._sets[name]

    def problem(self, name: str, on_dev: bool) -> Problem:
        """Return the problem that is scored on the test part, or on the development part."""
        if (name, on_dev) not in self._problems:
            data = self.get(name)
            self._problems[name, on_dev] = data.for_choice() if on_dev else data.for_comparison()
        return self._problems[name, on_dev]


def main() -> None:
    started = time.monotonic()
    arguments = _arguments()
    folder = data_folder(arguments.data)
    names = [name for name in DATA_SETS if not arguments.data_set or name in arguments.data_set]
    chosen = {
        part: [name for name in PARTS[part].data if name in names] for part in dict.fromkeys(arguments.part or PARTS)
    }
    if not any(chosen.values()):
        sys.exit("none of the chosen parts has a chosen data set; see benchmarks/README.md for who has which")
    store = Store(Path(arguments.out or f"build/scaling{'-quick' * arguments.quick}"), arguments.again, run)
    print(f"{datetime.date.today()}, {machine()}", flush=True)
    data = Data(folder, arguments.quick)
    budget = arguments.budget or (5.0 if arguments.quick else 120.0)
    planned = [
        one
        for part, sets in chosen.items()
        for name in sets
        for one in PARTS[part].plan(_plan(part, data.get(name), arguments.C, budget), arguments.threads)
    ]
    deadline = math.inf if arguments.limit is None else started + arguments.limit
    left = perform(sorted(planned, key=lambda one: one.priority), data, store, deadline)
    if left:
        print(f"\n{left} runs are left; the same command goes on with them")
    show(chosen, data, store, arguments.C)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", help="folder with the data sets")
    parser.add_argument("--threads", type=_counts, default=(1, 2, 4, 8, 16), help="such as 1,2,4 (default 1,2,4,8,16)")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--data", dest="data_set", choices=DATA_SETS, action="append", help="only this data set; may be repeated"
    )
    parser.add_argument("--C", type=float, default=0.1, help="cost of slack of every algorithm (default 0.1)")
    parser.add_argument("--budget", type=float, help="training seconds of a run (default 120; 5 with --quick)")
    parser.add_argument("--limit", type=float, help="seconds after which no run is begun; 0 shows what is stored")
    parser.add_argument("--out", help="folder for runs and pictures (default build/scaling, or build/scaling-quick)")
    parser.add_argument("--quick", action="store_true", help="1,000 sequences of each part and a small budget")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    return parser.parse_args()


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(count) for count in text.split(","))
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"numbers of threads start at 1, not {min(counts)}")
    return counts


def _plan(part: str, data: DataSet, C: float, budget: float) -> Plan:
    return Plan(part, data.name, len(data.training), data.constraints, C, budget)


def perform(planned: Sequence[Planned], data: Data, store: Store, deadline: float) -> int:
    """Make the runs that are not stored, and return how many had not begun at the deadline."""
    missing = [one for one in planned if store.find(one.settings) is None]
    for place, one in enumerate(missing):
        if time.monotonic() >= deadline:
            return len(missing) - place
        store.run(data.problem(one.settings.data, one.on_dev), one.settings)
    return 0


def _of(part: str, data: DataSet, stored: Sequence[Record]) -> list[Record]:
    """Return the stored runs of a part on a data set of this size."""
    return [
        record
        for record in stored
        if record.settings.name.split(", ")[0] == part
        and (record.settings.data, record.settings.sequences) == (data.name, len(data.training))
    ]


def show(chosen: Mapping[str, Sequence[str]], data: Data, store: Store, C: float) -> None:
    """Print the tables and draw the pictures of what is stored."""
    stored = [record for record in store.records() if record.settings.C == C]
    drawn = []
    for part, names in chosen.items():
        records = {name: _of(part, data.get(name), stored) for name in names}
        records = {name: found for name, found in records.items() if found}
        for name, found in records.items():
            PARTS[part].show(name, found)
        records = {name: kept for name, found in records.items() if (kept := [one for one in found if one.rows])}
        if records:
            drawn += PARTS[part].draw(records, {name: data.get(name).score for name in records}, store.folder)
    print()
    for path in drawn:
        print(f"drawn: {path}")


if __name__ == "__main__":
    main()
