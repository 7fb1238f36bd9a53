"""Compare taggers, parsers and sets of labels with the peers that are installed.

Every program is run with its own defaults, in a process of its own and on one thread. Columns are the scores on the
test part, CPU seconds of training, items predicted per CPU second (tokens, sentences or rows), peak memory of the
process and the size of the stored model. Peers that are missing are named. From PyPI: python-crfsuite, chaine,
vowpalwabbit, ufal.udpipe, libmultilabel, napkinxc, libpecos, scikit-learn. MaltParser, Yara, TurboParser, MarMoT and
Wapiti are not Python packages and are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from typing import Any

from harness.command import Question
from harness.files import data_folder
from harness.label_systems import LABEL_SETS, label_systems
from harness.parse_systems import TREEBANKS, parse_systems
from harness.systems import System
from harness.tables import machine, print_table
from harness.tag_systems import TAG_SETS, tag_systems

QUESTION = Question("peers", __doc__, (*TAG_SETS, *TREEBANKS, *LABEL_SETS))
#: Sentences or rows of a part with --quick.
QUICK = 600
MEGABYTE = 1e6


def main() -> None:
    parser = QUESTION.parser()
    parser.add_argument("--only", metavar="NAME", action="append", help="programs whose name begins so; repeatable")
    parser.add_argument("--one", metavar="NAME", help=argparse.SUPPRESS)
    arguments = QUESTION.arguments(parser)
    if arguments.one is not None:
        print(json.dumps(_measured(arguments)))
        return
    print(machine(), flush=True)
    missing = dict.fromkeys(
        system.module for name in arguments.set for system in _systems(name) if not system.is_installed
    )
    if missing:
        print(f"modules that are not installed, whose programs are left out: {', '.join(map(str, missing))}")
    for contest in arguments.set:
        systems = [system for system in _systems(contest) if system.is_installed and _is_wanted(system, arguments.only)]
        rows = [_in_process(system.name, contest, arguments) for system in systems]
        scores = list(dict.fromkeys(name for row in rows for name in row.get("scores", ())))
        header = ["program", *scores, "training, CPU s", "items per CPU s", "peak MB", "model MB"]
        print_table(contest, header, [_line(row, scores) for row in rows])


def _systems(contest: str) -> list[System]:
    for sets, systems in ((TAG_SETS, tag_systems), (TREEBANKS, parse_systems)):
        if contest in sets:
            return systems(contest)
    return label_systems(contest)


def _is_wanted(system: System, only: list[str] | None) -> bool:
    return only is None or system.name.startswith(tuple(only))


def _in_process(name: str, contest: str, arguments: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, str(data_folder(arguments.data)), "--one", name, "--set", contest]
    command += ["--quick"] if arguments.quick else []
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **one_thread}, check=False)
    if done.returncode:
        print(f"{name} on {contest} failed: {done.stderr[-500:]}", flush=True)
        return {"program": name}
    return {"program": name, **json.loads(done.stdout.splitlines()[-1])}


def _measured(arguments: Any) -> dict[str, Any]:
    """Train, predict and score in this process."""
    (contest,) = arguments.set
    (system,) = (one for one in _systems(contest) if one.name == arguments.one)
    found = system.run(data_folder(arguments.data), QUICK if arguments.quick else None)
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {**found._asdict(), "peak": max(own, children) / 1024}


def _line(row: dict[str, Any], scores: list[str]) -> list[str]:
    if "scores" not in row:
        return [row["program"], *["-"] * (len(scores) + 4)]
    shown = [f"{row['scores'][name]:.4f}" for name in scores]
    speed = row["items"] / max(row["predicting"], 1e-9)
    numbers = [f"{row['training']:.2f}", f"{speed:,.0f}", f"{row['peak']:.0f}"]
    return [row["program"], *shown, *numbers, f"{row['model_bytes'] / MEGABYTE:.1f}"]


if __name__ == "__main__":
    main()
