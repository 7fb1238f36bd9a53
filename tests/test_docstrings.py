"""Every example in a docstring gives what it says."""

import doctest
import importlib
from pathlib import Path

import pytest

import marginloom

FOLDER = Path(marginloom.__file__).parent


def modules_with_examples():
    for path in sorted(FOLDER.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(FOLDER.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = list(modules_with_examples())


def test_there_are_examples():
    assert len(MODULES) > 80


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).attempted > 0
    assert not said, "".join(said)
