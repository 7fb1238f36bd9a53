"""The program: runs cases, shows how far it is, and says at the end what failed."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz.cases import SUBJECTS, run_case, subject_of
from fuzz.lab import Lab
from fuzz.samples import build
from fuzz.watched import FAILED, Finished, run_watched


def main() -> int:
    options = _options()
    if options.case is not None:
        return _one_case(options.seed, options.case)
    folder = Path(options.folder)
    journal = folder / f"seed-{options.seed}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    done = _read(journal)
    numbers = [number for number in range(options.cases) if number not in done]
    if numbers:
        _prepare(folder / "samples")
    start = shown = time.monotonic()
    with journal.open("a", encoding="utf-8") as file:
        ran = run_watched(options.seed, iter(numbers), folder, workers=options.workers, patience=options.patience)
        for count, case in enumerate(ran, start=1):
            done[case.number] = case
            file.write(json.dumps(dataclasses.asdict(case)) + "\n")
            file.flush()
            if case.outcome == FAILED:
                _show(options.seed, case)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                left = (shown - start) / count * (len(numbers) - count)
                failures = sum(one.outcome == FAILED for one in done.values())
                print(f"{len(done)} of {options.cases} cases, {failures} failed, about {left:.0f} s left", flush=True)
    return _summary(options, [done[number] for number in sorted(done) if number < options.cases])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--patience", type=float, default=120.0, help="seconds after which a case hangs")
    parser.add_argument("--folder", default="build/fuzz", help="for files; the same one goes on where it was")
    parser.add_argument("--case", type=int, help="run this case alone, in this process")
    return parser.parse_args()


def _prepare(samples: Path) -> None:
    shutil.rmtree(samples, ignore_errors=True)
    samples.mkdir()
    build(samples)


def _one_case(seed: int, number: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder, "samples"), Path(folder, "scratch"))
        lab.scratch.mkdir()
        _prepare(lab.samples)
        print(f"case {number} of seed {seed}: {subject_of(seed, number).__name__}", flush=True)
        try:
            print(run_case(seed, number, lab))
        except Exception:
            traceback.print_exc()
            return 1
    return 0


def _read(journal: Path) -> dict[int, Finished]:
    if not journal.exists():
        return {}
    cases = (Finished(**json.loads(line)) for line in journal.read_text(encoding="utf-8").splitlines())
    return {case.number: case for case in cases if case.outcome != FAILED}


def _show(seed: int, case: Finished) -> None:
    print(f"FAILED: {case.subject}; again with: python -m fuzz --seed {seed} --case {case.number}")
    print(case.text.rstrip(), flush=True)


def _summary(options: argparse.Namespace, cases: list[Finished]) -> int:
    counts = collections.Counter((case.subject, case.outcome) for case in cases)
    print(f"{'subject':<34}{'cases':>8}{'accepted':>10}{'refused':>10}{'failed':>8}")
    for subject in SUBJECTS:
        row = [counts[subject.__name__, outcome] for outcome in ("accepted", "refused", FAILED)]
        print(f"{subject.__name__:<34}{sum(row):>8}{row[0]:>10}{row[1]:>10}{row[2]:>8}")
    failed = [case.number for case in cases if case.outcome == FAILED]
    print(f"{len(cases)} cases of seed {options.seed}, {len(failed)} failed {failed[:20] or ''}")
    return 1 if failed or len(cases) < options.cases else 0


if __name__ == "__main__":
    sys.exit(main())
