"""Tables of classify.py, from its records: one a data set, Table 2 of fastssvm-2021, shares, batches, the choice."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from classify_runs import LIBLINEAR, PUBLISHED
from common import print_table
from learners_runs import Record

#: The runs of each algorithm on each data set, one a repetition.
Runs = Mapping[str, Mapping[str, Sequence[Record]]]
WITHIN = (0.05, 0.005)


def grouped(records: Sequence[Record], part: str) -> dict[str, dict[str, list[Record]]]:
    """Sort the records of a part by data set and name, without the number of the repetition."""
    result: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        its_part, name = record.settings.name.rsplit(" #", 1)[0].split(", ", 1)
        if its_part == part:
            result.setdefault(record.settings.data, {}).setdefault(name, []).append(record)
    return result


def optimum(runs: Mapping[str, Sequence[Record]]) -> float:
    """Return the lowest primal that any run has seen."""
    every = [row["primal"] for records in runs.values() for record in records for row in record.rows]
    return min(every, default=math.nan)


def highest_dual(runs: Mapping[str, Sequence[Record]]) -> float:
    """Return the highest dual that any run has seen: no primal is lower."""
    every = [row["dual"] for records in runs.values() for record in records for row in record.rows if row["dual"]]
    return max(every, default=math.nan)


def seconds_within(record: Record, best: float, share: float, clock: str) -> float | None:
    """Return the time at which the primal was first within that share of the optimum."""
    return next((row[clock] for row in record.rows if row["primal"] <= best * (1 + share)), None)


def median_within(records: Sequence[Record], best: float, share: float, clock: str) -> float | None:
    """Return the median over the repetitions, or None if one did not get there."""
    found = [seconds_within(record, best, share, clock) for record in records]
    return None if None in found else statistics.median(value for value in found if value is not None)


def ending(records: Sequence[Record]) -> str:
    """Say how the runs ended; one that its budget ended within a pass was cut."""
    return ", ".join(
        sorted(
            {
                f"cut in pass {len(record.rows) + 1}" if record.stopped == "interrupted" else record.stopped
                for record in records
            }
        )
    )


def show(all_runs: Runs, scores: Mapping[str, str], clock: str) -> None:
    """Print a table a data set."""
    for data, runs in all_runs.items():
        best = optimum(runs)
        peer = median_within(runs[LIBLINEAR], best, WITHIN[-1], clock) if LIBLINEAR in runs else None
        bounds = f"lowest primal {best:,.1f}, highest dual {highest_dual(runs):,.1f}"
        print(f"\n{data}: {bounds}; medians of {clock} seconds over the repetitions\n")
        within = [f"to {100 * share:g} % of it" for share in WITHIN]
        header = ["algorithm", *within, f"{LIBLINEAR} / this", "seconds", "passes", "primal", "gap"]
        rows = [_row(name, records, best, peer, clock) for name, records in runs.items()]
        print_table([*header, f"test {scores[data]}", "end"], rows)


def _row(name: str, records: Sequence[Record], best: float, peer: float | None, clock: str) -> list[str]:
    times = [median_within(records, best, share, clock) for share in WITHIN]
    last = [record.rows[-1] for record in records if record.rows]
    if not last:
        return [name, *["-"] * 8, ending(records)]
    gaps = [record.certified_gap for record in records if record.certified_gap is not None]
    return [
        name,
        *(f"{value:.2f}" if value is not None else "-" for value in times),
        f"{peer / times[-1]:.2f}" if peer is not None and times[-1] else "-",
        f"{statistics.median(row[clock] for row in last):.2f}",
        f"{statistics.median(row['pass'] for row in last):g}",
        f"{statistics.median(row['primal'] for row in last):,.1f}",
        f"{100 * statistics.median(gaps):.3g} %" if gaps else "-",
        f"{statistics.median(row['score'] for row in last):.4f}",
        ending(records),
    ]


def table2(all_runs: Runs, clock: str) -> None:
    """Print seconds and test score by data set and algorithm, as in Table 2.

    The seconds are those to the first primal within 5 % of the lowest, the score is that of the same weights. Of
    fastssvm there are the fewest and the most threads.
    """
    print(f"\nAs in Table 2: {clock} seconds to {100 * WITHIN[0]:g} % of the lowest primal, and the test score then\n")
    columns = _columns(all_runs)
    rows = []
    for data, runs in all_runs.items():
        best = optimum(runs)
        rows.append([data, *(_cell(runs.get(name, []), best, clock) for name in columns)])
    print_table(["data", *columns], rows)


def _columns(all_runs: Runs) -> list[str]:
    names = list(dict.fromkeys(name for runs in all_runs.values() for name in runs))
    threaded = [name for name in names if name.startswith("fastssvm, ")]
    shown = ["shrinking-dcd", "dcd-ssvm", "fsmo", PUBLISHED, "bcfw", "one-slack", LIBLINEAR]
    return [*reversed(dict.fromkeys([*threaded[:1], *threaded[-1:]])), *(name for name in shown if name in names)]


def _cell(records: Sequence[Record], best: float, clock: str) -> str:
    if not records:
        return "-"
    rows = [row for record in records for row in record.rows]
    seconds = median_within(records, best, WITHIN[0], clock)
    if not rows or seconds is None:
        reached = f", {max(row['score'] for row in rows):.4f}" if rows else ""
        return f"not within {records[0].settings.budget:g} s{reached}"
    score = next(row["score"] for row in records[0].rows if row["primal"] <= best * (1 + WITHIN[0]))
    return f"{seconds:.2f} s, {score:.4f}"


def show_shares(all_runs: Runs, clock: str) -> None:
    """Print what each of fastssvm's parts brings: how many times as fast as without any it is."""
    for data, runs in all_runs.items():
        best = optimum(runs)
        first = next(iter(runs.values()))
        times = {name: median_within(records, best, WITHIN[0], clock) for name, records in runs.items()}
        base = times["nothing"]
        size = first[0].settings.sequences
        print(f"\n{data}, {size} examples: {clock} seconds to {100 * WITHIN[0]:g} % of the lowest primal\n")
        rows = []
        for name, records in runs.items():
            value = times[name]
            speedup = f"{base / value:.2f}" if base and value else "-"
            seconds = f"{value:.3f}" if value else "-"
            rows.append([name, str(records[0].settings.threads), seconds, speedup, ending(records)])
        print_table(["switched on", "threads", "seconds", "nothing / this", "end"], rows)


