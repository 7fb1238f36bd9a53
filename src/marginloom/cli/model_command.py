"""Commands that use a model, whose options are those of its task."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from marginloom.commands.common import refuse, usage_error, usage_errors
from marginloom.commands.help import GroupedCommand
from marginloom.commands.learner_options import with_options
from marginloom.commands.task_commands import AnyCommands, commands_of
from marginloom.common.parameters import listed
from marginloom.errors import InputError, MarginloomError
from marginloom.io.model import OpenedFile, open_model
from marginloom.io.names import shown
from marginloom.tasks.registry import all_tasks, command_of


@dataclasses.dataclass(frozen=True)
class ModelCommand:
    """A command for models of any task.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        Which options of `TaskCommands` it has.
    run : callable
        Does it, given the task's commands, the model's file and options of the task's own type.
    short_help : str
        The same in a few words.
    examples : str
        Commands that its help shows, one a line.
    help : callable
        Says what it does, given the commands of the tasks whose options it has.
    own_options : type
        Options that the command has besides, whatever the task; `run` is given them last.
    """

    name: str
    kind: Literal["predict_options", "evaluate_options"]
    run: Callable[..., None]
    short_help: str
    examples: str
    help: Callable[[Sequence[AnyCommands]], str]
    own_options: type[Any] | None = None

    def for_arguments(self, arguments: Sequence[str]) -> Any:
        """Return the command with the options of the task whose model the arguments name.

        Without a model, or with an option that its task does not have, it has the options of all tasks: to be shown, or
        to be refused by name.
        """
        models = []
        for argument in arguments:
            opened = None if argument.startswith("-") else _opened(argument)
            if opened is not None:
                models.append(opened)
                command = self._command([commands_of(opened)], opened)
                if _model_given(command, arguments) == argument:
                    return command
        return self._command(list(_all_commands()), models[0] if models else None)

    def _command(self, tasks: Sequence[AnyCommands], found: OpenedFile | None) -> Any:
        """Return the command with the options of tasks; the model that was found is not opened again."""
        of_tasks = _together([(task.plural, getattr(task, self.kind)) for task in tasks])
        declaration = of_tasks if self.own_options is None else _with_fields(of_tasks, self.own_options)

        def command(*, context: typer.Context, options: Any) -> None:
            model = found if found is not None and found.name == options.model else self._opened(options, found)
            commands = commands_of(model)
            own = getattr(commands, self.kind)
            names = [field.name for field in dataclasses.fields(own)]
            others = sorted({field.name for field in dataclasses.fields(of_tasks)} - set(names))
            with usage_errors():
                task = command_of(commands.model_type)
                refuse(context, others, f"the task {task!r} of this model does not have it")
            given = own(**{name: getattr(options, name) for name in names})
            self.run(commands, model, given, *self._own_given(options))

        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        layout: dict[str, Any] = {"cls": GroupedCommand, "epilog": self.examples, "help": self.help(tasks)}
        app.command(self.name, **layout)(with_options(command, declaration))
        return typer.main.get_command(app)

    def _own_given(self, options: Any) -> list[Any]:
        """Return the options of the command itself, if it has some."""
        if self.own_options is None:
            return []
        names = [field.name for field in dataclasses.fields(self.own_options)]
        return [self.own_options(**{name: getattr(options, name) for name in names})]

    def _opened(self, options: Any, found: OpenedFile | None) -> OpenedFile:
        """Open the model that was given; where the input is one instead, they are in the wrong order."""
        try:
            return open_model(options.model)
        except MarginloomError as error:
            if found is None or found.name != options.input:
                raise
            raise usage_error(
                f"{shown(options.input)} is a model, and {shown(options.model)} is not; the model comes first: "
                f"marginloom {self.name} MODEL INPUT"
            ) from error


def _opened(argument: str) -> OpenedFile | None:
    """Open a model of a task that there is; None if the argument names none."""
    try:
        model = open_model(argument)
        commands_of(model)
        return model
    except (MarginloomError, OSError):  # no model; if it should be one, the command will say so
        return None


def _model_given(command: Any, arguments: Sequence[str]) -> Any:
    """Return what a command takes for its model; None if it does not take the arguments."""
    try:
        context = command.context_class(command, **command.context_settings)
        given, _, _ = command.make_parser(context).parse_args(list(arguments))
    except Exception:  # of usage; the command with the options of all tasks says what is wrong
        return None
    return given.get("model")


def _all_commands() -> Iterable[AnyCommands]:
    for task in all_tasks():
        if task.command is not None:
            try:
                yield task.part("commands").COMMANDS
            except InputError:  # of another distribution, and not asked for
                continue


def _together(declarations: Sequence[tuple[str, type[Any]]]) -> type[Any]:
    """Return a dataclass with the options of all tasks, which are given with their names.

    An option that tasks describe differently has all their texts, and is checked by none: no task is known yet.
    """
    found: dict[str, list[tuple[str, Any, Any]]] = {}
    for task, declaration in declarations:
        hints = get_type_hints(declaration, include_extras=True)
        for field in dataclasses.fields(declaration):
            found.setdefault(field.name, []).append((task, hints[field.name], field.default))
    fields = [
        (name, _joined(variants, len(declarations)), dataclasses.field(default=variants[0][2]))
        for name, variants in found.items()
    ]
    return dataclasses.make_dataclass("Options", fields, frozen=True, kw_only=True)


def _with_fields(declaration: type[Any], more: type[Any]) -> type[Any]:
    """Return a dataclass with the fields of two; those of the second win."""
    hints = [get_type_hints(part, include_extras=True) for part in (declaration, more)]
    fields = {
        field.name: (field.name, own[field.name], dataclasses.field(default=field.default))
        for part, own in zip((declaration, more), hints, strict=True)
        for field in dataclasses.fields(part)
    }
    return dataclasses.make_dataclass("Options", fields.values(), frozen=True, kw_only=True)


def _joined(variants: Sequence[tuple[str, Any, Any]], task_count: int) -> Any:
    """Return the type of an option of several tasks, whose help says which have it unless all do."""
    kind, option = get_args(variants[0][1])
    tasks_of: dict[str, list[str]] = {}
    for task, variant, _ in variants:
        tasks_of.setdefault(get_args(variant)[1].help, []).append(task)
    if len(tasks_of) == 1 and len(variants) == task_count:
        return variants[0][1]
    option = copy.copy(option)
    if len(tasks_of) > 1:
        option.callback = None
    option.help = _joined_help({text: listed(tasks) for text, tasks in tasks_of.items()})
    return Annotated[kind, option]


def _joined_help(tasks_of: Mapping[str, str]) -> str:
    r"""Return the help of an option, given what tasks say of it, each in a line: first what all begin with.

    The default is the last of it if all have the same.

    Examples
    --------
    >>> _joined_help({"Format: a. [default: none]": "taggers", "Format: b. [default: none]": "parsers"})
    'Format.\nTaggers: a.\nParsers: b. [default: none]'
    >>> _joined_help({"Only spans.": "taggers"})
    'Taggers: only spans.'
    """
    texts = list(tasks_of)
    topics = {text.partition(": ")[0] for text in texts}
    topic = topics.pop() if len(texts) > 1 and len(topics) == 1 else ""
    ends = {"".join(text.rpartition(" [default")[1:]) for text in texts if " [default" in text}
    end = ends.pop() if len(ends) == 1 else ""
    parts = [f"{topic}."] if topic else []
    for text, tasks in tasks_of.items():
        own = text.removesuffix(end).removeprefix(f"{topic}: " if topic else "")
        parts.append(f"{tasks[0].upper()}{tasks[1:]}: {own[0].lower()}{own[1:]}")
    return "\n".join(parts) + end
