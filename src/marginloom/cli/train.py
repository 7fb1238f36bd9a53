"""The command `marginloom train` with its tasks."""

from __future__ import annotations

import typer

from marginloom.tasks.detection.commands import train_detect
from marginloom.tasks.multiclass.commands import train_classify
from marginloom.tasks.multilabel.commands import train_multilabel_command
from marginloom.tasks.sequence.commands import train_tag

train = typer.Typer(help="Train a model.", no_args_is_help=True)


@train.callback()
def _train() -> None:
    """Train a model."""


train.command("tag", no_args_is_help=True)(train_tag)
train.command("classify", no_args_is_help=True)(train_classify)
train.command("detect", no_args_is_help=True)(train_detect)
train.command("multilabel", no_args_is_help=True)(train_multilabel_command)
