"""The command line in another process, as far as the task that it trains on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from marginloom.commands.caller import Caller, called_by, without_words
from marginloom.errors import InputError
from marginloom.io.names import quoted
from marginloom.training.world import Recipe

if TYPE_CHECKING:
    from marginloom.core.task import Task
    from marginloom.training.spec import RunSpec


def new_recipe(arguments: Sequence[str]) -> Recipe:
    """Return how other processes run a command line as this process does, as far as the arguments say."""
    return Recipe(task_of, tuple(arguments), folder="", names=())


def task_of(recipe: Recipe) -> tuple[Task, RunSpec]:
    """Read and encode what a command trains on; `InputError` with its own words if that cannot be done here."""
    who = Caller(task_only=True)
    with called_by(who), _in_folder(recipe.folder), without_words(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_command(recipe.arguments)
    if who.training is None:
        raise InputError("the command line of this run does not train")
    return who.training.task, who.training.spec


def run_command(arguments: Sequence[str]) -> int:
    """Run a command in this process, and return its exit code; what is wrong with its arguments is an `InputError`."""
    from marginloom.cli.app import app

    try:
        command = typer.main.get_command(app)
        return int(command.main(list(arguments), prog_name="marginloom", standalone_mode=False) or 0)
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong usage, as the library that reads arguments tells it
            raise InputError(error.format_message()) from error
        raise


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    before = Path.cwd()
    if before == Path(folder):
        yield
        return
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(
            f"there is no folder {quoted(folder)}, in which training was started; workers need the same files under "
            "the same names"
        ) from error
    try:
        yield
    finally:
        os.chdir(before)
