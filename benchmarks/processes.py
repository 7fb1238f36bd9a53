"""What a second process, or a second thread, brings where parts search and one process learns.

    python benchmarks/processes.py DATA

Each case is trained alone, with two threads, and in two ranks of MPI with one thread each, in alternation. Seconds are
those of training, without reading and without the certificate; runs end at a certified gap of 1 %, or after `--passes`
passes; those of `ipm` after 10. `dcd-ssvm` is there to compare passes with.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from harness.command import add_data, add_repeat
from harness.files import data_folder, required
from harness.tables import machine, print_table
from harness.worlds import Case, World, rows_of

ALONE, THREADS, RANKS = World.threads(1), World.threads(2), World.mpi(2)
SHARDS, PASSES = 10, 10


def cases(data: Path) -> list[tuple[Case, tuple[World, ...]]]:
    """Return what is trained, and where."""
    trees = ("parse", str(required(data / "ud_english_ewt" / "train.conllu.xz")), "--invalid-gold", "skip")
    tags = ("tag", str(required(data / "conll2000_chunking" / "train.conll.xz")), "--column", "2")
    mixing = ("--algorithm", "ipm", "--shards", str(SHARDS), "--max-iter", str(PASSES))
    everywhere = (ALONE, THREADS, RANKS)
    return [
        (Case("ud_english_ewt, ipm, 10 shards", (*trees, *mixing)), everywhere),
        (Case("ud_english_ewt, dcd-ssvm", (*trees, "--algorithm", "dcd-ssvm")), (ALONE,)),
        (Case("ud_english_ewt, ms-dcd", (*trees, "--algorithm", "ms-dcd")), everywhere),
        (Case("ud_english_ewt, ms-dcd, 1 round", (*trees, "--algorithm", "ms-dcd", "--rounds", "1")), (ALONE, THREADS)),
        (Case("ud_english_ewt, second order, ms-dcd", (*trees, "--order", "2", "--algorithm", "ms-dcd")), everywhere),
        (Case("conll2000, ipm, 10 shards", (*tags, *mixing)), everywhere),
        (Case("conll2000, dcd-ssvm", (*tags, "--algorithm", "dcd-ssvm")), (ALONE,)),
        (Case("conll2000, ms-dcd", (*tags, "--algorithm", "ms-dcd")), everywhere),
        (Case("conll2000, ms-dcd, 1 round", (*tags, "--algorithm", "ms-dcd", "--rounds", "1")), (ALONE, THREADS)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    add_repeat(parser, 3)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this case; may be repeated")
    parser.add_argument("--passes", type=int, metavar="N", help="passes at most, but for ipm")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/processes"), help="folder for runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    table = []
    for case, worlds in cases(data_folder(given.data)):
        if given.only and case.name not in given.only:
            continue
        if given.passes and "--max-iter" not in case.arguments:
            case = Case(case.name, (*case.arguments, "--max-iter", str(given.passes)))
        seconds: dict[str, list[float]] = {world.name: [] for world in worlds}
        passes: dict[str, int] = {}
        for _ in range(given.repeat):
            for world in worlds:
                seconds_of_run, passes[world.name] = _run(case, world, given.out)
                seconds[world.name].append(seconds_of_run)
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        row = [case.name]
        for world in (ALONE, THREADS, RANKS):
            row.append(_cell(medians, passes, world))
        table.append(row)
        print(*row, seconds, flush=True)
    print(machine())
    print_table("Seconds (passes; times alone)", ["data set, algorithm", "alone", "2 threads", "2 ranks"], table)


def _run(case: Case, world: World, folder: Path) -> tuple[float, int]:
    trace = folder / "trace"
    trace.unlink(missing_ok=True)
    case.run(world, folder / "model", "--trace", str(trace))
    _, rows = rows_of(trace)
    return rows[-1]["seconds"], len(rows)


def _cell(medians: dict[str, float], passes: dict[str, int], world: World) -> str:
    if world.name not in medians:
        return "-"
    faster = medians[ALONE.name] / medians[world.name]
    return f"{medians[world.name]:.2f} ({passes[world.name]}" + (")" if world is ALONE else f"; {faster:.2f})")


if __name__ == "__main__":
    main()
