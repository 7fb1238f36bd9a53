"""Classify with every algorithm beside LinearSVC(multi_class="crammer_singer"): time, primal and test score.

Hinge loss, no bias, C per example as in fastssvm-2021. Runs end at a certified gap of 0.1 % or when their budget of
training seconds is used up; they alternate, are stored in a folder, and a run that is there with the same settings is
not repeated. LinearSVC is trained from nothing for one tolerance after the other.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

import classify_tables
from classify_data import PROBLEMS
from classify_runs import ALONE, LIBLINEAR, THREADED, perform, plan
from common import data_folder, machine
from learners_runs import Record, Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", help="folder with the data sets")
    parser.add_argument("--quick", action="store_true", help="2,000 examples of each data set and small budgets")
    parser.add_argument("--set", choices=PROBLEMS, action="append", help="only this data set; may be repeated")
    parser.add_argument("--algorithm", choices=(LIBLINEAR, *ALONE, *THREADED), action="append", help="only this one")
    parser.add_argument("--threads", default="1,2", help="for algorithms that use them, such as 1,2,4,8,16")
    parser.add_argument("--budget", type=float, help="training seconds of a run (default 60; 3 with --quick)")
    parser.add_argument("--repeat", type=int, default=1, help="times to do every run")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds to show")
    parser.add_argument("--out", help="folder for runs and pictures (default build/classify, or build/classify-quick)")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    store = Store(Path(arguments.out or f"build/classify{'-quick' * arguments.quick}"), arguments.again, perform)
    budget = arguments.budget or (3.0 if arguments.quick else 60.0)
    threads = [int(count) for count in arguments.threads.split(",")]
    print(f"{datetime.date.today()}, {machine()}", flush=True)

    records: list[Record] = []
    scores = {}
    for name in arguments.set or PROBLEMS:
        problem = PROBLEMS[name](folder, arguments.quick)
        scores[name] = problem.score_name
        print(
            f"\n{name}: {problem.size} examples, {problem.task.core.dimension} weights, C = {problem.C:g}", flush=True
        )
        for settings in plan(problem, threads, budget, arguments.repeat, arguments.algorithm):
            records.append(store.run(problem, settings))
    runs = classify_tables.grouped(records)
    classify_tables.show(runs, scores, arguments.clock)
    for path in classify_tables.draw(runs, scores, arguments.clock, store.folder):
        print(f"drawn: {path}")


if __name__ == "__main__":
    main()
