"""The command `marginloom algorithms`."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from marginloom.algorithms import ALGORITHMS, AUTO, Algorithm, engines_of, find_preset
from marginloom.commands.common import usage_error
from marginloom.commands.tables import line_width, plain_table, print_table
from marginloom.common.parameters import listed, option_name, option_text
from marginloom.engines import ENGINES
from marginloom.errors import InputError
from marginloom.learners.base import NEEDS, Learner


def algorithms(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Algorithm to show in full.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", metavar="NAME", help="Show it on another engine.")] = None,
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
    rows = [(AUTO, "", "", "the default: chooses one of those below for you")]
    for item in ALGORITHMS.values():
        rows.append((item.name, item.engine.name, "yes" if item.learner.has_dual() else "no", item.summary))
    print_table(plain_table(["algorithm", "engine", "certified", "what it does"], rows))
    print("\nmarginloom algorithms NAME shows one in full; docs/learners.md and docs/engines.md describe all.\n")
    for name, text in _LEGEND.items():
        print(_entry(name, text, 13))


_LEGEND = {
    "engine": "how threads share the work; serial is one thread (label-dcd is an exception and uses all)",
    "certified": "whether training ends with a proven bound on its distance from the optimum",
    "inference": "finding the best output for an example with the current weights; also: search",
    "candidate": "a wrong output that a search found",
    "working set": "the candidates that are stored, to be used again in later updates",
    "margin": "how far the score of the gold output must be above that of a candidate",
    "shard": "a part of the training examples",
}
_ABOUT_AUTO = (
    "chooses an algorithm by task, size, loss and threads. The rule is fixed, so the same call makes the same choice; "
    "training prints it and the model stores it. With several threads, auto may pick a non-deterministic algorithm; "
    "--reproducible rules those out."
)


def _show(algorithm: Algorithm) -> None:
    learner, engine = algorithm.learner, algorithm.engine
    print(_entry(f"{algorithm.name}: ", algorithm.summary, 0))
    facts = {
        "learner": f"{learner.name} ({'dual' if learner.has_dual() else 'online'})",
        "engine": engine.name,
        "engines": f"{', '.join(engines_of(learner))} (choose with --engine)",
        "exceptions": _exceptions(learner),
        "objective": learner.objective,
        "losses": ", ".join(learner.losses) or "none",
        "update": learner.update,
        "needs": ", ".join(NEEDS[need] for need in sorted(learner.all_needs() | engine.needs)),
        "paper": "; ".join(filter(None, (learner.paper, engine.paper))),
    }
    for name, text in facts.items():
        if text:
            print(_entry(name, text, 11))
    print("parameters")
    lost = [parameter.name for parameter in engine.loses(learner)]
    for owner in (learner, engine):
        for parameter in owner.parameters():
            here = f"default {getattr(owner, parameter.name)}"
            if owner is learner and parameter.name in lost:
                only = option_text(parameter.name, parameter.neutral)
                here += f"; the engine {engine.name} supports only {only}"
            print(_entry(f"  {option_name(parameter.name)}", f"{parameter.help} ({parameter.wanted}; {here})", 22))


def _entry(name: str, text: str, indent: int) -> str:
    return textwrap.fill(
        f"{name:<{indent}}{text}",
        line_width(),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _exceptions(learner: Learner) -> str:
    """Tell which of the learner's options its engines do not support."""
    lost = {name: [option_name(each.name) for each in ENGINES[name].loses(learner)] for name in engines_of(learner)}
    return "; ".join(f"{name} does not support {listed(options)}" for name, options in lost.items() if options)
