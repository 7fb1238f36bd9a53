"""The command `marginloom algorithms`."""

from __future__ import annotations

import re
import textwrap
from typing import Annotated

import typer

from marginloom.algorithms import ALGORITHMS, AUTO, Algorithm, engines_of, find_preset
from marginloom.commands.common import usage_error
from marginloom.commands.tables import line_width, plain_table, print_table
from marginloom.commands.terms import symbols_in, terms_in
from marginloom.common.parameters import Configured, Parameter, listed, metavar_of, option_name, option_text
from marginloom.engines import ENGINES
from marginloom.errors import InputError
from marginloom.learners.base import NEEDS, Learner


def algorithms(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Algorithm to show in full. Without it, all are listed.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="NAME", help="Show the algorithm on this engine instead of its own."),
    ] = None,
) -> None:
    """List the training algorithms, or show one with its objective, update rule, parameters and paper."""
    if name is None:
        if engine is not None:
            raise usage_error("--engine shows one algorithm on another engine; name the algorithm, too")
        _list()
        return
    if name == AUTO:
        print(_entry("auto: ", _ABOUT_AUTO, 0))
        return
    try:
        _show(find_preset(name, engine))
    except InputError as error:
        raise usage_error(str(error)) from error


def _list() -> None:
    rows = [(AUTO, "", "", "the default: chooses one of the algorithms below")]
    for item in ALGORITHMS.values():
        rows.append((item.name, item.engine.name, "yes" if item.learner.has_dual() else "no", item.summary))
    print_table(plain_table(["algorithm", "engine", "certified", "what it does"], rows))
    print()
    print(
        _entry(
            "", "marginloom algorithms NAME shows one in full; docs/learners.md and docs/engines.md describe all.", 0
        )
    )
    print()
    _print_terms(f"engine certified {' '.join(' '.join(row) for row in rows)}", "")


def _print_terms(text: str, margin: str) -> None:
    """Print what the terms that occur in a text mean."""
    terms = terms_in(text)
    width = max(map(len, terms)) + len(margin) + 2
    for name, meaning in terms.items():
        print(_entry(f"{margin}{name}", meaning, width))


_ABOUT_AUTO = (
    "chooses an algorithm by a fixed rule, from the task, the size of the problem, the loss and the number of threads. "
    "Training prints the choice, and the model stores it. With several threads, auto may choose a non-deterministic "
    "algorithm; --reproducible rules those out."
)


def _show(algorithm: Algorithm) -> None:
    learner, engine = algorithm.learner, algorithm.engine
    print(_entry(f"{algorithm.name}: ", algorithm.summary, 0))
    own = learner.symbols
    heads = {name.partition("_")[0] for name in own}
    usual = symbols_in(f"{learner.objective} {learner.update}")
    symbols = {**{name: usual[name] for name in usual if re.split(r"[_(]", name)[0] not in heads}, **own}
    facts = {
        "learner": f"{learner.name} ({'dual: certified' if learner.has_dual() else 'online: not certified'})",
        "engine": engine.name,
        "engines": _engines(learner),
        "limits": _limits(learner),
        "objective": learner.objective,
        "losses": ", ".join(learner.losses),
        "update": learner.update,
        "symbols": "; ".join(f"{symbol}: {meaning}" for symbol, meaning in symbols.items()),
        "needs": ", ".join(NEEDS[need] for need in sorted(learner.all_needs() | engine.needs)),
        "paper": "; ".join(filter(None, (learner.paper, engine.paper))),
    }
    said = [algorithm.summary]
    for name, text in facts.items():
        if text:
            print(_entry(name, text, 11))
            said += [name, text]
    print("parameters")
    for owner in (learner, engine):
        for parameter in owner.parameters():
            print(f"  {_written(parameter)}")
            print(_entry("", f"{parameter.help} [default: {_default(algorithm, owner, parameter)}]", 6))
            said.append(parameter.help)
    print("terms")
    _print_terms(" ".join(said), "  ")


def _written(parameter: Parameter) -> str:
    """Return how a parameter is given on the command line."""
    option = option_name(parameter.name)
    if parameter.kind.convert is bool:
        return f"{option} / {option_name(f'no_{parameter.name}')}"
    return f"{option} {metavar_of(parameter.kind)}"


def _default(algorithm: Algorithm, owner: Configured, parameter: Parameter) -> str:
    """Return a parameter's value in an algorithm, and what else its engine supports."""
    value = getattr(owner, parameter.name)
    shown = (
        option_text(parameter.name, value)
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else f"{value}"
    )
    if owner is not algorithm.learner or parameter not in algorithm.engine.loses(owner):
        return shown
    only = option_text(parameter.name, parameter.neutral)
    return f"{shown}; the engine {algorithm.engine.name} supports only {only}"


def _entry(name: str, text: str, indent: int) -> str:
    return textwrap.fill(
        f"{name:<{indent}}{text}",
        line_width(),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _engines(learner: Learner) -> str:
    names = engines_of(learner)
    return f"{', '.join(names)} (choose with --engine)" if len(names) > 1 else ""


def _limits(learner: Learner) -> str:
    """Tell which of the learner's options its engines do not support."""
    lost = {name: [option_name(each.name) for each in ENGINES[name].loses(learner)] for name in engines_of(learner)}
    return "; ".join(f"{name} does not support {listed(options, 'or')}" for name, options in lost.items() if options)
