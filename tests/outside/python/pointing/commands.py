"""What the command line knows of pointing."""

import dataclasses
from typing import Annotated

import typer

from marginloom.commands.task_commands import EvaluateOptions, PredictOptions, TaskCommands, streams
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import TrainingOptions, training_command
from pointing.features import Pointed, parse_line, read_pointed
from pointing.model import PointingModel, PointingProblem


@training_command
def train(
    *,
    options: TrainingOptions,
    scale: Annotated[float, typer.Option("--scale", metavar="X", help="Factor of all numbers.")] = 1.0,
) -> None:
    """Learn to point at one of several things, from JSON lines."""

    def scaled(path):
        pointed = read_pointed(path)
        return Pointed([scale * things for things in pointed.X], pointed.y)

    def read():
        parts = [scaled(path) for path in options.training]
        training = Pointed([x for part in parts for x in part.X], [y for part in parts for y in part.y])
        sets = {name: scaled(path) for name, path in options.evaluation_files.items()}
        return TrainingData(PointingProblem(training=training, settings={"scale": scale}), sets)

    run_training(options, PointingModel, read)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointingEvaluateOptions(EvaluateOptions):
    """Options of `marginloom evaluate` for things."""

    scale: Annotated[float | None, typer.Option("--scale", metavar="X", help="Another factor of all numbers.")] = None


class PointingCommands(TaskCommands[PointingModel, PredictOptions, PointingEvaluateOptions]):
    """Predict, evaluate and inspect."""

    train = staticmethod(train)
    model_type = PointingModel
    predict_options = PredictOptions
    evaluate_options = PointingEvaluateOptions
    predict_help = "Things in JSON lines: the number of the one that is pointed at, a line each."

    def predict(self, model, options):
        """Write the number of the best thing of every line."""
        scale = model.settings["scale"]
        with streams(options) as (stream, out, advance):
            for number, line in enumerate(stream, start=1):
                things, _ = parse_line(line.decode(), f"{options.input}, line {number}")
                out.write(f"{model.predict([scale * things], options.threads)[0]}\n".encode())
                out.flush()
                advance(len(line))

    def read_labelled(self, model, options):
        """Read things of which the right one is known."""
        pointed = read_pointed(options.input)
        scale = model.settings["scale"] if options.scale is None else options.scale
        return Pointed([scale * things for things in pointed.X], pointed.y)

    def describe(self, model):
        """Say how many numbers a thing has."""
        return [("numbers", f"{model.width} of every thing")]


COMMANDS = PointingCommands()
