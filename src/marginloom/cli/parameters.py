"""Options of learners and engines, made from the parameters that they declare."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from marginloom.algorithms import ALGORITHMS, Algorithm, find_algorithm
from marginloom.errors import InputError
from marginloom.parameters import KINDS, Configured, Parameter

#: Parameters that are common options: ignored with a word, not refused, where an algorithm has none of that name.
COMMON = frozenset({"k_best"})


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter.

    Examples
    --------
    >>> option_name("inner_passes")
    '--inner-passes'
    """
    return f"--{parameter.replace('_', '-')}"


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every parameter of every learner and engine; it gets them as `specific`."""
    declared = _declared()

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name not in declared}, specific=_given(given))

    def _given(given: dict[str, Any]) -> dict[str, Any]:
        return {name: given[name] for name in declared if given[name] is not None}

    signature = inspect.signature(command, eval_str=True)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "specific"]
    options = {name: _option(name, owners) for name, owners in declared.items()}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    wrapper.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *added)}
    return wrapper


def choose(name: str, specific: dict[str, Any], ignored: Callable[[str], None], engine: str | None = None) -> Algorithm:
    """Find the algorithm with its own options set; refuse options of others, and tell common ones that it has not."""
    preset = find_algorithm(name, engine=engine)
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
        by_help.setdefault(parameter.help, []).append(owner.name)
    text = " ".join(f"{said[0].upper()}{said[1:]}. [{', '.join(names)}]" for said, names in by_help.items())
    convert = KINDS[first.kind].convert
    if convert is bool:
        switch = f"{option_name(name)}/--no-{name.replace('_', '-')}"
        return Annotated[bool | None, typer.Option(switch, help=text)]
    metavar = {float: "X", int: "N"}.get(convert, "WORD")
    return Annotated[convert | None, typer.Option(option_name(name), metavar=metavar, help=text)]
