"""Dotted names that begin with marginloom, in pages, docstrings and comments, lead to what they name."""

import dataclasses
import importlib
import inspect
import re

import pytest
from support.places import ROOT

#: Folders and files that are read; benchmarks/RESULTS.md also says what was measured under former names.
PLACES = ["README.md", "CHANGELOG.md", "docs", "src", "cpp", "tests", "benchmarks"]
HISTORY = {ROOT / "benchmarks" / "RESULTS.md"}
ENDS = {".md", ".py", ".pyi", ".hpp", ".cpp"}
CODE = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"(?<![\w./-])marginloom(?:\.[A-Za-z_]\w*)+")


def files():
    for place in PLACES:
        path = ROOT / place
        yield from sorted(path.rglob("*")) if path.is_dir() else [path]


def references():
    """Yield every dotted name between backticks once, with the first place that has it."""
    found = {}
    for path in files():
        if path.suffix not in ENDS or path in HISTORY:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for code in CODE.findall(line):
                for name in NAME.findall(code):
                    found.setdefault(name, f"{path.relative_to(ROOT)}:{number}")
    yield from found.items()


def resolve(name):
    """Import the module that a name begins with, and look up the rest; `AttributeError` if there is no such thing."""
    first, *parts = name.split(".")
    thing = importlib.import_module(first)
    for part in parts:
        if dataclasses.is_dataclass(thing) and part in {field.name for field in dataclasses.fields(thing)}:
            return
        thing = member(thing, part)


def member(owner, part):
    """Return a member of a module or class; `AttributeError` if a module has it from another one only."""
    if not inspect.ismodule(owner):
        return getattr(owner, part)
    if hasattr(owner, part):
        found = getattr(owner, part)
        home = getattr(found, "__module__", None) or ""
        passed_on = hasattr(owner, "__path__") or part in getattr(owner, "__all__", ())
        if home.startswith("marginloom") and home != owner.__name__ and not passed_on:
            raise AttributeError(f"{part} is not of {owner.__name__}, but of {home}")
        return found
    try:
        return importlib.import_module(f"{owner.__name__}.{part}")
    except ModuleNotFoundError:
        raise AttributeError(f"{owner.__name__} has no {part}") from None


def test_a_name_that_is_not_there_is_noticed():
    resolve("marginloom.SequenceTagger.fit")
    resolve("marginloom.training.spec.RunSpec.max_iter")
    for dead in ("marginloom.no_such", "marginloom.training.no_such", "marginloom.training.spec.RunSpec.no_such"):
        with pytest.raises(AttributeError, match="no_such"):
            resolve(dead)
    with pytest.raises(AttributeError, match=r"Result is not of .*train, but of .*result"):
        resolve("marginloom.training.train.Result")


def test_dotted_names_lead_somewhere():
    dead = []
    named = dict(references())
    assert len(named) > 20
    for name, place in named.items():
        try:
            resolve(name)
        except AttributeError as error:
            dead.append(f"{place}: `{name}`: {error}")
    assert not dead, "\n".join(dead)
