"""The parts `dual` and `rho` of scaling.py: dual coordinate descent on one thread and on the engines for several.

One run with a tolerance of 0.1 % gives all figures. The seconds to 1 % are read in two ways: from the trace, whose rows
are estimates unless a certificate was due; and from the primal of the weights after each pass, which is a certificate
made outside the clock. The seconds to 0.1 % are those of the run, its last certificate included. ipm with ten passes
between mixings is the third system of demi-dcd-2013 (SP-IPM); it has no gap.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import print_table
from learners_runs import Record
from scaling_data import DATA_SETS
from scaling_figures import (
    accepted_share,
    best_score,
    by_threads,
    certified_seconds,
    final_score,
    mean_age,
    number,
    percent,
    ratio,
    seconds_to_gap,
    seconds_to_score,
    thread_shares,
)
from scaling_runs import ACTIVITIES, COARSE_GAP, FINE_GAP, Plan, Planned

DUAL_DATA = tuple(DATA_SETS)
RHO_DATA = ("conll2000-words", "conll2000-tagging", "brown-words", "brown-tagging")
ENGINES = ("dcd-ssvm", "ms-dcd", "demi-dcd", "shared-dcd", "ipm")
RHO_UPDATES = (16, 64, 250, 1000)
RHO_INFERENCES = (1, 4, 16)
MOST_PASSES = 2000
IPM_INNER_EPOCHS, IPM_PASSES = 10, 50


def plan_dual(plan: Plan, threads: Sequence[int]) -> list[Planned]:
    """Plan the serial run and all engines with the most threads first, then those with two, then the rest."""
    most = max(threads)
    to_gap = {"tol": FINE_GAP, "max_iter": MOST_PASSES}
    runs = [plan.run(0, "dcd-ssvm", **to_gap)]
    for count in sorted(set(threads), reverse=True):
        runs.append(plan.run(0 if count == most else 2, "ms-dcd", count, **to_gap))
        if count >= 2:
            priority = {most: 0, 2: 1}.get(count, 2)
            runs += [plan.run(priority, name, count, **to_gap) for name in ("shared-dcd", "demi-dcd")]
    mixing = {"shards": most, "inner_epochs": IPM_INNER_EPOCHS}
    return [*runs, plan.run(1, "ipm", most, max_iter=IPM_PASSES, engine=mixing)]


def plan_rho(plan: Plan, threads: Sequence[int]) -> list[Planned]:
    """Plan the grid of both parameters with the most threads, to a certified gap of 1 %."""
    most = max(threads)
    if most < 2:
        return []
    return [
        plan.run(
            2,
            "demi-dcd",
            most,
            f"rho {updates} {inferences}",
            tol=COARSE_GAP,
            max_iter=MOST_PASSES,
            engine={"rho_updates": updates, "rho_inferences": inferences},
        )
        for updates in RHO_UPDATES
        for inferences in RHO_INFERENCES
    ]


def show_dual(data: str, records: Sequence[Record]) -> None:
    """Print the tables of a data set."""
    ordered = [record for engine in ENGINES for record in by_threads(records, engine)]
    serial = next((record for record in ordered if record.settings.algorithm == "dcd-ssvm"), None)
    target = min((best_score(record) for record in ordered if record.rows), default=0.0)
    print(f"\n{data}, dual: seconds to a relative gap and to a test score that all reach, and speeds\n")
    print_table(
        [
            *("algorithm", "threads", "1 %, by the trace", "1 %, measured", "serial / this at 1 %", "0.1 %, certified"),
            *("passes", "inferences a second", "updates a second", f"to score {target:.4f}", "last score", "end"),
        ],
        [_speeds(record, serial, target) for record in ordered],
    )
    print(f"\n{data}, dual: what the threads did, in shares of their time\n")
    print_table(
        [
            "algorithm",
            "threads",
            "which",
            *ACTIVITIES,
            "none of these",
            "CPU / wall",
            "candidates accepted",
            "age of weights (updates)",
        ],
        [row for record in ordered for row in _utilisation(record)],
    )


def _speeds(record: Record, serial: Record | None, target: float) -> list[str]:
    coarse = seconds_to_gap(record, COARSE_GAP, "gap")
    reference = seconds_to_gap(serial, COARSE_GAP, "gap") if serial else None
    last = record.rows[-1] if record.rows else None
    speed_up = ratio(reference[0] if reference else None, coarse[0] if coarse else None)
    return [
        record.settings.algorithm,
        str(record.settings.threads),
        _by_trace(record),
        number(coarse[0] if coarse else None),
        number(speed_up),
        number(certified_seconds(record)),
        str(len(record.rows)),
        f"{last['inferences'] / last['wall']:,.0f}" if last else "-",
        f"{last['updates'] / last['wall']:,.0f}" if last else "-",
        number(seconds_to_score(record, target)),
        number(final_score(record), "{:.4f}"),
        f"{record.stopped}{f' at {100 * record.certified_gap:.2f} %' if record.certified_gap is not None else ''}",
    ]


def _by_trace(record: Record) -> str:
    found = seconds_to_gap(record, COARSE_GAP, "trace_gap")
    return f"{found[0]:.2f} ({'certified' if found[1] else 'estimate'})" if found else "-"


def _utilisation(record: Record) -> list[list[str]]:
    """Show all threads together and, where one thread learns, that one and the others apart."""
    groups = {"all": slice(None)}
    if record.settings.algorithm in ("ms-dcd", "demi-dcd") and record.settings.threads > 1:
        groups |= {"learning": slice(0, 1), "others": slice(1, None)}
    rows = []
    for which, threads in groups.items():
        shares = thread_shares(record, threads)
        together = which == "all" and record.rows
        rows.append(
            [
                record.settings.algorithm,
                str(record.settings.threads),
                which,
                *(percent(shares[name] if shares else None) for name in ACTIVITIES),
                percent(1 - sum(shares.values()) if shares else None),
                _cpu(record) if together else "",
                percent(accepted_share(record)) if together else "",
                number(mean_age(record), "{:.0f}") if together else "",
            ]
        )
    return rows


def _cpu(record: Record) -> str:
    """Show the mean number of busy cores; that of averaged learners would have copies of the average in it."""
    last = record.rows[-1]
    return "-" if record.settings.algorithm == "ipm" else number(last["cpu"] / last["wall"])


def show_rho(data: str, records: Sequence[Record]) -> None:
    """Print the grid for every number of threads."""
    for threads in sorted({record.settings.threads for record in records}):
        cells = {
            (record.settings.engine["rho_updates"], record.settings.engine["rho_inferences"]): record
            for record in records
            if record.settings.threads == threads
        }
        print(f"\n{data}, demi-dcd, {threads} threads: seconds to a certified gap of 1 % (passes; age of weights)\n")
        print_table(
            ["rho_updates", *(f"rho_inferences = {inferences}" for inferences in RHO_INFERENCES)],
            [
                [str(updates), *(_rho_cell(cells.get((updates, inferences))) for inferences in RHO_INFERENCES)]
                for updates in RHO_UPDATES
            ],
        )


def _rho_cell(record: Record | None) -> str:
    if record is None or not record.rows:
        return "-"
    seconds = certified_seconds(record)
    shown = f"not in {record.rows[-1]['wall']:.1f}" if seconds is None else f"{seconds:.2f}"
    return f"{shown} ({len(record.rows)}; {mean_age(record):.0f})"
