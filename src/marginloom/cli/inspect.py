"""The command `marginloom inspect`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.cli.common import JsonOption, ModelArgument
from marginloom.tasks.base.commands import shown_model_of
from marginloom.tasks.base.model import Model
from marginloom.tasks.registry import command_of


def inspect(
    model: ModelArgument,
    top: Annotated[int, typer.Option("--top", metavar="N", help="How many of the strongest weights.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show a model: sizes, labels, settings, certificate and strongest weights."""
    commands = shown_model_of(model)
    loaded: Model = commands.model_type.load(model)
    summary = _summary(loaded, max(top, 0))
    if as_json:
        print(json.dumps(summary))
        return
    for name, text in [("task", command_of(type(loaded))), *commands.describe(loaded), *_facts(loaded, summary)]:
        print(f"{name:<10} {text}")
    print("settings")
    for name, value in loaded.settings.items():
        print(f"  {name:<14} {value}")
    print("strongest weights")
    for entry in summary["strongest"]:
        label = f" -> {entry['label']}" if entry["label"] != "" else ""
        print(f"  {entry['weight']:+10.4f}  {entry['feature']}{label}")


def _facts(model: Model, summary: dict[str, Any]) -> list[tuple[str, str]]:
    nothing = "nothing is certified: trained by an online learner, or interrupted"
    return [
        ("weights", f"{summary['weights']}, {summary['nonzero']} not zero"),
        ("optimum", str(model.certificate) if model.certificate else nothing),
        ("state", "saved, for --warm-start" if model.state else "not saved"),
    ]


def _summary(model: Model, top: int) -> dict[str, Any]:
    return {
        "task": command_of(type(model)),
        **model.summary(),
        "weights": int(model.weights.size),
        "nonzero": int(np.count_nonzero(model.weights)),
        "certificate": None if model.certificate is None else vars(model.certificate),
        "state": model.state is not None,
        "settings": model.settings,
        "strongest": model.strongest(top),
    }
