"""How help pages look: options in groups, examples at the end, no line wider than 98 columns."""

from __future__ import annotations

import shutil
from typing import Any

from typer.core import TyperCommand

INPUT, FEATURES, STRUCTURE, TRAINING, OUTPUT = "Input", "Features", "Structure", "Training", "Output"
#: The groups of options, in the order in which help shows them; an option without a group is among the last.
GROUPS = (INPUT, FEATURES, STRUCTURE, TRAINING, OUTPUT, "Options")
ADVANCED = "Learners and engines"

WIDTH = 98


class GroupedCommand(TyperCommand):
    """A command whose help has a section for every group of options, and its epilog as it is written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        settings = {"terminal_width": min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)}
        options["context_settings"] = {**settings, **(options.get("context_settings") or {})}
        super().__init__(*arguments, **options)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in the first line."""
        arguments = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "argument"]
        return ["[OPTIONS]", *(f"{_name(argument)}{'...' if argument.nargs == -1 else ''}" for argument in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each group."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *GROUPS, ADVANCED)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                section = _section_of(parameter)
                sections[section].append((_name(parameter), record[1]) if section == "Arguments" else record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, line by line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _section_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    panel = getattr(parameter, "rich_help_panel", None)
    return panel if panel in (*GROUPS, ADVANCED) else "Options"
