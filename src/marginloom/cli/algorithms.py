"""The command `marginloom algorithms`."""

from __future__ import annotations

from typing import Annotated

import typer

from marginloom.algorithms import ALGORITHMS, AUTO, Algorithm, find_preset
from marginloom.commands.common import usage_error
from marginloom.commands.tables import plain_table, print_table
from marginloom.common.parameters import option_name, option_text
from marginloom.engines import ENGINES
from marginloom.errors import InputError
from marginloom.learners import Learner
from marginloom.learners.base import NEEDS


def algorithms(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Algorithm to show in full.")] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", help="Show it on another engine that its learner has.")
    ] = None,
) -> None:
    """List the algorithms, or show one: learner, engine, objective, update, parameters, needs, paper."""
    if name is None:
        if engine is not None:
            raise usage_error("--engine shows one algorithm on another engine; name the algorithm, too")
        _list()
        return
    if name == AUTO:
        print(_ABOUT_AUTO)
        return
    try:
        _show(find_preset(name, engine))
    except InputError as error:
        raise usage_error(str(error)) from error


def _list() -> None:
    rows = [(AUTO, "", "", "the default: chooses one of the following by task, size, loss and threads")]
    for item in ALGORITHMS.values():
        rows.append((item.name, item.engine.name, "yes" if item.learner.kind == "dual" else "no", item.summary))
    print_table(plain_table(["algorithm", "engine", "certified", "what it does"], rows))
    print("auto chooses for you. marginloom algorithms NAME shows one; docs/learners.md explains the terms.")


_ABOUT_AUTO = """\
auto: chooses an algorithm by task, size, loss and threads. The rule is fixed, so the same call makes the same
choice; training prints it and the model stores it. With several threads, auto may pick a non-deterministic
algorithm; --reproducible rules those out."""


def _show(algorithm: Algorithm) -> None:
    learner, engine = algorithm.learner, algorithm.engine
    print(f"{algorithm.name}: {algorithm.summary}")
    print(f"learner    {learner.name} ({learner.kind})")
    print(f"engine     {engine.name}")
    print(f"engines    {', '.join(learner.engines)} (that the learner {learner.name} has; --engine chooses one)")
    print(f"honoured   {_honoured(learner)}")
    print(f"objective  {learner.objective}")
    print(f"losses     {', '.join(learner.losses) or 'none'}")
    print(f"update     {learner.update}")
    print(f"needs      {', '.join(NEEDS[need] for need in sorted(learner.all_needs() | engine.needs))}")
    print(f"paper      {'; '.join(filter(None, (learner.paper, engine.paper)))}")
    print("parameters")
    lost = [parameter.name for parameter in engine.loses(learner)]
    for owner in (learner, engine):
        for parameter in owner.parameters():
            here = f"here {getattr(owner, parameter.name)}"
            if owner is learner and parameter.name in lost:
                here += f", but the engine {engine.name} takes {option_text(parameter.name, parameter.neutral)} only"
            print(f"  {option_name(parameter.name):<16} {parameter.help} ({parameter.wanted}; {here})")


def _honoured(learner: Learner) -> str:
    """Tell which of the learner's options each of its engines honours."""
    engines_of: dict[str, list[str]] = {}
    for name in learner.engines:
        lost = ", ".join(option_name(parameter.name) for parameter in ENGINES[name].loses(learner))
        engines_of.setdefault(f"all but {lost}" if lost else "every option", []).append(name)
    return "; ".join(f"{options} by {', '.join(engines)}" for options, engines in engines_of.items())
