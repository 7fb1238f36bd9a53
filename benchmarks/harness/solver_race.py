"""Runs of the engines on entities and relations, pass by pass, and what they would take on more threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.entities import Calls, Encoded
from harness.package import primal
from harness.schedules import SCHEDULES, Measured
from marginloom import Callback, train

C, TOLERANCE = 0.1, 1e-3
SERIAL, PARALLEL = "dcd-ssvm", ("ms-dcd", "demi-dcd", "shared-dcd", "ipm")
INNER_EPOCHS = 10
MOST_PASSES = 100
SPENT = ("inference", "update", "publishing", "waiting")


@dataclass
class Run:
    """A run of an engine: a row for every pass, whose seconds, inferences and updates are those since the beginning."""

    algorithm: str
    threads: int
    rows: list[dict[str, Any]]
    passes: list[Measured]

    @property
    def name(self) -> str:
        """What tables and pictures call it."""
        return f"{self.algorithm}, {self.threads}"

    @property
    def busy(self) -> float:
        """The share of the threads' seconds in which they do not wait."""
        return 1 - sum(row["waiting"] for row in self.rows) / (self.threads * self.rows[-1]["seconds"])

    def rate(self, passes: int) -> float:
        """Return the inferences a second of the first passes."""
        last = self.rows[passes - 1]
        return float(last["inferences"] / last["seconds"])


class _Watch(Callback):
    """Measures primal, scores and searches after every pass, and ends a run after its budget."""

    stop_reason = "budget"

    def __init__(self, encoded: Encoded, budget: float, calls: Calls) -> None:
        self.rows: list[dict[str, Any]] = []
        self.passes: list[Measured] = []
        self._encoded, self._budget, self._calls = encoded, budget, calls

    def after_iteration(self, run: Any, row: dict[str, Any]) -> bool:
        """Measure the weights after a pass, outside the clock of training."""
        weights, threads = run.last_weights(), row["threads"]
        spent = {name: sum(one[name] for one in threads) for name in SPENT}
        searches, locked = self._calls.take()
        if not searches:
            searches = [_in_proportion(self._encoded, weights, spent["inference"])]
        seconds = row["seconds"] - (self.rows[-1]["seconds"] if self.rows else 0.0)
        alone = max(seconds - sum(spent.values()) / len(threads), 0.0)
        self.passes.append(Measured(searches, spent["update"] + spent["publishing"], locked, alone))
        scores = self._encoded.scores(weights)
        self.rows.append({
            "seconds": row["seconds"], "inferences": row["inferences"], "updates": row["updates"], **spent,
            "primal": primal(self._encoded.tasks["native"], weights, C=C, loss="squared_hinge", n_threads=1),
            **{name: scores[name] for name in ("entity_f1", "relation_f1")},
        })  # fmt: skip
        return bool(row["seconds"] >= self._budget)


def _in_proportion(encoded: Encoded, weights: Any, inference: float) -> list[float]:
    """Share the seconds of a pass's searches among sentences, as each of them takes with these weights."""
    core, seconds = encoded.tasks["native"].core, []
    for i in range(core.size):
        start = time.perf_counter()
        core.find(i, weights)
        seconds.append(time.perf_counter() - start)
    total = sum(seconds)
    return [one * inference / total for one in seconds]


def planned(threads: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield the runs to make: algorithm and number of threads."""
    yield SERIAL, 1
    for name in PARALLEL:
        yield from ((name, count) for count in threads if count > 1 or name in ("ms-dcd", "ipm"))


def race(encoded: Encoded, solver: str, threads: Sequence[int], budget: float, calls: Calls) -> list[Run]:
    """Make all runs with a solver."""
    runs = []
    for name, count in planned(threads):
        watch = _Watch(encoded, budget, calls)
        options: dict[str, Any] = {"C": C, "tol": TOLERANCE}
        if name == "ipm":
            options = {"engine": {"shards": max(count, 2), "inner_epochs": INNER_EPOCHS}}
        calls.take()
        train(
            encoded.tasks[solver], algorithm=name, n_threads=count, max_iter=MOST_PASSES, callbacks=[watch], **options
        )
        runs.append(Run(name, count, watch.rows, watch.passes))
        print(f"{solver}, {runs[-1].name}: {len(watch.rows)} passes", flush=True)
    return runs


@dataclass(frozen=True)
class Computed:
    """Inferences a second of the same passes: measured on one thread and on two, and computed."""

    algorithm: str
    passes: int
    one: float
    two: float
    rates: dict[int, float]

    @property
    def off(self) -> float:
        """How far the computation for two threads is from the measurement, as a share of it."""
        return self.rates[2] / self.two - 1


def computed(runs: Sequence[Run], counts: Sequence[int]) -> Iterator[Computed]:
    """Compute what numbers of threads would do from the seconds of every search, and of the updates, on two."""
    found = {(run.algorithm, run.threads): run for run in runs}
    for name, seconds_of in SCHEDULES.items():
        if (name, 2) not in found:
            continue
        two, one = found[name, 2], found.get((name, 1), found[SERIAL, 1])
        passes = min(len(one.rows), len(two.rows))
        inferences = two.rows[passes - 1]["inferences"]
        rates = {count: inferences / sum(seconds_of(part, count) for part in two.passes[:passes]) for count in counts}
        yield Computed(name, passes, one.rate(passes), two.rate(passes), rates)
