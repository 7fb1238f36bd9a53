"""The command `marginloom train`, with a command for every registered task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from marginloom.commands.help import GroupedCommand
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


class _Tasks(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()  # type: ignore[assignment]  # nobody adds to them

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


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
