"""The program `marginloom` with its commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from marginloom import __version__
from marginloom.cli.algorithms import algorithms
from marginloom.cli.common import note
from marginloom.cli.ending import interrupted_exit_code
from marginloom.cli.evaluate import EVALUATE
from marginloom.cli.inspect import inspect
from marginloom.cli.predict import PREDICT
from marginloom.cli.train import train

_MODEL_COMMANDS = {command.name: command for command in (PREDICT, EVALUATE)}


class _Program(TyperGroup):
    """Says that it was interrupted, wherever a command was; by itself the library that runs it would not.

    Commands that use a model get the options of its task, once their arguments are known.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in _MODEL_COMMANDS:
            return args[0], _MODEL_COMMANDS[args[0]].for_arguments(args[1:]), args[1:]
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _interruption_told():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _interruption_told():
            return super().invoke(ctx)


@contextmanager
def _interruption_told() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        note("marginloom: interrupted")
        raise typer.Exit(interrupted_exit_code()) from error


app = typer.Typer(
    name="marginloom",
    cls=_Program,
    help="Train linear structured predictors with large margins, and know how close to the optimum they are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(train, name="train")
for _name, _command in _MODEL_COMMANDS.items():  # as they are listed
    app.command(_name, help=_command.help([]))(lambda: None)
app.command()(inspect)
app.command()(algorithms)


def _version(wanted: bool) -> None:
    if wanted:
        from marginloom import _core

        typer.echo(
            f"marginloom {__version__} ({_core.simd_selected()}; available: {', '.join(_core.simd_available())})"
        )
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show version and instruction set."),
    ] = False,
) -> None:
    pass
