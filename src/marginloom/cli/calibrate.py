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
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Model file to write. [default: replace MODEL]",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None


def _run(commands: AnyCommands, opened: OpenedFile, options: EvaluateOptions, own: CalibrateOptions) -> None:
    target = options.model if own.output is None else own.output
    refuse_overwriting([("-o", target)], [("the input", options.input)])
    check_writable_target(target)
    model: Model = commands.model_type.load(opened)
    calibration = model.calibrate(commands.evaluator(model, options))
    model.save(target)
    if options.as_json:
        print(json.dumps({"model": str(target), "calibration": calibration.header()}))
    else:
        print(f"{shown(target)}: {calibration.describe()}")


def _help(tasks: Sequence[AnyCommands]) -> str:
    return (
        "Calibrate the probabilities of a model on examples with gold labels that training did not see, and store the "
        "calibration in the model. Predictions do not change. predict --confidence needs a calibrated model."
    )


_EXAMPLES = """\
marginloom calibrate pos.safetensors dev.conllu
marginloom calibrate pos.safetensors dev.conllu -o calibrated.safetensors"""
CALIBRATE = ModelCommand(
    "calibrate",
    "evaluate_options",
    _run,
    "Calibrate the probabilities of a model.",
    _EXAMPLES,
    _help,
    CalibrateOptions,
)
