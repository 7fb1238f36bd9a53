"""What the commands that use a model need to know of its task, and where to find it."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, ClassVar, Generic, TypeVar

import typer

from marginloom.cli.common import (
    ColumnOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    ThreadsOption,
    refuse,
    usage_errors,
)
from marginloom.errors import ModelFileError
from marginloom.io.files import atomic_write, open_binary
from marginloom.io.model import task_of
from marginloom.io.overwriting import named_files, refuse_overwriting, refuse_same_outputs
from marginloom.tasks.base.model import Model
from marginloom.tasks.registry import all_tasks, command_of, find_command


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Options of `marginloom predict`, of all tasks together."""

    model: ModelArgument
    input: Annotated[str, typer.Argument(metavar="INPUT", help="What to predict for; - is standard input.")]
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="- is standard output.")] = "-"
    threads: ThreadsOption = 1
    k_best: Annotated[int, typer.Option("--k-best", metavar="K", min=1, help="Write the K best, not only one.")] = 1
    format: FormatOption = None
    draw: Annotated[
        str | None,
        typer.Option("--draw", metavar="DIR", help="Also write a picture of every image with what was found in it."),
    ] = None

    def check_outputs(self, pictures: Sequence[Path] = ()) -> None:
        """Raise `InputError` if the output, or one of the pictures that go with it, is something else of the run."""
        output = "standard output" if self.output == "-" else "-o"
        drawn = [("--draw", path) for path in pictures] if pictures else named_files({"--draw": self.draw})
        outputs = [(output, self.output), *drawn]
        refuse_overwriting(outputs, [("the model", self.model), ("the input", self.input)])
        with usage_errors():
            refuse_same_outputs(outputs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of `marginloom evaluate`, of all tasks together."""

    model: ModelArgument
    input: Annotated[str, typer.Argument(metavar="INPUT", help="Examples with their right outputs.")]
    threads: ThreadsOption = 1
    as_json: JsonOption = False
    column: ColumnOption = None
    format: FormatOption = None


#: Options that every task has.
_FOR_ALL = frozenset({"model", "input", "output", "threads", "as_json"})

SomeModel = TypeVar("SomeModel", bound=Model)


class TaskCommands(ABC, Generic[SomeModel]):
    """How the commands work for one task; an object of it is ``COMMANDS`` of the task's part `commands`.

    `train` is what `marginloom train` does for it: a function made by `marginloom.cli.training.training_command`.
    """

    train: ClassVar[Callable[..., None]]
    model_type: type[SomeModel]
    #: Fields of `PredictOptions` and of `EvaluateOptions` that only some tasks have, and this one has.
    predict_options: ClassVar[frozenset[str]] = frozenset()
    evaluate_options: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def predict(self, model: SomeModel, options: PredictOptions) -> None:
        """Read the input and write predictions, as they come."""

    @abstractmethod
    def read_labelled(self, model: SomeModel, options: EvaluateOptions) -> Any:
        """Read examples with their right outputs, as the model's `evaluator` takes them."""

    @abstractmethod
    def describe(self, model: SomeModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on the task's own parts: a word of at most ten letters, and a text."""


def commands_of(path: str) -> TaskCommands[Any]:
    """Return the commands of the task that a model file belongs to."""
    name = task_of(path)
    task = find_command(name)
    if task is None:
        known = " or ".join(repr(other.command) for other in all_tasks() if other.command is not None)
        raise ModelFileError(f"{path}: this is a model of the task {name!r}, expected {known}")
    commands: TaskCommands[Any] = task.part("commands").COMMANDS
    return commands


def refuse_options_of_others(
    context: typer.Context, declaration: type[Any], commands: TaskCommands[Any], own: frozenset[str]
) -> None:
    """Refuse the options that a task does not have."""
    names = {field.name for field in dataclasses.fields(declaration)} - _FOR_ALL - own
    with usage_errors():
        refuse(context, sorted(names), f"the task {command_of(commands.model_type)!r} of this model does not have it")


@contextmanager
def streams(options: PredictOptions) -> Iterator[tuple[BinaryIO, IO[bytes], Callable[[int], None]]]:
    """Open input and output; the third is to be told how many bytes have been dealt with."""
    try:
        with (
            open_binary(options.input) as stream,
            open_output(options.output) as out,
            _progress(options.input, options.output) as advance,
        ):
            yield stream, out, advance
    except BrokenPipeError as error:  # whoever reads the pipe that OUT is has had enough
        raise typer.Exit(0) from error


@contextmanager
def open_output(path: str) -> Iterator[IO[bytes]]:
    """Open a file that appears when it is complete, or standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


@contextmanager
def _progress(input: str, output: str) -> Iterator[Callable[[int], None]]:
    """Show how much of a file is done, on a terminal that does not show the output itself."""
    if output == "-" or not sys.stderr.isatty():
        yield lambda byte_count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    plain = input != "-" and not input.endswith((".gz", ".xz"))
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("predict", total=Path(input).stat().st_size if plain else None)
        yield lambda byte_count: bar.advance(task, byte_count)
