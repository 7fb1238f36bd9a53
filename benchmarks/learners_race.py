"""Compare who is first at a certified gap of 1 % on handwritten words.

Frank-Wolfe, cutting planes and dual coordinate descent on one thread, with the C that learners.py chooses. Seconds of
the wall have all certificates in them.
"""

from __future__ import annotations

from typing import Any

from harness.benchmark import Benchmark
from harness.command import Question
from harness.runs import COARSE_GAP, Planned, Record
from harness.tables import number, percent, print_table

DATA = "ocr_letters"
RACERS: dict[str, dict[str, Any]] = {
    "bcfw": {"algorithm": "bcfw"},
    "bcfw, inner_passes=5": {"algorithm": "bcfw", "learner": {"inner_passes": 5}},
    "one-slack": {"algorithm": "one-slack"},
    "one-slack, cache=0": {"algorithm": "one-slack", "learner": {"cache": 0}},
    "dcd-ssvm, hinge": {"algorithm": "dcd-ssvm", "loss": "hinge"},
    "dcd-ssvm, squared hinge": {"algorithm": "dcd-ssvm"},
}
QUESTION = Question("learners_race", __doc__, (DATA,), budget=(600.0, 10.0), clock=True)


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--C", type=float, default=0.05, help="cost of slack (default 0.05)")
    benchmark = Benchmark(QUESTION, QUESTION.arguments(parser))
    problem = benchmark.problem(DATA)
    C = benchmark.arguments.C
    benchmark.run(Planned.of(problem, name, C=C, tol=COARSE_GAP, **options) for name, options in RACERS.items())
    header = ["learner", "wall s", "CPU s", "passes", "inferences", "certified gap", "test accuracy", "1 %"]
    rows = [_row(record) for record in benchmark.records(DATA) if record.settings.C == C]
    print_table(f"{DATA} to a certified gap of 1 %, C = {C:g}", header, rows)
    benchmark.end()


def _row(record: Record) -> list[str]:
    reached = record.certified_gap is not None and record.certified_gap <= COARSE_GAP
    last = record.rows[-1] if record.rows else {}
    return [
        record.settings.name,
        number(record.seconds() + record.certify_seconds if last else None),
        number(last.get("cpu")),
        str(len(record.rows)),
        number(last.get("inferences"), "{:,}"),
        percent(record.certified_gap, "{:.2f} %"),
        number(last.get("score"), "{:.4f}"),
        "reached" if reached else f"not reached ({record.stopped})",
    ]


if __name__ == "__main__":
    main()
