"""Pages of the documentation whose code the tests run."""

import re

from support.places import ROOT


def markdown_pages():
    """Return the pages of the repository that people read."""
    return sorted(page for folder in (ROOT, ROOT / "docs", ROOT / "benchmarks") for page in folder.glob("*.md"))


def code_of(name):
    """Return the blocks of Python code of a page, in order."""
    return blocks(ROOT / "docs" / name, "python")


def readme_blocks(language):
    """Return the blocks of the README in a language, in order."""
    return blocks(ROOT / "README.md", language)


def blocks(path, language):
    """Return the blocks of code of a page in a language, in order."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_code(code, names=None):
    """Run code of a page, after what has given names already, and return all names."""
    names = {"__name__": "page"} if names is None else names
    exec(compile(code, "page", "exec"), names)
    return names
