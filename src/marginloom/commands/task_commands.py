"""What the commands that use a model need to know of its task, and where to find it."""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import typer

from marginloom.commands.common import JsonOption, ModelArgument, ThreadsOption, usage_check, usage_errors
from marginloom.commands.help import OUTPUT
from marginloom.common.parameters import checked
from marginloom.errors import InputError, ModelFileError
from marginloom.io.compression import compressing_write
from marginloom.io.files import StrPath, open_binary
from marginloom.io.model import OpenedFile
from marginloom.io.names import shown
from marginloom.io.overwriting import refuse_overwriting, refuse_same_outputs
from marginloom.tasks.base.explanation import Explanation
from marginloom.tasks.base.model import Evaluator, Model
from marginloom.tasks.registry import all_tasks, find_in_files

KBestOption = Annotated[
    int,
    typer.Option(
        "--k-best",
        metavar="K",
        callback=usage_check(lambda value: checked("k_best", value, "positive count")),
        help="Write the K best predictions for each example.",
        rich_help_panel=OUTPUT,
    ),
]


ConfidenceOption = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="Also write the probability of each prediction, if the model is calibrated.",
        rich_help_panel=OUTPUT,
    ),
]
MinConfidenceOption = Annotated[
    float | None,
    typer.Option(
        "--min-confidence",
        metavar="P",
        min=0,
        max=1,
        help="Write _ instead of labels whose probability is below P; implies --confidence.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """Options of `marginloom predict` that all tasks have; a task with more of them adds fields."""

    model: ModelArgument
    input: Annotated[str, typer.Argument(metavar="INPUT", help="File of examples; - means standard input.")]
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Output file, compressed if it ends in .gz or .xz; - means standard output.",
            rich_help_panel=OUTPUT,
        ),
    ] = "-"
    confidence: ConfidenceOption = False
    min_confidence: MinConfidenceOption = None
    threads: ThreadsOption = None

    @property
    def with_confidence(self) -> bool:
        """Whether probabilities are to be written."""
        return self.confidence or self.min_confidence is not None

    def withholds(self, confidence: float | None) -> bool:
        """Tell whether a label of this confidence is to be replaced."""
        return self.min_confidence is not None and confidence is not None and confidence < self.min_confidence

    def outputs(self) -> list[tuple[str, StrPath]]:
        """Return the files that will be written, each with the words that name it."""
        return [("standard output" if self.output == "-" else "-o", self.output)]

    def check_outputs(self) -> None:
        """Raise `InputError` if an output is something else of the run."""
        self.check_files(self.outputs())

    def check_files(self, outputs: list[tuple[str, StrPath]]) -> None:
        """Raise `InputError` if one of these files is something else of the run."""
        refuse_overwriting(outputs, [("the model", self.model), ("the input", self.input)])
        with usage_errors():
            refuse_same_outputs(outputs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class KBestOptions(PredictOptions):
    """The same with several predictions for an input."""

    k_best: KBestOption = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of `marginloom evaluate` that all tasks have; a task with more of them adds fields."""

    model: ModelArgument
    input: Annotated[str, typer.Argument(metavar="INPUT", help="File of examples with gold labels.")]
    threads: ThreadsOption = None
    as_json: JsonOption = False


class ExplainRequest(NamedTuple):
    """What `marginloom explain` is asked for.

    Attributes
    ----------
    example : int
        The sentence or row, from 0.
    token : int or None
        The token, from 0.
    instead : str or None
        What to compare with.
    gold : bool
        Whether to compare with gold.
    training : list of str
        Training files; none for no split by example.
    """

    example: int
    token: int | None
    instead: str | None
    gold: bool
    training: list[str]


SomeModel = TypeVar("SomeModel", bound=Model)
SomePredict = TypeVar("SomePredict", bound=PredictOptions)
SomeEvaluate = TypeVar("SomeEvaluate", bound=EvaluateOptions)


class ShownModel(ABC, Generic[SomeModel]):
    """What `inspect` needs to know of a task; an object of it is ``COMMANDS`` of the part `commands`.

    `other_way` says what to do instead of other commands where there are none.
    """

    model_type: type[SomeModel]
    other_way: ClassVar[str] = ""

    @abstractmethod
    def describe(self, model: SomeModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on the task's own parts: a word of at most ten letters, and a text."""

    def legend(self, model: SomeModel) -> str:
        """Say in a sentence or two what the names of features mean that `inspect` shows; nothing by default."""
        return ""

    def is_hashed(self, model: SomeModel) -> bool:
        """Tell whether features are hashed, so that most have no names."""
        return False


class TaskCommands(ShownModel[SomeModel], Generic[SomeModel, SomePredict, SomeEvaluate]):
    """How the commands work for one task; an object of it is ``COMMANDS`` of the task's part `commands`.

    `train` is what `marginloom train` does for it, a function made by
    `marginloom.commands.training_options.training_command`;
    `train_examples` are commands that its help shows.
    `predict_options` and `evaluate_options` are the types of the options, and `predict_help` says what is read and
    written, in a paragraph. `plural` is what help calls the models.
    """

    train: ClassVar[Callable[..., None]]
    train_examples: ClassVar[tuple[str, ...]] = ()
    plural: ClassVar[str] = "models of other tasks"
    predict_options: type[SomePredict]
    evaluate_options: type[SomeEvaluate]
    predict_help: ClassVar[str]

    @abstractmethod
    def predict(self, model: SomeModel, options: SomePredict) -> None:
        """Read the input and write predictions, as they come."""

    @abstractmethod
    def read_labelled(self, model: SomeModel, options: SomeEvaluate) -> Any:
        """Read examples with their right outputs, as the model's `evaluator` takes them."""

    def explain(self, model: SomeModel, options: SomeEvaluate, request: ExplainRequest) -> Explanation:
        """Return why the model predicts what it does for one example."""
        raise InputError(
            f"{self.plural} have no explanations; taggers, parsers, classifiers and multilabel classifiers have them"
        )

    def evaluator(self, model: SomeModel, options: SomeEvaluate) -> Evaluator:
        """Return what scores the model on the input."""
        return model.evaluator(self.read_labelled(model, options), options.threads)


AnyCommands: TypeAlias = TaskCommands[Any, Any, Any]


def shown_model_of(model: OpenedFile) -> ShownModel[Any]:
    """Return what `inspect` needs to know of the task that a model file belongs to."""
    task = find_in_files(str(model.task))
    if task is None:
        raise ModelFileError(
            f"{shown(model.name)}: this is a model of the task {model.task!r}, expected {_known_commands()}"
        )
    found: ShownModel[Any] = task.part("commands").COMMANDS
    return found


def commands_of(model: OpenedFile) -> AnyCommands:
    """Return the commands of the task that a model file belongs to."""
    commands = shown_model_of(model)
    if not isinstance(commands, TaskCommands):
        raise ModelFileError(
            f"{shown(model.name)}: this is a model of the task {model.task!r}, expected {_known_commands()}; "
            f"{commands.other_way}"
        )
    return commands


def _known_commands() -> str:
    return " or ".join(repr(task.command) for task in all_tasks() if task.command is not None)


@contextmanager
def streams(options: PredictOptions) -> Iterator[tuple[BinaryIO, Any, Callable[[int], None]]]:
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
def open_output(path: str) -> Iterator[Any]:
    """Open a file that appears when it is complete, compressed if its name ends in .gz or .xz; or standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with compressing_write(path) as file:
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
