"""Tables of learners.py, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common import print_table
from learners_runs import Record

SQUARED_HINGE = ("dcd-ssvm", "dcd-light", "cpd")
DUAL = (*SQUARED_HINGE, "n-slack", "one-slack", "bcfw", "fsmo")
EQUAL_PASSES = (1, 2, 3, 5, 10, 15, 25)

Records = Mapping[str, Mapping[str, Record]]


def row_at(record: Record, seconds: float, clock: str) -> dict[str, Any] | None:
    """Return the last pass that had ended by then."""
    ended = [row for row in record.rows if row[clock] <= seconds]
    return ended[-1] if ended else None


def first_within(record: Record, gap: float) -> dict[str, Any] | None:
    """Return the first pass after which the weights were within a gap."""
    return next((row for row in record.rows if row["gap"] is not None and row["gap"] <= gap), None)


def choice_table(choices: Mapping[str, Mapping[float, Record]], chosen: Mapping[str, float]) -> None:
    print("\nchoice of C: score of dcd-ssvm on the development part\n")
    values = sorted({C for runs in choices.values() for C in runs})
    rows = [
        [
            data,
            *(
                f"**{runs[C].rows[-1]['score']:.4f}**" if chosen[data] == C else f"{runs[C].rows[-1]['score']:.4f}"
                for C in values
            ),
        ]
        for data, runs in choices.items()
    ]
    print_table(["data set", *(f"C = {C:g}" for C in values)], rows)


def score_table(records: Records, learners: Sequence[str], scores: Mapping[str, str]) -> None:
    """Print what Table 1 of dcd-ssvm-2013 shows, and the passes of runs that were cut short."""
    print("\ntest score after the last pass; in brackets the passes of a run that its budget cut short\n")
    rows = [
        [f"{data}, {scores[data]}", *(_score(runs[name]) if name in runs else "-" for name in learners)]
        for data, runs in records.items()
    ]
    print_table(["data set", *learners], rows)


def _score(record: Record) -> str:
    if not record.rows:
        return "no pass"
    cut = f" ({len(record.rows)})" if record.cut_short else ""
    return f"{record.rows[-1]['score']:.4f}{cut}"


def early_table(records: Records, learners: Sequence[str]) -> None:
    """Print how the test score moved, for what is said of early stopping."""
    print("\nlowest and highest test score from pass 2 to pass 10\n")
    rows = []
    for data, runs in records.items():
        cells = []
        for name in learners:
            seen = [row["score"] for row in runs[name].rows[1:10]] if name in runs else []
            cells.append(f"{min(seen):.4f} to {max(seen):.4f}" if seen else "-")
        rows.append([data, *cells])
    print_table(["data set", *learners], rows)


def seconds_table(records: Records, learners: Sequence[str], clock: str) -> None:
    print(f"\ntraining seconds a pass ({clock} clock)\n")
    rows = [
        [
            data,
            *(
                f"{runs[name].rows[-1][clock] / len(runs[name].rows):.3g}" if name in runs and runs[name].rows else "-"
                for name in learners
            ),
        ]
        for data, runs in records.items()
    ]
    print_table(["data set", *learners], rows)


def gap_table(records: Records, clock: str) -> None:
    """Print when dual learners were within 1 %, and where they ended."""
    print(f"\ndual learners: seconds ({clock} clock) and passes to a gap of 1 %, and the gap after the last pass\n")
    names = [name for name in DUAL if any(name in runs for runs in records.values())]
    rows = [
        [data, *(_gap(runs[name], clock) if name in runs else "-" for name in names)] for data, runs in records.items()
    ]
    print_table(["data set", *names], rows)


def _gap(record: Record, clock: str) -> str:
    if not record.rows:
        return "no pass"
    last = record.rows[-1]
    final = f"{100 * last['gap']:.2f} % after {last['pass']}"
    reached = first_within(record, 0.01)
    return f"{reached[clock]:.2f} s, {reached['pass']} passes; {final}" if reached else f"not reached; {final}"


def equal_time_table(data: str, runs: Mapping[str, Record], clock: str) -> None:
    """Print the primal of the squared-hinge methods at the times at which dcd-ssvm had ended some passes."""
    names = [name for name in SQUARED_HINGE if name in runs]
    leader = runs["dcd-ssvm"].rows if "dcd-ssvm" in runs else []
    if len(names) < 2 or not leader:
        return
    print(f"\n{data}: primal of the squared-hinge methods at equal training seconds ({clock} clock)\n")
    rows = []
    for row in (leader[count - 1] for count in EQUAL_PASSES if count <= len(leader)):
        cells = [_primal_at(runs[name], row[clock], clock) for name in names]
        rows.append([f"{row[clock]:.2f} (dcd-ssvm pass {row['pass']})", *cells])
    print_table(["seconds", *names], rows)


def _primal_at(record: Record, seconds: float, clock: str) -> str:
    """Show the primal at a time, but nothing of a run that was over by then: it would have gone on improving."""
    row = row_at(record, seconds, clock)
    if row is None:
        return "-"
    last = record.rows[-1][clock]
    if seconds > last + last / len(record.rows):
        return f"over at {last:.2f} s"
    return f"{row['primal']:.1f} (pass {row['pass']})"


def race_table(records: Mapping[str, Record]) -> None:
    """Print the runs to a certified gap of 1 %; the seconds of both clocks have all certificates in them."""
    print("\nocr_letters to a certified gap of 1 %\n")
    rows = []
    for name, record in records.items():
        last = record.rows[-1] if record.rows else None
        reached = record.certified_gap is not None and record.certified_gap <= 0.01
        rows.append(
            [
                name,
                f"{record.settings.C:g}",
                f"{last['wall'] + record.certify_seconds:.2f}" if last else "-",
                f"{last['cpu']:.2f}" if last else "-",
                str(len(record.rows)),
                f"{last['inferences']:,}" if last else "-",
                f"{100 * record.certified_gap:.2f} %" if record.certified_gap is not None else "-",
                f"{last['score']:.4f}" if last else "-",
                "reached" if reached else f"not reached ({record.stopped})",
            ]
        )
    header = ["learner", "C", "wall s", "CPU s", "passes", "inferences", "certified gap", "test accuracy", "1 %"]
    print_table(header, rows)
