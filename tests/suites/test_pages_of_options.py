"""The pages on learners and engines say of every option what is declared: defaults, engines, who has what."""

import re

import pytest
from support.places import ROOT

from marginloom.algorithms import ALGORITHMS, engines_of, engines_that_lose
from marginloom.engines import ENGINES
from marginloom.learners import LEARNERS

LEARNER_PAGE, ENGINE_PAGE = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("learners.md", "engines.md")
)
ONLINE = {"perceptron", "mira", "passive-aggressive", "sgd"}
#: Whose parameters the tables of a section are about.
LEARNERS_OF = {
    "Online learners": ONLINE,
    "MIRA": {"mira"},
    "Passive-aggressive": {"passive-aggressive"},
    "SGD": {"sgd"},
    "Dual coordinate descent": {"dcd"},
    "Binary dual coordinate descent": {"binary-dcd"},
    "Newton's method": {"newton"},
    "Cutting planes": {"cpd", "n-slack", "one-slack"},
    "Frank-Wolfe": {"frank-wolfe"},
    "FSMO": {"fsmo"},
}
ENGINES_OF = {
    "Minibatch": {"minibatch"},
    "Mixing": {"mixing", "subsample"},
    "Master-worker": {"master-worker"},
    "Decoupled": {"decoupled"},
    "Shared": {"shared"},
    "Cascade": {"cascade"},
    "Pipelined": {"pipelined"},
}


def rows(page):
    """Yield the section, the first two cells and the rest of every row of a table of parameters."""
    for section in re.split(r"\n#{2,3} ", page)[1:]:
        title, _, text = section.partition("\n")
        for table in re.findall(r"\| parameter \| default \| \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", text):
            for row in table.splitlines():
                names, default, rest = (cell.strip() for cell in row.strip("|").split("|", 2))
                yield title, names, default, rest


def value(text):
    text = text.strip().strip("`")
    if text in ("true", "false"):
        return text == "true"
    return float(text) if re.fullmatch(r"[\d.]+", text) else text


def described(page):
    """Yield section, parameter, default, and values of presets that differ, for every parameter of the tables."""
    for section, names, cell, _ in rows(page):
        usual, _, words = cell.partition("(")
        own = {}
        for presets, given in re.findall(r"((?:`[a-z-]+`(?:, | and )?)+): ([^,;)]+)", words):
            own |= dict.fromkeys(re.findall("`(.*?)`", presets), value(given))
        parameters = re.findall("`(.*?)`", names.partition("(")[0])
        for parameter, default in zip(parameters, usual.split(","), strict=True):
            yield section, parameter, value(default), own


@pytest.mark.parametrize(("section", "parameter", "default", "own"), [*described(LEARNER_PAGE)])
def test_defaults_of_learners(section, parameter, default, own):
    meant = {
        name: preset.learner
        for name, preset in ALGORITHMS.items()
        if preset.learner.name in LEARNERS_OF[section] and hasattr(preset.learner, parameter)
    }
    assert meant.keys() >= own.keys()
    assert {name: getattr(learner, parameter) for name, learner in meant.items()} == {
        **dict.fromkeys(meant, default),
        **own,
    }


@pytest.mark.parametrize(("section", "parameter", "default", "own"), [*described(ENGINE_PAGE)])
def test_defaults_of_engines(section, parameter, default, own):
    engines = {name: ENGINES[name]() for name in ENGINES_OF[section] if hasattr(ENGINES[name](), parameter)}
    presets = {name: preset.engine for name, preset in ALGORITHMS.items() if preset.engine.name in engines}
    assert {**engines, **presets}.keys() >= own.keys()
    for name, engine in {**engines, **presets}.items():
        assert getattr(engine, parameter) == own.get(name, own.get(engine.name, default))


