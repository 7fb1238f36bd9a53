"""One call of a benchmark: its options, its data sets, and its runs, stored in a folder so that none is repeated."""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.command import Question
from harness.data_sets import quick_size, read_problem
from harness.files import data_folder
from harness.problem import Problem
from harness.runs import Planned, Record, Settings, perform
from harness.tables import machine

#: Makes a run.
Perform = Callable[[Problem, Settings], Record]


class Benchmark:
    """Reads problems, makes or finds runs, and returns what is stored of them.

    Parameters
    ----------
    question : Question
        Which benchmark it is.
    arguments : Namespace, optional
        What `Question.arguments` has read; by default it reads the command line.
    """

    def __init__(self, question: Question, arguments: argparse.Namespace | None = None) -> None:
        started = time.monotonic()
        self.arguments = arguments or question.arguments()
        self.clock: str = self.arguments.clock
        self.threads: tuple[int, ...] = self.arguments.threads
        self.sets: list[str] = [name for name in question.sets if name in self.arguments.set]
        self.data = data_folder(self.arguments.data)
        self.folder = Path(self.arguments.out)
        self.folder.mkdir(parents=True, exist_ok=True)
        #: Names of the scores by data set, of those that were read.
        self.score_names: dict[str, str] = {}
        self._sizes: dict[str, set[int]] = {}
        self._order: dict[tuple[str, str, str], int] = {}
        self._deadline = started + self.arguments.limit
        self._done: set[Path] = set()
        self.left = 0
        print(f"{datetime.date.today()}, {machine()}", flush=True)

    def problem(self, name: str, count: int | None = None) -> Problem:
        """Read a data set: all of it, `count` examples, or with ``--quick`` a small sample."""
        found = read_problem(self.data, name, quick_size(name) if self.arguments.quick else count)
        self.describe(found)
        return found

    def describe(self, problem: Problem) -> None:
        """Say what a problem is, and take note of it for the tables."""
        self.score_names[problem.name] = problem.score_name
        print(f"\n{problem}", flush=True)

    def run(self, planned: Iterable[Planned], perform: Perform = perform) -> None:
        """Make the runs that are not stored; repetitions alternate, so that noise hits all alike."""
        ordered = sorted(planned, key=lambda one: one.priority)
        for repeat in range(1, self.arguments.repeat + 1):
            for one in ordered:
                wanted = {"budget": self.arguments.budget, "clock": self.clock, "repeat": repeat}
                self._run(one.problem, replace(one.settings, **wanted), perform)

    def _run(self, problem: Problem, settings: Settings, perform: Perform) -> None:
        self._order.setdefault((settings.data, settings.group, settings.name), len(self._order))
        self._sizes.setdefault(settings.data, set()).add(settings.size)
        path = self._path(settings)
        may_stand = path.exists() and (path in self._done or not self.arguments.again)
        if may_stand and Record.load(path).stands_for(settings):
            return
        if time.monotonic() >= self._deadline:
            self.left += 1
            return
        record = perform(problem, settings)
        record.save(path)
        self._done.add(path)
        last = record.rows[-1] if record.rows else None
        shown = f"{last['wall']:.2f} s, score {last['score']:.4f}" if last else "no pass ended"
        print(f"{settings.data}, {settings.name}: {shown}", flush=True)

    def _path(self, settings: Settings) -> Path:
        words = (settings.data, settings.group, settings.name, f"{settings.repeat}.jsonl")
        return self.folder / _file_name(".".join(word for word in words if word))

    def repeats(self, data: str, group: str = "") -> dict[str, list[Record]]:
        """Return every stored run on a data set of the sizes in this call's plan, by name: also those of earlier calls.

        Names are in the order of the plan, those of earlier calls last.
        """
        found: dict[str, list[Record]] = {}
        for path in sorted(self.folder.glob(_file_name(f"{data}.*.jsonl"))):
            record = Record.load(path)
            settings = record.settings
            if (settings.data, settings.group) == (data, group) and settings.size in self._sizes.get(data, ()):
                found.setdefault(settings.name, []).append(record)
        last = len(self._order)
        return dict(sorted(found.items(), key=lambda item: self._order.get((data, group, item[0]), last)))

    def records(self, data: str, group: str = "") -> list[Record]:
        """Return a run for each name: of several, the one whose seconds are the median."""
        return [typical(found) for found in self.repeats(data, group).values()]

    def of_all_sets(self, group: str = "") -> dict[str, dict[str, Record]]:
        """Return a run for each data set that was read and each name."""
        found = {
            name: {record.settings.name: record for record in self.records(name, group)} for name in self.score_names
        }
        return {name: runs for name, runs in found.items() if runs}

    def end(self, drawn: Iterable[Path] = ()) -> None:
        """Tell what was drawn, and what is left to do."""
        print()
        for path in drawn:
            print(f"drawn: {path}")
        if self.left:
            print(f"{self.left} runs are left; the same command goes on with them")


def _file_name(words: str) -> str:
    return words.replace(" ", "_").replace("/", "-")


def typical(records: list[Record]) -> Record:
    """Return the run whose training seconds are the median, the lower one of two."""
    return sorted(records, key=lambda record: record.seconds())[(len(records) - 1) // 2]


def with_rows(runs: Mapping[str, Record]) -> dict[str, Record]:
    """Leave out runs that did not end a pass."""
    return {name: record for name, record in runs.items() if record.rows}
