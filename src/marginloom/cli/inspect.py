"""The command `marginloom inspect`."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.commands.common import JsonOption, ModelArgument
from marginloom.commands.help import OUTPUT
from marginloom.commands.report import certificate_sentence
from marginloom.commands.tables import line_width, plain_table, print_table, printable
from marginloom.commands.task_commands import shown_model_of
from marginloom.io.model import open_model
from marginloom.tasks.base.model import Model
from marginloom.tasks.registry import command_of
from marginloom.training.earlier import GIVEN

#: The name of a feature that is hashed.
_BUCKET = re.compile(r"(?:^|: )hash \d+$")
#: Labels whose weights are shown; an object of JSON has all.
_MOST_LABELS = 30


_STATELESS = "not saved; --warm-start needs a model that was trained with --save-state"
_UNCALIBRATED = "no, so there are no probabilities; run 'marginloom calibrate MODEL DEV -o OUT'"


def inspect(
    model: ModelArgument,
    top: Annotated[
        int, typer.Option("--top", metavar="N", help="Number of weights to show per label.", rich_help_panel=OUTPUT)
    ] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show a model: its labels, size, certificate, settings, and the strongest weights of each label."""
    opened = open_model(model)
    commands = shown_model_of(opened)
    loaded: Model = commands.model_type.load(opened)
    summary = _summary(loaded, max(top, 0))
    if as_json:
        print(json.dumps(summary))
        return
    legend, hashed = commands.legend(loaded), commands.is_hashed(loaded)
    for name, text in [("task", command_of(type(loaded))), *commands.describe(loaded), *_facts(loaded, summary)]:
        print(textwrap.fill(printable(f"{name:<10} {text}"), line_width(), subsequent_indent=" " * 11))
    print_table(plain_table(["setting", "value"], _settings(loaded.settings)))
    print()
    strongest = [entry for entry in summary["strongest"] if not (hashed and _BUCKET.search(entry["feature"]))]
    if strongest or not hashed:
        _print_weights(strongest)
        meaning = "Each entry is a weight and its feature; a positive weight favors the label."
        legend = f"{meaning} {legend}" if legend else ""
    if legend:
        print(textwrap.fill(legend, line_width(), break_long_words=False, break_on_hyphens=False))


def _facts(model: Model, summary: dict[str, Any]) -> list[tuple[str, str]]:
    nothing = "No certificate: the algorithm computes none, or training was interrupted before it."
    return [
        ("weights", f"{summary['weights']:,}, of which {summary['nonzero']:,} are not zero"),
        ("optimum", certificate_sentence(model.certificate) if model.certificate else nothing),
        ("calibrated", model.calibration.describe() if model.calibration else _UNCALIBRATED),
        ("state", "saved, for --warm-start" if model.state else _STATELESS),
    ]


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings that training had in order, with the parameters of learner and engine one by one."""
    rows = []
    for name, value in sorted(settings.items()):
        if name in (GIVEN, "auto"):
            continue
        if name == "algorithm" and settings.get("auto"):
            rows.append((name, f"{value} (auto: {settings['auto']})"))
            continue
        if isinstance(value, Mapping):
            rows.append((name, str(value.get("name", ""))))
            rows += [(f"  {key}", _shown(inner)) for key, inner in value.items() if key != "name"]
        else:
            rows.append((name, _shown(value)))
    return rows


def _shown(value: Any) -> str:
    """Show a value as a user would write it.

    Examples
    --------
    >>> _shown(True), _shown(None), _shown([["NOUN", 2.0]]), _shown(0.1)
    ('yes', '-', 'NOUN 2.0', '0.1')
    >>> _shown([["a", [2.0, 1.0]], ["b", [2.0, 1.0]]]), _shown([["a", [2.0, 1.0]], ["b", [3.0, 1.0]]])
    ('2.0 1.0 for each', 'a: 2.0 1.0, b: 3.0 1.0')
    """
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        if all(isinstance(item, list) and len(item) == 2 and isinstance(item[1], list) for item in value):
            same = len(value) > 1 and all(item[1] == value[0][1] for item in value)
            named = (f"{_shown(name)}: {_shown(numbers)}" for name, numbers in value)
            return f"{_shown(value[0][1])} for each" if same else ", ".join(named)
        separator = ", " if any(isinstance(item, list) for item in value) else " "
        return separator.join(_shown(item) for item in value)
    return str(value)


def _print_weights(strongest: Iterable[Mapping[str, Any]]) -> None:
    """Print the weights of each label in a row."""
    groups = [(label, list(entries)) for label, entries in itertools.groupby(strongest, lambda entry: entry["label"])]
    shown = groups[:_MOST_LABELS]
    width = line_width() - 6 - max((len(str(label)) for label, _ in shown), default=0)
    rows = []
    for label, entries in shown:
        texts = [printable(f"{entry['weight']:+.3f} {entry['feature']}") for entry in entries]
        rows += [("" if place else label, line) for place, line in enumerate(_in_lines(texts, max(width, 40)))]
    print_table(plain_table(["label", "strongest weights"], rows))
    if len(groups) > len(shown):
        print(f"{len(groups) - len(shown)} more labels are not shown; --json has all")


def _in_lines(texts: Iterable[str], width: int) -> list[str]:
    """Put texts side by side in lines that are no wider, each whole if it can be.

    Examples
    --------
    >>> _in_lines(["one", "two", "three"], 10)
    ['one  two', 'three']
    """
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + 2 + len(text) <= width:
            lines[-1] += f"  {text}"
        else:
            lines.append(text)
    return lines


def _summary(model: Model, top: int) -> dict[str, Any]:
    return {
        "task": command_of(type(model)),
        **model.summary(),
        "weights": int(model.weights.size),
        "nonzero": int(np.count_nonzero(model.weights)),
        "certificate": None if model.certificate is None else vars(model.certificate),
        "calibration": None if model.calibration is None else model.calibration.header(),
        "state": model.state is not None,
        "settings": model.settings,
        "strongest": model.strongest(top),
    }
