"""Options and helpers that several commands share."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from marginloom.errors import InputError
from marginloom.io.formats import format_of
from marginloom.threads import resolve_threads

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model that 'marginloom train' has written.")]


def usage_error(message: str) -> typer.BadParameter:
    """Return the error that ends the program with the exit code for wrong usage."""
    return typer.BadParameter(message)


def _usage_check(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a check of an option's value one of its usage: it then ends the program with the exit code 2."""

    def checked_value(value: Any) -> Any:
        try:
            if value is not None:
                check(value)
        except InputError as error:
            raise usage_error(str(error)) from error
        return value

    return checked_value


ThreadsOption = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        callback=_usage_check(resolve_threads),
        help="Threads; -1 for all cores that the process may use.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        callback=_usage_check(lambda value: format_of("", value)),
        help="conll, conllu or crfsuite (ready features); by default as the file's name says.",
    ),
]
ColumnOption = Annotated[
    int | None,
    typer.Option(
        "--column",
        metavar="N",
        min=1,
        help="Column of the labels, from 1; by default the last, in CoNLL-U the 4th (UPOS).",
    ),
]


def note(text: str, quiet: bool = False) -> None:
    """Say something on standard error."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def peak_memory_mb() -> float:
    """Return the most memory that the process has used, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1024)


def score_lines(name: str, scores: dict[str, Any]) -> list[str]:
    """Show scores for reading: a line of numbers, and one per label where there are spans."""
    numbers = "  ".join(f"{key} {value:.4f}" for key, value in scores.items() if isinstance(value, float))
    lines = [f"{name:<6} {numbers}"]
    for label, values in scores.get("per_label", {}).items():
        shown = "  ".join(f"{key} {values[key]:.4f}" for key in ("precision", "recall", "f1"))
        lines.append(f"         {label:<12} {shown}  ({values['support']})")
    return lines
