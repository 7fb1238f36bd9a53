"""What a round costs beyond its work, on MPI and on Dask, by the size of the weights.

    python benchmarks/round_costs.py

Two processes of one thread search a few generated sentences, so that there is hardly any work; hashed features make as
many weights as are wanted. A round is a question with the weights and its answers; its cost is the time that it was
open, less the longest time that a part has worked. Medians over the passes of a run.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from pathlib import Path

from harness.tables import machine, print_table
from harness.worlds import Case, World, rows_of

from marginloom import make_tagging
from marginloom.tasks.sequence.datasets import write_conll

#: Weights of 1, 8 and 67 MB.
BITS = (13, 16, 19)
PASSES, SENTENCES = 30, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/round_costs"), help="folder for runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    data, trace = given.out / "train.conll", given.out / "trace"
    write_conll(data, *make_tagging(SENTENCES, seed=0))
    table = []
    for bits in BITS:
        options = ("--algorithm", "ms-dcd", "--tol", "1e-12", "--max-iter", str(PASSES), "--hash-bits", str(bits))
        case = Case(f"{bits} bits", ("tag", str(data), *options))
        row = []
        for world in (World.mpi(2), World.dask(2)):
            case.run(world, given.out / "model", "--trace", str(trace))
            settings, rows = rows_of(trace)
            costs = [
                (asked["seconds"] - max(asked["work"])) / asked["questions"] for asked in (row["world"] for row in rows)
            ]
            row.append(f"{1000 * statistics.median(costs):.1f} ms")
        table.append([f"{settings['weights'] * 8 / 1e6:.1f} MB", *row])
        print(*table[-1], flush=True)
    print(machine())
    print_table("A round beyond its work", ["weights", "MPI, 2 ranks", "Dask, 2 workers"], table)


if __name__ == "__main__":
    main()
