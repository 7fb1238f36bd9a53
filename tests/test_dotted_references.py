"""Modules and attributes of marginloom that pages and docstrings name in backticks exist."""

import importlib
import re
from dataclasses import fields, is_dataclass

import pytest
from support.pages import markdown_pages
from support.places import ROOT

REFERENCE = re.compile(r"`~?(marginloom(?:\.\w+)+)")


def references(paths):
    """Return every dotted name in backticks, with the files that have it."""
    found = {}
    for path in paths:
        for name in REFERENCE.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def resolves(name):
    """Tell whether a dotted name is a module, or an attribute or field of something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return all_found(found, parts[length:])
    return False


def all_found(owner, names):
    for name in names:
        if is_dataclass(owner) and name in {field.name for field in fields(owner)}:
            return name == names[-1]
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True


SOURCES = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize(("name", "files"), [*references([*markdown_pages(), *SOURCES]).items()])
def test_dotted_names_resolve(name, files):
    assert resolves(name), f"{name} does not exist; it is named in {', '.join(sorted(files))}"


def test_names_that_do_not_exist_are_found():
    assert resolves("marginloom.Result.weights_iteration")
    assert resolves("marginloom.training.objective.primal")
    for dead in ("training.no_module", "training.run.nothing", "Result.weight", "Result.weights_iteration.name"):
        assert not resolves(f"marginloom.{dead}")
