"""The command `marginloom evaluate`."""

from __future__ import annotations

import functools
import json

import typer

from marginloom.cli.common import note, score_lines
from marginloom.cli.parameters import with_options
from marginloom.tasks.base.commands import EvaluateOptions, commands_of, refuse_options_of_others
from marginloom.tasks.base.model import Model


@functools.partial(with_options, declaration=EvaluateOptions)
def evaluate(*, context: typer.Context, options: EvaluateOptions) -> None:
    """Score a model's predictions; labels in columns are by default in the one that the model was trained on."""
    commands = commands_of(options.model)
    refuse_options_of_others(context, EvaluateOptions, commands, commands.evaluate_options)
    model: Model = commands.model_type.load(options.model)
    evaluator = model.evaluator(commands.read_labelled(model, options), options.threads)
    if evaluator.unseen:
        shown = ", ".join(f"{label} ({count})" for label, count in list(evaluator.unseen.items())[:10])
        more = f" and {len(evaluator.unseen) - 10} more" if len(evaluator.unseen) > 10 else ""
        note(f"{options.input}: labels that training did not see count as errors: {shown}{more}")
    scores = model.report(evaluator)
    if options.as_json:
        print(json.dumps({"scores": scores, **evaluator.counts, "unseen_labels": evaluator.unseen}))
    else:
        print(", ".join(f"{count} {name}" for name, count in evaluator.counts.items()))
        print("\n".join(score_lines("scores", scores)))
