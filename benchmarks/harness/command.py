"""The command line of every benchmark: options have one meaning, and stand here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

CLOCKS = ("wall", "cpu")


@dataclass(frozen=True)
class Question:
    """What a benchmark answers, on which data sets, and which of the options it has.

    `budget` are the training seconds of a run, usually and with `--quick`; None where runs cannot be cut short.
    `threads` are the numbers to try, None where all is done on one thread. `clock` says whether CPU seconds can take
    the place of those of the wall.
    """

    name: str
    text: str
    sets: Sequence[str]
    quick_sets: Sequence[str] | None = None
    budget: tuple[float, float] | None = None
    threads: tuple[int, ...] | None = None
    clock: bool = False
    repeat: int = 1

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser, to which a benchmark may add options of its own."""
        parser = argparse.ArgumentParser(
            description=self.text, formatter_class=argparse.RawDescriptionHelpFormatter, prog=f"{self.name}.py"
        )
        add_data(parser)
        parser.add_argument("--quick", action="store_true", help="a sample of the data and small budgets, to try it")
        if len(self.sets) > 1:
            parser.add_argument("--set", choices=self.sets, action="append", help="only this; may be repeated")
        if self.threads is not None:
            text = f"such as 1,2,4 (default {','.join(map(str, self.threads))}; 1,2 with --quick)"
            parser.add_argument("--threads", type=_counts, help=text)
        if self.budget is not None:
            usual, quick = self.budget
            text = f"training seconds of a run (default {usual:g}; {quick:g} with --quick)"
            parser.add_argument("--budget", type=float, help=text)
        if self.clock:
            parser.add_argument("--clock", choices=CLOCKS, default="wall", help="seconds to show, and to budget")
        add_repeat(parser, self.repeat)
        add_limit(parser)
        folder = f"build/benchmarks/{self.name}"
        parser.add_argument("--out", help=f"folder for runs and pictures (default {folder}, or {folder}-quick)")
        parser.add_argument("--again", action="store_true", help="repeat runs that are stored")
        return parser

    def arguments(self, parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
        """Read the command line; what it does not have gets the value that it has for this question."""
        given = (parser or self.parser()).parse_args()
        given.set = getattr(given, "set", None) or (given.quick and self.quick_sets) or self.sets
        given.threads = getattr(given, "threads", None) or ((1, 2) if given.quick else self.threads or (1,))
        usual = self.budget[given.quick] if self.budget else float("inf")
        given.budget = getattr(given, "budget", None) or usual
        given.clock = getattr(given, "clock", "wall")
        given.out = given.out or f"build/benchmarks/{self.name}{'-quick' * given.quick}"
        return given


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the folder with the data sets."""
    parser.add_argument("data", nargs="?", help="folder with the data sets (default: $MARGINLOOM_DATA)")


def add_repeat(parser: argparse.ArgumentParser, default: int) -> None:
    """Add how often every run is made."""
    parser.add_argument("--repeat", type=int, default=default, help=f"times to do every run (default {default})")


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add after how long no run begins."""
    text = "seconds after which no run is begun; 0 shows what is stored"
    parser.add_argument("--limit", type=float, default=float("inf"), help=text)


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(count) for count in text.split(","))
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"numbers of threads start at 1, not {min(counts)}")
    return counts
