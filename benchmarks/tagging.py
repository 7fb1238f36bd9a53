"""Measure taggers on one thread: training, certified gaps, scores and tagging, alone and beside python-crfsuite."""

from __future__ import annotations

import argparse
import datetime

import tagging_peers
import tagging_scores
import tagging_words
from common import data_folder, machine

PARTS = ("words", "scores", "conll2000", "brown")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", help="folder with the data sets")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.add_argument("--repeat", type=int, default=3, help="runs of every line of the part words")
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    print(f"{datetime.date.today()}, {machine()}", flush=True)
    for part in arguments.part or PARTS:
        if part == "words":
            tagging_words.run(folder, arguments.repeat)
        elif part == "scores":
            tagging_scores.run(folder)
        else:
            tagging_peers.run(folder, part)


if __name__ == "__main__":
    main()