def show_batches(all_runs: Runs, clock: str) -> None:
    """Print how long fastssvm takes with batches of each size."""
    for data, runs in all_runs.items():
        best = optimum(runs)
        print(f"\n{data}: fastssvm by size of batch, {clock} seconds\n")
        rows = []
        for name, records in runs.items():
            times = [median_within(records, best, share, clock) for share in WITHIN]
            settings = records[0].settings
            rows.append(
                [
                    name,
                    f"{settings.learner['batch']:,}",
                    str(settings.threads),
                    *(f"{value:.2f}" if value is not None else "-" for value in times),
                    ending(records),
                ]
            )
        within = [f"to {100 * share:g} %" for share in WITHIN]
        print_table(["batch", "constraints", "threads", *within, "end"], rows)


def show_choice(held_out: Sequence[Record], chosen: Record | None, score_name: str) -> None:
    """Print the score of every setting on the held-out examples, best first, and that of the best on the test part."""
    judged = sorted((record for record in held_out if record.rows), key=lambda record: -record.rows[-1]["score"])
    print(f"\n{judged[0].settings.data}: settings by {score_name} on the last tenth of the training part\n")
    rows = [
        [
            str(record.settings.constraints),
            f"{record.rows[-1]['score']:.4f}",
            f"{100 * (record.certified_gap or 0):.2g} %",
            ending([record]),
        ]
        for record in judged
    ]
    print_table(["setting", f"held-out {score_name}", "gap", "end"], rows)
    if chosen is not None and chosen.rows:
        row = chosen.rows[-1]
        print(f"\nThe best one on all of the training part: test {score_name} {row['score']:.4f}")
