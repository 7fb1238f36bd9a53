"""The command `marginloom predict`."""

from __future__ import annotations

import functools

import typer

from marginloom.cli.parameters import with_options
from marginloom.tasks.base.commands import PredictOptions, commands_of, refuse_options_of_others


@functools.partial(with_options, declaration=PredictOptions)
def predict(*, context: typer.Context, options: PredictOptions) -> None:
    """Predict, in the format that the input comes in.

    Sentences: columns get one more with the predicted labels, or one for each of the K best labellings; CoNLL-U gets
    the labels in the column that the model was trained on. For ready features in crfsuite's format they come alone,
    one a line, as CRFsuite writes them.

    Examples in LIBSVM's format: one line each with the class, or with the K best classes, each followed by its score,
    with tabs between them; of models with several labels, the labels with commas between them, which may be an empty
    line. Labels in the input are not needed and not looked at.

    Images: a line of JSON for each, with label, box and score of what was found.
    """
    options.check_outputs()
    commands = commands_of(options.model)
    refuse_options_of_others(context, PredictOptions, commands, commands.predict_options)
    commands.predict(commands.model_type.load(options.model), options)
