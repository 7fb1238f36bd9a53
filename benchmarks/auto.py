"""Compare what `auto` chooses with every other preset, on small problems of every task.

`auto` is to be within a factor of two. It trains to its tolerance; then every other preset that certifies the same
objective to the same tolerance gets a share of that time (--share, a half). One that is done by then is an exception,
if it is again when both are repeated. Presets that share no objective with what `auto` has chosen, such as perceptrons,
are left out. A problem that is stored is not repeated, so that an interrupted benchmark goes on where it was.

On several threads, `--clock cpu` divides CPU seconds by the threads that train: what a run would take on an idle
machine if no thread ever waited. That favors presets on several threads over `auto` where it takes one.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.clocks import Alarm
from harness.command import CLOCKS, add_data, add_limit
from harness.files import data_folder
from harness.package import Prepared, certifying_presets, choose_and_train, prepared
from harness.small_problems import GROUPS, Small
from harness.tables import machine, print_table

from marginloom import find_algorithm


@dataclasses.dataclass
class Found:
    """What was seen of a problem: `auto`'s choice, its seconds and gap, and the seconds of presets that were faster."""

    name: str
    chosen: str
    seconds: float
    passes: int
    gap: float
    tried: int
    faster: dict[str, float]

    @property
    def worst(self) -> float | None:
        """How many times `auto`'s seconds are those of the fastest preset; None if none was done in its share."""
        return self.seconds / min(self.faster.values()) if self.faster else None


def main() -> None:
    arguments = parsed()
    warnings.simplefilter("ignore")  # of runs that are cut short, and trees that are not projective
    started = time.monotonic()
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{datetime.date.today()}, {machine()}; load {load}", flush=True)
    left = 0
    for group in arguments.group or list(GROUPS):
        for problem in GROUPS[group]:
            path = stored(folder, group, problem, arguments)
            if path.exists() and not arguments.again:
                continue
            if time.monotonic() - started >= arguments.limit:
                left += 1
                continue
            found = compared(problem, arguments)
            path.write_text(json.dumps(dataclasses.asdict(found)))
            print(f"{group}: {line(found)}", flush=True)
    show(folder, arguments)
    if left:
        print(f"\n{left} problems are left; the same command goes on with them")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--group", choices=list(GROUPS), action="append", help="only this; may be repeated")
    parser.add_argument("--threads", type=int, default=2, help="threads of every run (default 2)")
    parser.add_argument("--share", type=float, default=0.5, help="of auto's time that the others get (default 0.5)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="seconds to compare")
    add_limit(parser)
    parser.add_argument("--out", default="build/benchmarks/auto", help="folder for what was seen")
    parser.add_argument("--again", action="store_true", help="repeat problems that are stored")
    return parser.parse_args()


def stored(folder: Path, group: str, problem: Small, arguments: argparse.Namespace) -> Path:
    """Return where a problem's figures are, which depend on threads, clock and share."""
    words = (group, problem.name, f"{arguments.threads} threads", arguments.clock, f"{arguments.share:g}")
    return folder / f"{'.'.join(words).replace(' ', '_').replace('/', '-')}.json"


def compared(problem: Small, arguments: argparse.Namespace) -> Found:
    """Train with `auto`, then let every other preset try."""
    data = problem.data(data_folder(arguments.data))
    ready = prepared(problem.estimator, *data)
    result, seconds = timed(ready, "auto", None, arguments)
    found = Found(problem.name, result.algorithm.name, seconds, result.iterations, result.certificate.gap, 0, {})
    for name, rival in rivals(problem, data, ready, result.loss, arguments.threads):
        found.tried += 1
        its = within(rival, name, arguments.share * seconds, arguments)
        if its is None:
            continue
        again = timed(ready, "auto", None, arguments)[1]  # a hiccup of the machine is no exception
        found.seconds = min(found.seconds, again)
        repeated = within(rival, name, arguments.share * found.seconds, arguments)
        if repeated is not None:
            found.faster[name] = repeated
    return found


def rivals(problem: Small, data: Any, ready: Prepared, loss: str, threads: int) -> Iterator[tuple[str, Prepared]]:
    """Yield the presets that have the objective, each with the problem as its estimator prepares it for them."""
    for name in certifying_presets(loss, threads):
        try:
            own = prepared(problem.estimator, *data, algorithm=name) if problem.depends_on_algorithm else ready
        except ValueError:
            continue  # the estimator says that this preset cannot have the objective
        yield name, own._replace(spec=dataclasses.replace(own.spec, loss=loss))


def timed(ready: Prepared, algorithm: str, budget: float | None, arguments: argparse.Namespace) -> tuple[Any, float]:
    """Train, and return the result with the seconds from the first pass to the certificate."""
    at_once = sharing(algorithm, arguments)
    alarm = Alarm(None if budget is None else budget * at_once, arguments.clock)
    result = choose_and_train(ready, algorithm, arguments.threads, alarm)
    return result, alarm.seconds / sharing(result.algorithm.name, arguments)


def sharing(algorithm: str, arguments: argparse.Namespace) -> int:
    """Return how many threads train with a preset if the clock is that of the CPU, which counts all of them."""
    if arguments.clock == "wall" or algorithm == "auto":
        return 1
    return find_algorithm(algorithm).training_threads(arguments.threads)


def within(ready: Prepared, algorithm: str, budget: float, arguments: argparse.Namespace) -> float | None:
    """Return the seconds of a preset that is done within a budget; None if it is not, or cannot do this task."""
    try:
        result, seconds = timed(ready, algorithm, budget, arguments)
    except ValueError:
        return None
    return seconds if result.stopped in ("tolerance", "estimate") and seconds <= budget else None


def show(folder: Path, arguments: argparse.Namespace) -> None:
    """Print a row for every group."""
    rows = []
    for group, problems in GROUPS.items():
        paths = [stored(folder, group, problem, arguments) for problem in problems]
        seen = [Found(**json.loads(path.read_text())) for path in paths if path.exists()]
        if not seen:
            continue
        worst = max((found.worst for found in seen if found.worst is not None), default=None)
        beaten = [f"{found.name} ({exception(found)})" for found in seen if found.faster]
        rows.append(
            [
                group,
                f"{len(seen)}",
                f"{min(found.seconds for found in seen):.2f} to {max(found.seconds for found in seen):.2f}",
                ", ".join(sorted({found.chosen for found in seen})),
                f"{sum(found.tried for found in seen)}",
                f"below {1 / arguments.share:g}" if worst is None else f"{worst:.1f}",
                "; ".join(beaten) or "none",
            ]
        )
    title = f"auto on {arguments.threads} threads against every other preset; {arguments.clock} seconds"
    header = ["group", "problems", "auto's seconds", "trained by", "runs of others", "worst ratio", "exceptions"]
    print_table(title, header, rows)


def exception(found: Found) -> str:
    """Say who was faster."""
    name = min(found.faster, key=lambda one: found.faster[one])
    return f"{found.chosen} {found.seconds:.2f} s, {name} {found.faster[name]:.2f} s"


def line(found: Found) -> str:
    """Say what was seen of a problem."""
    beaten = f"; {exception(found)}" if found.faster else ""
    passes = f"{found.passes} passes, gap {100 * found.gap:.2g} %"
    return f"{found.name}: {found.chosen} {found.seconds:.2f} s, {passes}, {found.tried} others{beaten}"


if __name__ == "__main__":
    main()
