"""Classify, label and detect with every algorithm beside LinearSVC: time, primal and test score.

Hinge loss, C per example as in fastssvm-2021. Runs end at a certified gap of 0.1 % or when their budget of training
seconds is used up; they alternate, are stored in a folder, and a run that is there with the same settings is not
repeated. LinearSVC is trained from nothing for one tolerance after the other.

Parts: `race` compares algorithms, `shares` switches on fastssvm's parts one by one, `batch` varies the size of its
batches, and `choose` chooses the settings of ml_tmc2007_500-chosen on the last tenth of its training part.
"""

from __future__ import annotations

import argparse
import datetime
import math
import time
from collections.abc import Iterable
from pathlib import Path

import classify_pictures
import classify_tables
from classify_data import Adapter, Problem, libsvm_classes, mnist
from classify_digits import digits
from classify_labels import TMC, TMC_C, TMC_CHOSEN, LabelSettings, choices, label_problem, labels_adapter, read_labels
from classify_runs import (
    ALONE,
    LIBLINEAR,
    THREADED,
    Budget,
    batch_sizes,
    choice_settings,
    perform,
    race,
    settings_of,
    shares,
)
from common import data_folder, machine
from learners_runs import Record, Settings, Store

#: C is per example; the paper's are letter 100,000 / 15,000 and MNIST 10,000 / 60,000.
PROBLEMS: dict[str, Adapter] = {
    "letter": libsvm_classes("letter", 6.667),
    "mnist": mnist,
    "sector": libsvm_classes("sector", 1.0),
    "ml_scene": labels_adapter("ml_scene", "ml_scene", LabelSettings(1.0, length=None)),
    TMC: labels_adapter(TMC, TMC, LabelSettings(TMC_C)),
    f"{TMC}-chosen": labels_adapter(f"{TMC}-chosen", TMC, TMC_CHOSEN),
    "ml_delicious": labels_adapter("ml_delicious", "ml_delicious", LabelSettings(1.0)),
    "digits": digits,
}
PARTS = ("race", "shares", "batch", "choose")
#: Examples with --quick.
QUICK = {"digits": 100}
QUICK_OTHERS = 600
QUICK_BUDGET, QUICK_SETS = 0.15, ("letter", "digits")  # of the parts besides the race


class Session:
    """The runs of one call: stored ones are taken, others done until the deadline."""

    def __init__(self, store: Store, deadline: float) -> None:
        self.store = store
        self.deadline = deadline
        self.left = 0
        self.records: list[Record] = []

    def run(self, problem: Problem, wanted: Iterable[Settings]) -> list[Record]:
        """Do or find these runs, and return those that there are."""
        found = []
        for settings in wanted:
            if self.store.find(settings) is None and time.monotonic() >= self.deadline:
                self.left += 1
            else:
                found.append(self.store.run(problem, settings))
        self.records += found
        return found


def main() -> None:
    started = time.monotonic()
    arguments = _arguments()
    folder = data_folder(arguments.data)
    store = Store(Path(arguments.out or f"build/classify{'-quick' * arguments.quick}"), arguments.again, perform)
    session = Session(store, math.inf if arguments.limit is None else started + arguments.limit)
    print(f"{datetime.date.today()}, {machine()}", flush=True)
    parts = arguments.part or PARTS
    scores = {}
    for name in arguments.set or PROBLEMS:
        for size, wanted in _sizes(name, parts, arguments).items():
            problem = PROBLEMS[name](folder, size)
            scores[name] = problem.score_name
            print(f"\n{describe(problem)}", flush=True)
            for part in wanted:
                _do(part, problem, session, arguments)
    if "choose" in parts and (not arguments.set or TMC in arguments.set):
        choose(folder, session, arguments)
    show(session, scores, arguments.clock)
    if session.left:
        print(f"\n{session.left} runs are left; the same command goes on with them")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="folder with the data sets")
    parser.add_argument("--quick", action="store_true", help="a few hundred examples and tiny budgets: about a minute")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--set", choices=PROBLEMS, action="append", help="only this data set; may be repeated")
    parser.add_argument("--algorithm", choices=(LIBLINEAR, *ALONE, *THREADED), action="append", help="in the race")
    parser.add_argument("--threads", type=_counts, default=(1, 2), help="for algorithms that use them: 1,2,4,8,16")
    parser.add_argument("--budget", type=float, help=f"training seconds of a run (default 60; {QUICK_BUDGET} if quick)")
    parser.add_argument("--share-size", type=int, default=2_000, help="examples in the part shares (default 2,000)")
    parser.add_argument("--repeat", type=int, default=1, help="times to do every run of the race")
    parser.add_argument("--limit", type=float, help="seconds after which no run is begun; 0 shows what is stored")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds to show, and to budget")
    parser.add_argument("--out", help="folder for runs and pictures (default build/classify, or build/classify-quick)")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    arguments = parser.parse_args()
    arguments.budget = Budget(arguments.budget or (QUICK_BUDGET if arguments.quick else 60.0), arguments.clock)
    return arguments


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(count) for count in text.split(","))
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"numbers of threads start at 1, not {min(counts)}")
    return counts


