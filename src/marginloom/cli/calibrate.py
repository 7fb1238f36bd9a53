"""The command `marginloom calibrate`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Annotated

import typer

from marginloom.cli.model_command import ModelCommand
from marginloom.commands.help import OUTPUT
from marginloom.commands.task_commands import AnyCommands, EvaluateOptions
from marginloom.io.files import check_writable_target
from marginloom.io.model import OpenedFile
from marginloom.io.names import shown
from marginloom.io.overwriting import refuse_overwriting
from marginloom.tasks.base.model import Model


@dataclasses.dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Options of `marginloom calibrate` that are not those of `evaluate`."""

    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="OUT", help="Model file to write, another one than MODEL.", rich_help_panel=OUTPUT
        ),
    ]


def _run(commands: AnyCommands, opened: OpenedFile, options: EvaluateOptions, own: CalibrateOptions) -> None:
    refuse_overwriting([("-o", own.output)], [("the model", options.model), ("the input", options.input)])
    check_writable_target(own.output)
    model: Model = commands.model_type.load(opened)
    calibration = model.calibrate(commands.evaluator(model, options))
    model.save(own.output)
    if options.as_json:
        print(json.dumps({"model": own.output, "calibration": calibration.header()}))
    else:
        print(f"{shown(own.output)}: {calibration.describe()}")


def _help(tasks: Sequence[AnyCommands]) -> str:
    return (
        "Calibrate the probabilities of a model on examples with gold labels that training did not see, and write the "
        "model with the calibration to a new file. Predictions do not change. predict --confidence needs a calibrated "
        "model."
    )


_EXAMPLES = "marginloom calibrate pos.safetensors dev.conllu -o calibrated.safetensors"
CALIBRATE = ModelCommand(
    "calibrate",
    "evaluate_options",
    _run,
    "Calibrate the probabilities of a model.",
    _EXAMPLES,
    _help,
    CalibrateOptions,
)
