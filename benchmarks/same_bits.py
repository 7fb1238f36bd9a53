"""Train in one process, with threads, in ranks of MPI and on workers of Dask: all give the same bits.

    python benchmarks/same_bits.py DATA

Every line is a data set with an algorithm, and the SHA-256 of weights and certificate that all runs have given: alone
with 1 and 2 threads, MPI with 1 to 4 ranks, Dask with 1 to 3 workers, and runs that were interrupted in one world and
resumed in another. Runs that are stored are not repeated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
from pathlib import Path

from harness.command import add_data
from harness.files import data_folder, required
from harness.tables import machine, print_table
from harness.worlds import Case, World, bits_of, stop_after

SHARDS, STOP_AFTER = 6, 2
WORLDS = (
    *(World.threads(count) for count in (1, 2)),
    *(World.mpi(count) for count in (1, 2, 3, 4)),
    *(World.dask(count) for count in (1, 2, 3)),
)
#: Between which runs are resumed.
PLACES = (World.threads(1), World.mpi(2), World.dask(2))
Runs = dict[str, str]


def cases(data: Path, passes: int) -> list[Case]:
    """Return what is trained."""
    entities = required(data / "conll2003_en" / "train.conll.xz")
    letters = required(data / "letter" / "train.svm.xz")
    sets = {
        "conll2003_en": ("tag", str(entities), "--features", "ner", "--pos-column", "2", "--constraints", "bio"),
        "letter": ("classify", str(letters), "--C", "1"),
    }
    algorithms = {
        "ipm": ("--algorithm", "ipm", "--shards", str(SHARDS)),
        "ms-dcd": ("--algorithm", "ms-dcd", "--tol", "1e-9", "--rounds", "4"),
    }
    found = []
    for (name, files), (algorithm, options) in itertools.product(sets.items(), algorithms.items()):
        options = (*options, "--max-iter", str(passes))
        if algorithm == "ipm":
            files = tuple(word for word in files if word not in ("--C", "1"))
        found.append(Case(f"{name}, {algorithm}", (*files, *options)))
    return found


def resumed(case: Case, first: World, second: World, folder: Path) -> str:
    """Interrupt a run in one world, go on in another, and return the bits of the model."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model, trace = folder / "model", folder / "trace"
    place = ("--checkpoint", str(folder / "run"), "--checkpoint-interval", "0", "--resume")
    process = case.start(first, folder / "cut", "--trace", str(trace), *place)
    if not stop_after(process, trace, STOP_AFTER):
        return f"not interrupted: {bits_of(folder / 'cut')}"
    return case.run(second, model, *place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--passes", type=int, default=10, help="training passes of a run (default 10)")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/same_bits"), help="folder for runs")
    parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    store = given.out / f"runs-{given.passes}.json"
    stored: dict[str, Runs] = json.loads(store.read_text()) if store.exists() and not given.again else {}
    rows = []
    for case in cases(data_folder(given.data), given.passes):
        runs = stored.setdefault(case.name, {})
        model = given.out / "model"
        for world in WORLDS:
            if world.name not in runs:
                runs[world.name] = case.run(world, model)
                store.write_text(json.dumps(stored, indent=1))
        for first, second in itertools.product(PLACES, PLACES):
            name = f"{first.name} to {second.name}"
            if name not in runs:
                runs[name] = resumed(case, first, second, given.out / "resumed")
                store.write_text(json.dumps(stored, indent=1))
        hashes = sorted(set(runs.values()))
        print(case.name, len(runs), "runs:", *hashes, flush=True)
        rows.append([case.name, str(len(runs)), ", ".join(f"`{value[:16]}`" for value in hashes)])
    print(machine())
    print_table("Hashes of weights and certificate", ["data set, algorithm", "runs", "SHA-256"], rows)


if __name__ == "__main__":
    main()
