"""The program `marginloom` with its commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from marginloom import __version__
from marginloom.cli.algorithms import algorithms
from marginloom.cli.calibrate import CALIBRATE
from marginloom.cli.evaluate import EVALUATE
from marginloom.cli.explain import EXPLAIN
from marginloom.cli.inspect import inspect
from marginloom.cli.predict import PREDICT
from marginloom.cli.train import train
from marginloom.commands.common import note
from marginloom.commands.ending import interrupted_exit_code
from marginloom.commands.help import WIDTH, GroupedCommand
from marginloom.tasks.registry import find_command

INSPECT_EXAMPLES = """\
marginloom inspect pos.safetensors
marginloom inspect pos.safetensors --top 20 --json"""
ALGORITHMS_EXAMPLES = """\
marginloom algorithms
marginloom algorithms dcd-ssvm"""
_MODEL_COMMANDS = {command.name: command for command in (PREDICT, EVALUATE, CALIBRATE, EXPLAIN)}


_ORDER = ("train", "predict", "evaluate", "calibrate", "explain", "inspect", "algorithms")


class _Program(TyperGroup):
    """Says that it was interrupted, wherever a command was; by itself the library that runs it would not.

    Commands that use a model get the options of its task, once their arguments are known.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_ORDER)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in _MODEL_COMMANDS:
            return args[0], _MODEL_COMMANDS[args[0]].for_arguments(args[1:]), args[1:]
        if args and find_command(args[0]) is not None:
            ctx.fail(f"No such command: {args[0]!r}. Did you mean 'marginloom train {args[0]}'?")
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
    help="Train taggers, parsers, relation extractors, classifiers and object detectors. Most algorithms end with a "
    "proven upper bound on how far the training objective is from its optimum.",
    context_settings={
        "terminal_width": min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns),
        "help_option_names": ["--help", "-h"],
    },
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(train, name="train")
for _name, _command in _MODEL_COMMANDS.items():  # as they are listed
    app.command(_name, help=_command.help([]), short_help=_command.short_help)(lambda: None)
app.command(cls=GroupedCommand, epilog=INSPECT_EXAMPLES, short_help="Show what is in a model.")(inspect)
app.command(cls=GroupedCommand, epilog=ALGORITHMS_EXAMPLES, short_help="List the training algorithms.")(algorithms)


def _version(wanted: bool) -> None:
    if wanted:
        from marginloom import _core

        typer.echo(
            f"marginloom {__version__} ({_core.simd_selected()}; available: {', '.join(_core.simd_available())})"
        )
        raise typer.Exit


_FIRST_STEPS = """\
marginloom trains taggers, parsers and classifiers. To train a tagger, score it
and tag new sentences:

  marginloom train tag train.conllu --model pos.safetensors
  marginloom evaluate pos.safetensors test.conllu
  marginloom predict pos.safetensors new.conllu

The other tasks are parse, relations, classify, multilabel and detect.
'marginloom --help' lists all commands; 'marginloom train tag --help' lists the
options for training a tagger."""


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and the CPU instructions (SIMD) in use.",
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(_FIRST_STEPS, flush=True)
        raise typer.Exit(2)  # a command is missing
