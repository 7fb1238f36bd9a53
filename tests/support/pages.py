"""Pages of the documentation whose code the tests run."""

import re

from support.places import ROOT


def code_of(name):
    """Return the blocks of Python code of a page, in order."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_code(code, names=None):
    """Run code of a page, after what has given names already, and return all names."""
    names = {"__name__": "page"} if names is None else names
    exec(compile(code, "page", "exec"), names)
    return names
