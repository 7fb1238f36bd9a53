"""Options and helpers that several commands share."""

from __future__ import annotations

import resource
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, TextIO

import typer

from marginloom.commands.ending import say
from marginloom.commands.help import INPUT, OUTPUT
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.errors import InputError
from marginloom.io.columns import checked_column
from marginloom.io.formats import LABELLED, KnownFormats, format_of

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'marginloom train'.")]


def usage_error(message: str) -> typer.BadParameter:
    """Return the error that ends the program with the exit code for wrong usage."""
    return typer.BadParameter(message)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Make what is wrong with an argument an error of usage."""
    try:
        yield
    except InputError as error:
        raise usage_error(str(error)) from error


def refuse(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Refuse options that were given on the command line."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise InputError(f"--{name.replace('_', '-')} cannot be given: {reason}")


def numbers_of_labels(option: str, given: Iterable[str], example: str) -> dict[str, float]:
    """Read options that look like LABEL=2.5.

    Examples
    --------
    >>> numbers_of_labels("--label-cost", ["NOUN=2"], "a finite cost")
    {'NOUN': 2.0}
    """
    numbers = {}
    for item in given:
        label, equals, number = item.rpartition("=")
        try:
            if not equals:
                raise InputError("there is no number")
            numbers[label] = checked("the number", float(number), "not negative")
        except ValueError as error:
            raise InputError(f"{option} must look like LABEL=2.5, {example}, not {item!r}") from error
        if not label:
            raise InputError(f"{option} must name a label, as in LABEL=2.5, not {item!r}")
    return numbers


def usage_check(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a check of an option's value one of its usage: it then ends the program with the exit code 2."""

    def checked_value(value: Any) -> Any:
        with usage_errors():
            if value is not None:
                check(value)
        return value

    return checked_value


ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        callback=usage_check(resolve_threads),
        help="Number of threads; -1 means all cores. [default: all cores]",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the results as one JSON object, on the last line.", rich_help_panel=OUTPUT)
]


def format_option(known: KnownFormats, help: str) -> Any:
    """Return the option by which users say what format a file has, of those that a task knows."""
    check = usage_check(lambda value: format_of("", value, known=known))
    return typer.Option("--format", metavar="FORMAT", callback=check, help=help, rich_help_panel=INPUT)


FormatOption = Annotated[
    str | None,
    format_option(
        LABELLED, "File format: conll, conllu, conlluplus, crfsuite or libsvm. [default: from the file name]"
    ),
]


def column_option(default: str) -> Any:
    """Return the option by which users name the column of the labels."""
    return typer.Option(
        "--column",
        metavar="N|NAME",
        callback=usage_check(partial(checked_column, "--column")),
        help=f"Column of the labels, by name (such as xpos) or by number (from 1). [default: {default}]",
        rich_help_panel=INPUT,
    )


def pos_column_option(default: str) -> Any:
    """Return the option by which users name the column of the parts of speech."""
    return typer.Option(
        "--pos-column",
        metavar="N|NAME",
        callback=usage_check(partial(checked_column, "--pos-column")),
        help=f"Column of part-of-speech tags, by name or by number (from 1){default}",
        rich_help_panel=INPUT,
    )


def note(text: str, quiet: bool = False) -> None:
    """Say something on standard error."""
    if not quiet:
        say(text)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say what users are warned of in a line, as the program says everything, and the same only once."""
    with warnings.catch_warnings():
        show_others = warnings.showwarning
        said: set[str] = set()

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, UserWarning):
                if str(message) not in said:
                    say(f"marginloom: warning: {message}")
                said.add(str(message))
            else:
                show_others(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def peak_memory_mb() -> float:
    """Return the most memory that the process has used, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1024)


def gazetteer_files(given: list[str]) -> dict[str, str]:
    """Return the files of ``--gazetteer NAME=FILE`` by name; `InputError` if one does not look like that."""
    files = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path) or name in files:
            raise InputError(f"--gazetteer must look like NAME=FILE, every name once, not {item!r}")
        files[name] = path
    return files