def test_every_parameter_is_described():
    for owners, sections, page in ((LEARNERS, LEARNERS_OF, LEARNER_PAGE), (ENGINES, ENGINES_OF, ENGINE_PAGE)):
        found = {(owner, parameter) for section, parameter, _, _ in described(page) for owner in sections[section]}
        declared = {(owner.name, parameter.name) for owner in owners.values() for parameter in owner.parameters()}
        missing = declared - found
        assert {parameter for _, parameter in missing} <= {"shuffle"}
    assert "Every engine has `shuffle` (default true)" in ENGINE_PAGE
    assert all({parameter.name: parameter.default for parameter in e.parameters()}["shuffle"] for e in ENGINES.values())


def test_engines_that_lose_a_parameter_are_named_with_it():
    tables = [(names, rest) for title, names, _, rest in rows(LEARNER_PAGE) if title == "Dual coordinate descent"]
    assert len(tables) == 7
    for names, rest in tables:
        said = [
            set(re.findall("`(.*?)`", lost)) for lost in re.findall(r"[nN]ot on ((?:`[a-z-]+`(?:, | and )?)+)", rest)
        ]
        assert set().union(*said) == set(engines_that_lose(LEARNERS["dcd"], names.strip("`")))


def test_the_table_of_options_without_effect():
    table = LEARNER_PAGE.split("| option | learners that have it |\n|---|---|\n")[1].split("\n\n")[0]
    duals = {learner.name for learner in LEARNERS.values() if learner.has_dual()}
    having = {
        "all but the perceptron": set(LEARNERS) - {"perceptron"},
        "those with a dual, and SGD": duals | {"sgd"},
        "those with a dual": duals,
    }
    said = {option: having[words] for option, words in re.findall(r"\| `(.*?)` \| (.*) \|", table)}
    assert said == {
        option: {learner.name for learner in LEARNERS.values() if option in learner.common}
        for option in ("C", "loss", "tol", "memory")
    }


def test_passes_at_most():
    words = " ".join(LEARNER_PAGE.split())
    assert "(default 100; `one-slack` and `bcfw` 500; `auto` allows 1,000 for classes where a pass is short)" in words
    assert "`--max-iter` says (default 10)" in words
    for name, preset in ALGORITHMS.items():
        usual = 10 if preset.learner.name in ONLINE else 500 if name in ("one-slack", "bcfw") else 100
        assert preset.learner.default_max_iter == usual


def test_what_engines_drive():
    table = ENGINE_PAGE.split("| engine | drives | threads |")[1].split("\n\n")[0]
    words = {
        "every learner": set(LEARNERS),
        "every online learner": ONLINE,
        "perceptron": {"perceptron"},
        "MIRA": {"mira"},
        "passive-aggressive": {"passive-aggressive"},
        "DCD": {"dcd"},
        "FSMO": {"fsmo"},
        "Frank-Wolfe": {"frank-wolfe"},
        "cutting planes": {"cpd", "n-slack", "one-slack"},
    }
    driven = re.findall(r"^\| `(.*?)` \| (.*?) \|", table, re.MULTILINE)
    assert {engine for engine, _ in driven} == set(ENGINES)
    for engine, text in driven:
        said = set().union(*(words[name] for name in text.partition(", on ")[0].split(", ")))
        assert said == {learner.name for learner in LEARNERS.values() if engine in engines_of(learner)}


def test_losses():
    table = LEARNER_PAGE.split("| learner | hinge | squared hinge | good for |\n|---|---|---|---|\n")[1].split("\n\n")[
        0
    ]
    for presets, hinge, squared, _ in (line.strip("|").split("|") for line in table.splitlines()):
        for preset in re.findall("`(.*?)`", presets):
            losses = ALGORITHMS[preset].learner.losses
            assert ("hinge" in losses, "squared_hinge" in losses) == (" yes" in hinge, " yes" in squared)
            if len(losses) == 2:
                assert ("default" in hinge, "default" in squared) == (
                    losses[0] == "hinge",
                    losses[0] == "squared_hinge",
                )