def _sizes(name: str, parts: Iterable[str], arguments: argparse.Namespace) -> dict[int | None, list[str]]:
    """Return the parts to do on the data set by the number of examples that they have."""
    result: dict[int | None, list[str]] = {}
    for part in parts:
        if part == "choose" or (arguments.quick and part != "race" and name not in QUICK_SETS):
            continue
        quick = QUICK.get(name, QUICK_OTHERS)
        size = quick if arguments.quick else arguments.share_size if part == "shares" else None
        result.setdefault(size, []).append(part)
    return result


def describe(problem: Problem) -> str:
    """Say what a problem is."""
    setting = f"; {problem.setting}" if problem.setting else ""
    return f"{problem.name}: {problem.size} examples, {problem.task.core.dimension} weights, C = {problem.C:g}{setting}"


def _do(part: str, problem: Problem, session: Session, arguments: argparse.Namespace) -> None:
    most = max(arguments.threads)
    repeats = 1
    if part == "race":
        entries = race(arguments.threads, arguments.algorithm, problem)
        repeats = arguments.repeat
    else:
        entries = shares(most) if part == "shares" else batch_sizes(problem, most)
    session.run(problem, settings_of(problem, part, entries, arguments.budget, repeats))


def choose(folder: Path, session: Session, arguments: argparse.Namespace) -> None:
    """Judge the settings on held-out examples of the training part, and the best of them once on the test part."""
    data = read_labels(folder, TMC, QUICK_OTHERS if arguments.quick else None)
    judged: dict[LabelSettings, Record] = {}
    for settings, problem in choices(data):
        for record in session.run(problem, [choice_settings(problem, arguments.budget)]):
            judged[settings] = record
    scored = {settings: record.rows[-1]["score"] for settings, record in judged.items() if record.rows}
    if not scored or session.left:
        return
    best = max(scored, key=lambda settings: scored[settings])
    problem = label_problem(f"{TMC}-test", data, best)
    final = session.run(problem, [choice_settings(problem, arguments.budget)])
    classify_tables.show_choice(list(judged.values()), final[0] if final else None, problem.score_name)


def show(session: Session, scores: dict[str, str], clock: str) -> None:
    """Print the tables and draw the pictures of the parts that there are."""
    folder = session.store.folder
    paths: list[Path] = []
    raced, parts, sizes = (classify_tables.grouped(session.records, part) for part in ("race", "shares", "batch"))
    if raced:
        classify_tables.show(raced, scores, clock)
        classify_tables.table2(raced, clock)
        paths += classify_pictures.progress(raced, scores, clock, folder)
        paths += classify_pictures.speedups(raced, clock, folder)
        paths += classify_pictures.threads(raced, folder)
    if parts:
        classify_tables.show_shares(parts, clock)
        paths += classify_pictures.shares(parts, clock, folder)
    if sizes:
        classify_tables.show_batches(sizes, clock)
        paths += classify_pictures.batches(sizes, clock, folder)
    for path in paths:
        print(f"drawn: {path}")


if __name__ == "__main__":
    main()
