"""Options of learners and engines, made from the parameters that they declare."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from marginloom.algorithms import (
    ALGORITHMS,
    Algorithm,
    check_engine,
    engines_that_lose,
    find_algorithm,
    find_preset,
)
from marginloom.errors import InputError
from marginloom.learners import Learner
from marginloom.parameters import KINDS, Configured, Parameter, checked, option_name

#: Parameters that are common options: ignored with a word, not refused, where an algorithm has none of that name.
COMMON = frozenset({"k_best"})

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
    declared = _declared() if specific else {}
    hints = get_type_hints(declaration, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(declaration) if field.name != specific}

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        given.pop(_HELP_ALL, None)
        own = {name: value for name, value in given.items() if name not in declared and name not in fields}
        parameters = {name: given[name] for name in declared if given[name] is not None}
        shared = {name: given[name] for name in fields}
        command(**own, options=declaration(**shared, **({specific: parameters} if specific else {})))

    signature = inspect.signature(command, eval_str=True)
    options = [
        *(_keyword(name, hints[name], _default(field)) for name, field in fields.items()),
        *(parameter for parameter in signature.parameters.values() if parameter.name != "options"),
        *(_keyword(name, _option(name, owners), None) for name, owners in declared.items()),
        *([_keyword(_HELP_ALL, HelpAllOption, False)] if declared else []),
    ]
    wrapper.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {option.name: option.annotation for option in options}
    return wrapper


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(field: dataclasses.Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


def choose(name: str, specific: dict[str, Any], ignored: Callable[[str], None], engine: str | None = None) -> Algorithm:
    """Find the algorithm with its own options set; refuse options of others, and tell common ones that it has not."""
    preset = find_preset(name, engine)
    learner_has = {parameter.name for parameter in preset.learner.parameters()}
    engine_has = {parameter.name for parameter in preset.engine.parameters()}
    for key in specific.keys() - learner_has - engine_has:
        if key in COMMON:
            ignored(key)
            continue
        own = ", ".join(option_name(known) for known in sorted(learner_has | engine_has))
        whole = name if engine is None else f"{name} on the engine {engine}"
        raise InputError(f"{option_name(key)} is not an option of {whole}, which has {own}")
    return find_algorithm(
        name,
        {key: value for key, value in specific.items() if key in learner_has},
        {"name": preset.engine.name, **{key: value for key, value in specific.items() if key in engine_has}},
    )


def by_owner(specific: dict[str, Any], engine: str | None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return parameters of learners, of engines with the name of one if it is given, and common ones, all checked."""
    declared = _declared()
    for name, value in specific.items():
        kinds = [parameter.kind for _, parameter in declared[name]]
        checked(name, value, next((kind for kind in kinds if KINDS[kind].accepts(value)), kinds[0]))
    if engine is not None:
        check_engine(engine)
    of_learners = {name for name in specific if any(issubclass(owner, Learner) for owner, _ in declared[name])}
    learner = {name: value for name, value in specific.items() if name in of_learners - COMMON}
    others = {name: value for name, value in specific.items() if name not in of_learners}
    common = {name: value for name, value in specific.items() if name in COMMON}
    return learner, others | ({} if engine is None else {"name": engine}), common


def _declared() -> dict[str, list[tuple[type[Configured], Parameter]]]:
    """Collect all parameters by name, with those that have them."""
    owners = {type(part): None for algorithm in ALGORITHMS.values() for part in (algorithm.learner, algorithm.engine)}
    declared: dict[str, list[tuple[type[Configured], Parameter]]] = {}
    for owner in owners:
        for parameter in owner.parameters():
            declared.setdefault(parameter.name, []).append((owner, parameter))
    return declared


def _option(name: str, owners: list[tuple[type[Configured], Parameter]]) -> Any:
    first = owners[0][1]
    by_help: dict[str, list[str]] = {}
    for owner, parameter in owners:
        by_help.setdefault(parameter.help, []).append(_owner_text(owner, name))
    text = " ".join(f"{said[0].upper()}{said[1:]}. [{', '.join(names)}]" for said, names in by_help.items())
    convert = KINDS[first.kind].convert
    hidden = name not in COMMON
    if convert is bool:
        switch = f"{option_name(name)}/--no-{name.replace('_', '-')}"
        return Annotated[bool | None, typer.Option(switch, help=text, hidden=hidden)]
    words = dict.fromkeys(word for _, parameter in owners for word in KINDS[parameter.kind].words)
    metavar = "|".join(words) if words else {float: "X", int: "N"}[convert]
    return Annotated[convert | None, typer.Option(option_name(name), metavar=metavar, help=text, hidden=hidden)]


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for option in context.command.params:
            option.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        raise typer.Exit


HelpAllOption = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_show_all, help="Show the options of learners and engines too, and exit."
    ),
]


def _owner_text(owner: type[Configured], parameter: str) -> str:
    lost = engines_that_lose(owner, parameter) if issubclass(owner, Learner) else []
    return f"{owner.name}; not on {' and '.join(lost)}" if lost else owner.name
