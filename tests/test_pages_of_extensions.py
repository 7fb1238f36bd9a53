"""The pages on adding learners and engines show the code of examples that are built, and names that there are."""

import configparser
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from support.pages import blocks
from support.places import OUTSIDE, ROOT

NATIVE = OUTSIDE / "native"
EXAMPLES = {
    "adding_a_learner.md": ("learners/margin_perceptron.cpp", "extras/margin_perceptron.py"),
    "adding_an_engine.md": ("engines/by_work.cpp", "extras/by_work.py"),
}
PAGES = [*EXAMPLES, "architecture.md"]


@cache
def known_words():
    """Return every word in the sources, the tests and the build files, and every name of a file."""
    folders = [ROOT / name for name in ("cpp", "src", "tests", "benchmarks")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".cpp", ".hpp", ".py", ".pyi"}]
    sources = [path for path in [*files, ROOT / "CMakeLists.txt", ROOT / "Makefile"] if path != Path(__file__)]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    return {path.stem for path in sources}.union(*(re.findall(r"\w+", text) for text in texts))


def unknown_names(page):
    """Return the identifiers and paths in backticks that nothing in the repository has."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)
    codes = re.findall(r"`([^`\n]+)`", prose)
    words = {word for code in codes if re.fullmatch(r"[\w.:]+(\(\))?", code) for word in re.findall(r"\w+", code)}
    identifiers = {word for word in words if re.search(r"_|[a-z][A-Z]|^[A-Z][a-z]", word)}
    paths = {code for code in codes if re.fullmatch(r"[\w./]+/[\w./]*", code)}
    package = ROOT / "src" / "marginloom"
    roots = (ROOT, ROOT / "src", ROOT / "cpp", package, package / "tasks", NATIVE)
    missing = {path for path in paths if not any((root / path).exists() for root in roots)}
    return sorted((identifiers - known_words()) | missing)


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_code_is_that_of_the_examples(page):
    for language, example in zip(("cpp", "python"), EXAMPLES[page], strict=True):
        code = (NATIVE / example).read_text(encoding="utf-8")
        shown = blocks(ROOT / "docs" / page, language)
        assert shown
        assert [block for block in shown if block not in code] == []


def test_the_entry_points_are_those_of_the_examples():
    written = configparser.ConfigParser()
    written.read(NATIVE / "extras-1.0.dist-info" / "entry_points.txt")
    shown = {}
    for page in EXAMPLES:
        (block,) = blocks(ROOT / "docs" / page, "toml")
        shown |= tomllib.loads(block)["project"]["entry-points"]
    assert shown == {group: dict(points) for group, points in written.items() if points}


@pytest.mark.parametrize("page", PAGES)
def test_names_in_backticks_exist(page):
    assert unknown_names((ROOT / "docs" / page).read_text(encoding="utf-8")) == []


def test_names_that_do_not_exist_are_found():
    page = "`DualEngine` `NoEngine` `no_pass()` `cpp/nowhere.hpp` `core/` `marginloom train`\n```\n`InCode`\n```\n"
    assert unknown_names(page) == ["NoEngine", "cpp/nowhere.hpp", "no_pass"]
