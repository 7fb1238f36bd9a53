"""The command `marginloom evaluate`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from marginloom.cli.model_command import ModelCommand
from marginloom.commands.scores import print_confusions, print_scores
from marginloom.commands.task_commands import AnyCommands, EvaluateOptions
from marginloom.io.model import OpenedFile
from marginloom.io.names import shown
from marginloom.tasks.base.model import Model


def _run(commands: AnyCommands, opened: OpenedFile, options: EvaluateOptions) -> None:
    model: Model = commands.model_type.load(opened)
    evaluator = commands.evaluator(model, options)
    evaluator.warn_of_unseen(shown(options.input))
    scores = evaluator.report(model.weights)
    if options.as_json:
        print(json.dumps({"scores": scores, **evaluator.counts, "unseen_labels": evaluator.unseen}))
    else:
        print(", ".join(f"{count} {name}" for name, count in evaluator.counts.items()))
        print_scores({"": scores})
        print_confusions(scores)


def _help(tasks: Sequence[AnyCommands]) -> str:
    return "Score a model on examples with gold labels, and show its most frequent errors."


_EXAMPLES = """\
marginloom evaluate pos.safetensors test.conllu
marginloom evaluate ner.safetensors test.conll --json"""
EVALUATE = ModelCommand(
    "evaluate", "evaluate_options", _run, "Score a model on examples with gold labels.", _EXAMPLES, _help
)
