"""The command `marginloom explain`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from marginloom.cli.model_command import ModelCommand
from marginloom.commands.common import usage_check, usage_error
from marginloom.commands.help import INPUT, OUTPUT
from marginloom.commands.tables import plain_table, print_table, printable
from marginloom.commands.task_commands import AnyCommands, EvaluateOptions, ExplainRequest
from marginloom.common.parameters import checked
from marginloom.io.model import OpenedFile, open_model
from marginloom.tasks.base.model import Model


def _count(name: str, panel: str, help: str) -> Any:
    """Return an option whose value counts from 1."""
    check = usage_check(lambda value: checked(name, value, "positive count"))
    return typer.Option(f"--{name}", metavar="N", callback=check, help=help, rich_help_panel=panel)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """Options of `marginloom explain` that are not those of `evaluate`."""

    sentence: Annotated[int, _count("sentence", INPUT, "The sentence, row or example to explain, counted from 1.")] = 1
    token: Annotated[
        int | None,
        _count(
            "token",
            INPUT,
            "The token of the sentence whose label or head to explain, counted from 1. [default: all together]",
        ),
    ] = None
    instead: Annotated[
        str | None,
        typer.Option(
            "--instead",
            metavar="LABEL",
            help="What to compare the prediction with: a label or class, a set of labels (A,B), a head or HEAD:LABEL. "
            "[default: the second best]",
            show_default=False,
            rich_help_panel=INPUT,
        ),
    ] = None
    gold: Annotated[
        bool,
        typer.Option("--gold", help="Compare the prediction with the gold labels of INPUT.", rich_help_panel=INPUT),
    ] = False
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Training file of the model: also split the difference by training example. May be repeated.",
            rich_help_panel=INPUT,
        ),
    ] = None
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="MODEL",
            help="Model file with the training state (--save-state) that --train needs. [default: MODEL]",
            show_default=False,
            rich_help_panel=INPUT,
        ),
    ] = None
    top: Annotated[int, _count("top", OUTPUT, "Number of rows of each table; 'more' sums up the others.")] = 20


def _run(commands: AnyCommands, opened: OpenedFile, options: EvaluateOptions, own: ExplainOptions) -> None:
    if own.gold and own.instead is not None:
        raise usage_error("--gold and --instead both say what to compare with: leave out one")
    if own.state is not None and not own.train:
        raise usage_error(
            "--state holds dual variables but no features of the training examples, so it explains nothing without "
            "them: give the training file too (--train FILE)"
        )
    model: Model = commands.model_type.load(opened)
    if own.state is not None:
        other: Model = commands.model_type.load(open_model(own.state))
        model.state = other.state
    token = None if own.token is None else own.token - 1
    request = ExplainRequest(own.sentence - 1, token, own.instead, own.gold, own.train or [])
    found = commands.explain(model, options, request)
    if options.as_json:
        print(json.dumps(found.to_dict()))
        return
    print(printable(found.summary))
    for headers, rows in found.tables(own.top):
        print()
        print_table(
            plain_table(headers, rows, [name for name in headers if name in ("contribution", "value", "weight")])
        )


def _help(tasks: Sequence[AnyCommands]) -> str:
    return (
        "Explain a prediction: why this output and not another. The difference of their scores is split by feature, "
        "and with --train also by training example; the rows of each table sum to the difference. Taggers, parsers, "
        "classifiers and multilabel classifiers are supported."
    )


_EXAMPLES = """\
marginloom explain pos.safetensors new.conllu --sentence 2 --token 3 --instead VERB
marginloom explain pos.safetensors new.conllu --token 3 --train train.conllu"""
EXPLAIN = ModelCommand(
    "explain",
    "evaluate_options",
    _run,
    "Explain a prediction by features or examples.",
    _EXAMPLES,
    _help,
    ExplainOptions,
)
