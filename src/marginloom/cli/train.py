"""The command `marginloom train`, with a command for every registered task."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from marginloom.commands.help import GroupedCommand
from marginloom.common.parameters import listed
from marginloom.errors import InputError
from marginloom.tasks.registry import Registered, all_tasks, find_command


class _Commands(Mapping[str, Any]):
    """The commands of the registered tasks; those of a task are imported when they are asked for."""

    def __iter__(self) -> Iterator[str]:
        return iter([task.command for task in all_tasks() if task.command is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Any:
        task = find_command(name)
        if task is None:
            raise KeyError(name)
        return command_of_task(task)


#: What users may call a task.
_ELSEWHERE = {
    "tag": ("chunk", "ner", "pos", "sequence", "tagger"),
    "parse": ("dep", "dependency", "parser"),
    "classify": ("class", "classifier", "multiclass"),
    "detect": ("detection", "detector"),
    "multilabel": ("labels", "multi-label"),
}


def _no_such_task(given: str) -> str:
    """Say that a word is no task, and what was probably meant.

    Examples
    --------
    >>> _no_such_task("ner")
    "No such task: 'ner'. Did you mean 'tag'?"
    """
    tasks = list(_Commands())
    meant = [name for name, others in _ELSEWHERE.items() if given.lower() in others]
    meant = meant or difflib.get_close_matches(given.lower(), tasks, n=1)
    if meant:
        return f"No such task: {given!r}. Did you mean {meant[0]!r}?"
    if "." in given or "/" in given or Path(given).exists():
        return f"Name the task before the files, as in 'marginloom train tag {given}'. The tasks are {listed(tasks)}."
    return f"No such task: {given!r}. The tasks are {listed(tasks)}."


class _Tasks(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()  # type: ignore[assignment]  # nobody adds to them

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(_no_such_task(args[0]))
        return super().resolve_command(ctx, args)


def command_of_task(task: Registered) -> Any:
    """Return the command of a registered task."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    try:
        commands = task.part("commands").COMMANDS
        examples = "\n".join(commands.train_examples)
        app.command(task.command, cls=GroupedCommand, epilog=examples, no_args_is_help=True)(commands.train)
    except InputError as error:  # of another distribution: the list of tasks must be shown all the same
        failure = error

        def fail(context: typer.Context) -> None:
            raise failure

        allowed = {"ignore_unknown_options": True, "allow_extra_args": True}
        app.command(task.command, help=str(error), context_settings=allowed)(fail)
    return typer.main.get_command(app)


train = typer.Typer(cls=_Tasks, help="Train a model for a task.", no_args_is_help=True)


@train.callback()
def _train() -> None:
    """Train a model for a task."""
