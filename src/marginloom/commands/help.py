"""How help pages look: options in groups, examples at the end, no line wider than 98 columns."""

from __future__ import annotations

import difflib
import re
import shutil
from typing import Any

from typer.core import TyperCommand

from marginloom.commands.terms import terms_in
from marginloom.common.parameters import listed

INPUT, FEATURES, STRUCTURE, TRAINING = "Input", "Features", "Structure", "Training"
CLUSTERS, OUTPUT = "Clusters", "Output"
#: The groups of options, in the order in which help shows them; an option without a group is among the last.
GROUPS = (INPUT, FEATURES, STRUCTURE, TRAINING, CLUSTERS, OUTPUT, "Options")
ADVANCED = "Learners and engines"

WIDTH = 98
#: Options that are longer have a line to themselves.
_WIDEST_NAME = 24
#: A hyphen at which no line ends.
_UNBROKEN = "\u2011"
_ABOUT_ADVANCED = (
    "Brackets list the learners or engines that support an option. 'marginloom algorithms NAME' shows the learner, the "
    "engine and the defaults of an algorithm."
)

#: What other programs call our options, for users who try those names here.
_ELSEWHERE = {
    "--C": ("--cost", "--regularization"),
    "--dev": ("--devel", "--development", "--eval", "--valid", "--validation"),
    "--max-iter": ("--epochs", "--iterations", "--max-epochs", "--n-iter", "--num-epochs", "--passes"),
    "--model": ("-m", "--out", "--output", "--save"),
    "--seed": ("--random-seed", "--random-state"),
    "--threads": ("-j", "--cores", "--jobs", "--n-jobs", "--workers"),
}


class GroupedCommand(TyperCommand):
    """A command whose help has a section for every group of options, and its epilog as it is written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        settings = {
            "terminal_width": min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns),
            "help_option_names": ["--help", "-h"],
        }
        options["context_settings"] = {**settings, **(options.get("context_settings") or {})}
        super().__init__(*arguments, **options)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an option that there is not is answered with those that help shows."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if hasattr(error, "possibilities"):  # of an unknown option
                error.possibilities = None
                error.message = self._unknown(ctx, error.option_name)  # type: ignore[attr-defined]
            raise

    def _unknown(self, ctx: Any, option: str) -> str:
        shown = [
            name
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
            for name in (*parameter.opts, *parameter.secondary_opts)
        ]
        meant = suggested_options(option, shown)
        text = f"No such option: {option}."
        if meant:
            return f"{text} Did you mean {listed(meant, 'or')}?"
        more = ", --help-all also those of particular algorithms" if "--help-all" in shown else ""
        return f"{text} --help lists the options{more}."

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
                name = _name(parameter) if section == "Arguments" else record[0]
                texts = _readable(record[1], parameter.metavar or "x").split("\n")
                sections[section] += zip([name, *[""] * len(texts)], texts, strict=False)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    if name == ADVANCED:
                        formatter.write_text(_ABOUT_ADVANCED)
                        formatter.write_paragraph()
                    formatter.write_dl(records, col_max=_WIDEST_NAME)
        if sections[ADVANCED]:
            with formatter.section("Terms"):
                formatter.write_dl(list(terms_in(" ".join(text for _, text in sections[ADVANCED])).items()))

    def get_help(self, ctx: Any) -> str:
        """Return the page."""
        return str(super().get_help(ctx)).replace(_UNBROKEN, "-")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, line by line."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    for part in _broken(line, formatter.width - formatter.current_indent):
                        formatter.write(f"{'':>{formatter.current_indent}}{part}\n")


def suggested_options(option: str, known: list[str]) -> list[str]:
    """Return the known options, two at most, that an unknown one may stand for.

    Examples
    --------
    >>> suggested_options("--max_itr", ["--max-iter", "--model"]), suggested_options("--epochs", ["--max-iter"])
    (['--max-iter'], ['--max-iter'])
    """
    written = option.replace("_", "-").lower()
    same = [name for name in known if name.lower() == written or written in _ELSEWHERE.get(name, ())]
    return same or difflib.get_close_matches(written, known, n=2, cutoff=0.7)


def _readable(text: str, metavar: str) -> str:
    """Say in words which numbers are allowed, and keep lines from ending at a hyphen.

    Examples
    --------
    >>> _readable("Order.  [default: 1; 1<=x<=2]", "N"), _readable("Threads.  [x>=1]", "N")
    ('Order. [default: 1] [N from 1 to 2]', 'Threads. [N at least 1]')
    """
    text = re.sub(r"(?:; |\]  \[)(?=\d+<=x|x>=)", "] [", text)
    text = re.sub(r"(\d+)<=x<=(\d+)", rf"{metavar} from \1 to \2", text)
    text = re.sub(r"x>=(\d+)", rf"{metavar} at least \1", text)
    text = re.sub(r"\[default: ((?:no-)?fit-intercept)\]", r"[default: --\1]", text).replace(".  [", ". [")
    return text.replace("-", _UNBROKEN)


def _broken(command: str, width: int) -> list[str]:
    r"""Return a command on as many lines as it takes, as a shell reads them.

    Examples
    --------
    >>> _broken("program --first 1 --second 2", 20)
    ['program --first 1 \\', '    --second 2']
    """
    if len(command) <= width:
        return [command]
    at = max((place.start() for place in re.finditer(r" -", command[: width - 1])), default=0)
    if at == 0:
        return [command]
    return [f"{command[:at]} \\", *_broken(f"    {command[at + 1 :]}", width)]


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _section_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    panel = getattr(parameter, "rich_help_panel", None)
    return panel if panel in (*GROUPS, ADVANCED) else "Options"
