"""The command `marginloom predict`."""

from __future__ import annotations

from collections.abc import Sequence

from marginloom.cli.model_command import ModelCommand
from marginloom.commands.task_commands import AnyCommands, PredictOptions
from marginloom.io.model import OpenedFile


def _run(commands: AnyCommands, model: OpenedFile, options: PredictOptions) -> None:
    options.check_outputs()
    commands.predict(commands.model_type.load(model), options)


def _help(tasks: Sequence[AnyCommands]) -> str:
    about = "Apply a model to new examples. The output has the format of the input, unless stated otherwise."
    return "\n\n".join([about, *(task.predict_help for task in tasks)])


_EXAMPLES = """\
marginloom predict pos.safetensors new.conllu -o tagged.conllu
echo 'The dog barks.' | marginloom predict pos.safetensors - --format text"""
PREDICT = ModelCommand("predict", "predict_options", _run, "Apply a model to new examples.", _EXAMPLES, _help)
