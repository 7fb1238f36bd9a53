"""Options of learners and engines, made from the parameters that they declare."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from marginloom.algorithms import engines_that_lose
from marginloom.commands.help import ADVANCED
from marginloom.common.parameters import Configured, Declared, Parameter, declared, option_name
from marginloom.engines import ENGINES
from marginloom.errors import InputError
from marginloom.learners import LEARNERS
from marginloom.learners.base import Learner

_HELP_ALL = "help_all"


def with_options(command: Callable[..., None], declaration: type[Any], specific: str = "") -> Callable[..., None]:
    """Give a command more options than it declares; it gets them together as `options`.

    Parameters
    ----------
    command : callable
        What to run; all its arguments are keyword-only.
    declaration : dataclass
        Its fields are the options, annotated for typer.
    specific : str
        Field that takes the parameters of learners and engines, by name, as far as they are given: there is an option
        for every one. Without a name there are none.
    """
    parts = _declared() if specific else {}
    hints = get_type_hints(declaration, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(declaration) if field.name != specific}

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        given.pop(_HELP_ALL, None)
        own = {name: value for name, value in given.items() if name not in parts and name not in fields}
        parameters = {name: given[name] for name in parts if given[name] is not None}
        shared = {name: given[name] for name in fields}
        command(**own, options=declaration(**shared, **({specific: parameters} if specific else {})))

    signature = inspect.signature(command, eval_str=True)
    options = [
        *(_keyword(name, hints[name], _default(field)) for name, field in fields.items()),
        *(parameter for parameter in signature.parameters.values() if parameter.name != "options"),
        *(_keyword(name, _option(name, owners), None) for name, owners in parts.items()),
        *([_keyword(_HELP_ALL, HelpAllOption, False)] if parts else []),
    ]
    wrapper.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {option.name: option.annotation for option in options}
    return wrapper


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(field: dataclasses.Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


def by_owner(specific: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of learners, and those of engines; no name is one of both."""
    of_learners = declared(LEARNERS.values())
    learner = {name: value for name, value in specific.items() if name in of_learners}
    return learner, {name: value for name, value in specific.items() if name not in of_learners}


def _declared() -> Declared:
    """Collect the parameters of all; `InputError` if a name is one of a learner's and one of an engine's."""
    of_learners, of_engines = declared(LEARNERS.values()), declared(ENGINES.values())
    for name in of_learners.keys() & of_engines.keys():
        owners = [f"{owner.name} ({owner.__module__})" for owner, _ in (of_learners[name][0], of_engines[name][0])]
        raise InputError(
            f"the learner {owners[0]} and the engine {owners[1]} both have the parameter {name!r}; rename one"
        )
    return of_learners | of_engines


def _option(name: str, owners: list[tuple[type[Configured], Parameter]]) -> Any:
    first = owners[0][1]
    having: dict[str, list[str]] = {}
    for owner, parameter in owners:
        having.setdefault(f"{parameter.help[0].upper()}{parameter.help[1:]}.", []).append(_owner_text(owner, name))
    text = "\n".join(f"{said} [{', '.join(names)}]" for said, names in having.items())
    convert = first.kind.convert
    if convert is bool:
        switch = f"{option_name(name)}/--no-{name.replace('_', '-')}"
        return Annotated[bool | None, typer.Option(switch, help=text, hidden=True, rich_help_panel=ADVANCED)]
    words = dict.fromkeys(word for _, parameter in owners for word in parameter.kind.words)
    metavar = "|".join(words) if words else {float: "X", int: "N"}[convert]
    return Annotated[
        convert | None,
        typer.Option(option_name(name), metavar=metavar, help=text, hidden=True, rich_help_panel=ADVANCED),
    ]


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        raise typer.Exit


HelpAllOption = Annotated[
    bool,
    typer.Option(
        "--help-all",
        is_eager=True,
        callback=_show_all,
        help="Show all options, including those of particular algorithms.",
    ),
]


def _owner_text(owner: type[Configured], parameter: str) -> str:
    lost = engines_that_lose(owner, parameter) if issubclass(owner, Learner) else []
    return f"{owner.name} (not on {', '.join(lost)})" if lost else owner.name
