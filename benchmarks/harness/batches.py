"""What batches, and threads that search them, bring to an online learner (Figures 2 to 8 of minibatch-2013).

Batches and shards give the same weights for any number of threads. So passes are made on one thread, and what they take
on p threads is computed from the seconds of every search and of all steps:

    batches   searches x share + steps              share: sum over batches of the slowest thread / sum of the searches
    shards    (searches + steps) x share + mixing           share: the slowest shard / sum of all

Runs on two threads say how far that is from what is measured. Scores and passes are means over seeds.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.benchmark import Benchmark
from harness.figures import best_score, final_score, measured
from harness.package import search_seconds, works
from harness.pictures import finish, line, panels, save
from harness.problem import Problem
from harness.runs import Planned, Record
from harness.schedules import BATCH_PLANS, share_of_batches, share_of_shards
from harness.tables import number, percent, print_table
from marginloom import train

ONLINE, BATCHES, MIXED = "online", "m", "ipm"


@dataclass(frozen=True)
class Family:
    """A learner online, by batches and mixed; what is compared."""

    name: str
    online: str
    minibatch: str
    mixed: str
    sizes: Sequence[int] = (4, 16, 24, 32, 48)
    chosen: int = 24  # size of the batches that threads search
    threads: Sequence[int] = (2, 4, 8, 12, 16)


MIRA = Family("MIRA", "mira", "minibatch-mira", "ipm-mira")
PERCEPTRON = Family("perceptron", "averaged-perceptron", "minibatch-perceptron", "ipm")


@dataclass(frozen=True)
class Kind:
    """Runs that differ in their seeds only: online, batches of a size, or so many shards."""

    name: str
    size: int = 1

    def __str__(self) -> str:
        return self.name if self.name == ONLINE else f"{self.name} = {self.size}"


@dataclass
class Study:
    """The runs of one family on one problem, and what is read from them.

    `passes` are those of every run; `group` distinguishes its stored runs from others on the same data.
    """

    benchmark: Benchmark
    problem: Problem
    family: Family
    passes: int
    seeds: Sequence[int] = (0, 1, 2)
    group: str = "batches"

    def run(self) -> None:
        """Make the runs on one thread that are not stored."""
        self.benchmark.run(self._planned(kind, seed) for seed in self.seeds for kind in self.kinds)

    def run_on_two(self) -> None:
        """Make the runs that say how good computed seconds are."""
        kinds = (Kind(BATCHES, self.family.chosen), Kind(MIXED, 2))
        self.benchmark.run(self._planned(kind, self.seeds[0], threads) for kind in kinds for threads in (1, 2))

    @cached_property
    def kinds(self) -> list[Kind]:
        """What is run, in the order of the tables."""
        sizes = [Kind(BATCHES, size) for size in sorted({*self.family.sizes, self.family.chosen})]
        return [Kind(ONLINE), *sizes, *(Kind(MIXED, count) for count in self.family.threads)]

    def _planned(self, kind: Kind, seed: int, threads: int | None = None) -> Planned:
        """Plan a run; those with a number of threads are made to measure seconds."""
        algorithms = {ONLINE: self.family.online, BATCHES: self.family.minibatch, MIXED: self.family.mixed}
        engines = {ONLINE: {}, BATCHES: {"batch_size": kind.size}, MIXED: {"shards": kind.size}}
        options: dict[str, Any] = {"engine": engines[kind.name], "seed": seed, "group": self.group}
        if threads is None:
            name, passes = _name(kind, seed), self.passes
        else:
            name, passes = f"{kind}, measured on {threads}", min(self.passes, 3)
            options |= {"threads": threads, "every_pass": False}
        return Planned.of(self.problem, name, algorithms[kind.name], max_iter=passes, **options)

    @cached_property
    def _records(self) -> dict[str, Record]:
        runs = self.benchmark.records(self.problem.name, self.group)
        return {record.settings.name: record for record in runs if record.rows}

    def runs_of(self, kind: Kind) -> list[Record]:
        """Return the runs of every seed."""
        return [self._records[name] for seed in self.seeds if (name := _name(kind, seed)) in self._records]

    @cached_property
    def searches(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Seconds of the search of every sentence, with weights that have been trained a little, and their lengths."""
        path = Path(self.benchmark.folder, f"searches.{self.problem.name}.json".replace(" ", "_"))
        if not path.exists():
            engine = {"batch_size": self.family.chosen}
            result = train(self.problem.task, algorithm=self.family.minibatch, max_iter=3, n_threads=1, engine=engine)
            found = (search_seconds(self.problem.task, result.weights), works(self.problem.task))
            path.write_text(json.dumps([one.tolist() for one in found]))
        seconds, lengths = json.loads(path.read_text())
        order = np.random.default_rng(0).permutation(len(seconds))
        return np.array(seconds)[order], np.array(lengths)[order]

    def share(self, kind: Kind, threads: int) -> float:
        """Return what searches take on so many threads, of what they take on one."""
        seconds, lengths = self.searches
        if kind.name == ONLINE or threads == 1:
            return 1.0
        if kind.name == MIXED:
            return share_of_shards(seconds, threads)
        return share_of_batches(seconds, lengths, kind.size, threads)

    def seconds(self, record: Record, kind: Kind, threads: int) -> list[float]:
        """Return the computed seconds of every pass."""
        share, found = self.share(kind, threads), []
        for row in record.rows:
            (spent,) = row["threads"]
            if kind.name == MIXED:
                found.append((spent["inference"] + spent["update"]) * share + spent["publishing"])
            else:
                found.append(spent["inference"] * share + spent["update"])
        return found

    def goal(self, kinds: Iterable[Kind]) -> float:
        """Return the lowest of the best mean scores: a score that all of these reach, as in the paper."""
        return min(max(_mean_curve(runs)) for kind in kinds if (runs := self.runs_of(kind)))

    def passes_to(self, kind: Kind, goal: float) -> int | None:
        """Return after how many passes the mean over seeds reaches a score."""
        curve = _mean_curve(self.runs_of(kind))
        return next((k for k, score in enumerate(curve, 1) if score >= goal), None)

    def seconds_to(self, kind: Kind, threads: int, goal: float) -> float | None:
        """Return the computed seconds to it, a mean over seeds."""
        passes = self.passes_to(kind, goal)
        if passes is None:
            return None
        return statistics.mean(sum(self.seconds(record, kind, threads)[:passes]) for record in self.runs_of(kind))

    def size_table(self) -> None:
        """Print scores by the size of batches (Figures 2 and 5)."""
        kinds = [kind for kind in self.kinds if kind.name != MIXED and self.runs_of(kind)]
        if not kinds:
            return
        goal = max(_mean_curve(self.runs_of(kinds[0])))
        rows = []
        for kind in kinds:
            runs, passes = self.runs_of(kind), self.passes_to(kind, goal)
            rows.append([
                str(kind),
                spread([final_score(record) or 0.0 for record in runs]),
                spread([best_score(record) for record in runs]),
                number(self._a_pass(kind, 1)),
                str(passes or "-"),
                number(self.seconds_to(kind, 1, goal)),
            ])  # fmt: skip
        score = self.problem.score_name
        header = ["", f"{score} after {self.passes} passes", f"best {score}", "s a pass"]
        header += [f"passes to {goal:.4f}", "s to it"]
        print_table(f"{self.problem.name}, {self.family.name}, one thread, {len(self.seeds)} seeds", header, rows)

    def thread_table(self) -> None:
        """Print speed-ups by threads (Figures 3, 4, 6 and 7)."""
        batches, online = Kind(BATCHES, self.family.chosen), Kind(ONLINE)
        mixed = [Kind(MIXED, count) for count in self.family.threads if self.runs_of(Kind(MIXED, count))]
        if not self.runs_of(batches) or not self.runs_of(online) or not mixed:
            return
        goal = self.goal([online, batches, *mixed])
        before, alone = self.seconds_to(online, 1, goal), self._a_pass(online, 1)
        rows = [[str(online), "1", self._best(online), number(alone), "-", *self._reached(online, 1, goal), "-"]]
        for kind, count in [*((batches, count) for count in (1, *self.family.threads)), *((k, k.size) for k in mixed)]:
            first = alone if kind.name == MIXED else self._a_pass(kind, 1)
            after = self.seconds_to(kind, count, goal)
            rows.append([
                str(kind),
                str(count),
                self._best(kind),
                number(self._a_pass(kind, count)),
                number(first / self._a_pass(kind, count)),
                *self._reached(kind, count, goal),
                number(before / after if before and after else None),
            ])  # fmt: skip
        header = ["", "threads", f"best mean {self.problem.score_name}", "s a pass", "intrinsic"]
        header += [f"passes to {goal:.4f}", "s to it", "extrinsic"]
        print_table(f"{self.problem.name}, {self.family.name}: threads, computed", header, rows)

    def two_thread_table(self) -> None:
        """Print computed seconds beside measured ones."""
        rows = []
        for kind in (Kind(BATCHES, self.family.chosen), Kind(MIXED, 2)):
            one, two = (self._records.get(f"{kind}, measured on {threads}") for threads in (1, 2))
            if one is None or two is None:
                continue
            computed = statistics.mean(self.seconds(one, kind, 2))
            found, before = (record.seconds() / len(record.rows) for record in (two, one))
            rows.append([
                str(kind), number(before), number(found), number(computed), f"{100 * (computed / found - 1):+.1f} %",
                number(before / found), percent(_waiting(two)),
            ])  # fmt: skip
        header = ["", "s a pass, 1 thread", "2 threads", "computed", "off by", "intrinsic", "waiting"]
        print_table(f"{self.problem.name}, {self.family.name}: one and two threads, measured", header, rows)

    def waiting_table(self) -> None:
        """Print what threads wait for each other by how a batch is shared out (Figure 8)."""
        rows = [
            [plan, *(percent(self._waits(plan, count)) for count in self.family.threads)]
            for plan in (*BATCH_PLANS, "ipm")
        ]
        header = [f"m = {self.family.chosen}", *(f"p = {count}" for count in self.family.threads)]
        print_table(f"{self.problem.name}: waiting for each other, computed", header, rows)

    def _waits(self, plan: str, threads: int) -> float:
        seconds, lengths = self.searches
        if plan == "ipm":
            return 1 - 1 / (threads * share_of_shards(seconds, threads))
        return 1 - 1 / (threads * share_of_batches(seconds, lengths, self.family.chosen, threads, plan))

    def _a_pass(self, kind: Kind, threads: int) -> float:
        return statistics.mean(statistics.mean(self.seconds(run, kind, threads)) for run in self.runs_of(kind))

    def _best(self, kind: Kind) -> str:
        return f"{max(_mean_curve(self.runs_of(kind))):.4f}"

    def _reached(self, kind: Kind, threads: int, goal: float) -> list[str]:
        return [str(self.passes_to(kind, goal) or "-"), number(self.seconds_to(kind, threads, goal))]

    def draw(self) -> list[Path]:
        """Draw sizes, threads, speed-ups and waiting in a row, as Figures 2, 3, 4 and 8."""
        if not self.runs_of(Kind(ONLINE)):
            return []
        figure, ((sizes, threads, speed_ups, waiting),) = panels(4)
        for kind in (kind for kind in self.kinds if kind.name != MIXED):
            self._curve(sizes, kind, 1)
        batches = Kind(BATCHES, self.family.chosen)
        mixed = [Kind(MIXED, count) for count in self.family.threads]
        shown = [(Kind(ONLINE), 1), *((batches, count) for count in (1, 4, 12)), *((kind, kind.size) for kind in mixed)]
        for kind, count in shown:
            self._curve(threads, kind, count, "--" if kind.name == MIXED else "-")
        self._speed_ups(speed_ups, "batches", [(batches, count) for count in (1, *self.family.threads)])
        self._speed_ups(speed_ups, "ipm", [(kind, kind.size) for kind in mixed if self.runs_of(kind)])
        for plan in (*BATCH_PLANS, "ipm"):
            line(waiting, [(count, 100 * self._waits(plan, count)) for count in self.family.threads], plan)
        sizes.set_title(f"{self.problem.name}, {self.family.name}", fontsize="small")
        speed_ups.set(xlabel="threads", ylabel="speed-up")
        waiting.set(xlabel="threads", ylabel="waiting, %")
        for axes in (sizes, threads, speed_ups, waiting):
            finish(axes)
        return save(figure, self.benchmark.folder / f"batches-{self.problem.name}".replace(" ", "_"))

    def _curve(self, axes: Any, kind: Kind, threads: int, style: str = "-") -> None:
        runs = self.runs_of(kind)
        if not runs:
            return
        seconds = np.mean([np.cumsum(self.seconds(record, kind, threads)) for record in runs], axis=0)
        line(axes, zip(seconds.tolist(), _mean_curve(runs), strict=True), f"{kind}, {threads}", style)
        axes.set(xlabel="seconds", ylabel=self.problem.score_name)

    def _speed_ups(self, axes: Any, name: str, points: Sequence[tuple[Kind, int]]) -> None:
        online = Kind(ONLINE)
        goal = self.goal([online, *(kind for kind, _ in points)])
        before = self.seconds_to(online, 1, goal) or 0.0
        for label, style, value in (
            ("extrinsic", "-", self._extrinsic(goal, before)),
            ("intrinsic", "--", self._times),
        ):
            line(axes, [(count, value(kind, count)) for kind, count in points], f"{name}, {label}", style)

    def _extrinsic(self, goal: float, before: float) -> Callable[[Kind, int], float]:
        return lambda kind, count: before / (self.seconds_to(kind, count, goal) or float("nan"))

    def _times(self, kind: Kind, count: int) -> float:
        return self._a_pass(Kind(ONLINE) if kind.name == MIXED else kind, 1) / self._a_pass(kind, count)


def spread(values: Sequence[float]) -> str:
    """Show a mean and the range."""
    if not values:
        return "-"
    mean = f"{statistics.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.4f} to {max(values):.4f})"


def _name(kind: Kind, seed: int) -> str:
    return f"{kind}, seed {seed}"


def _mean_curve(runs: Sequence[Record]) -> list[float]:
    """Return the mean score after every pass that all runs have made."""
    curves = [[row["score"] for row in measured(record)] for record in runs]
    return [statistics.mean(scores) for scores in zip(*curves, strict=False)]


def _waiting(record: Record) -> float:
    """Return the share of their time that threads wait, the update of a batch included."""
    threads = [thread for row in record.rows for thread in row["threads"]]
    return sum(thread["waiting"] for thread in threads) / (record.settings.threads * record.seconds())
