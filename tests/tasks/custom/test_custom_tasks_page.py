"""The code of docs/custom_tasks.md runs, and does what the page says."""

import re

import numpy as np
from support.places import ROOT

PAGE = ROOT / "docs" / "custom_tasks.md"


def code_of(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    return blocks[0]


def test_the_code_of_the_page_learns_to_match(capsys):
    code = code_of(PAGE)
    assert len(code.splitlines()) <= 60
    names = {"__name__": "page"}
    exec(compile(code, str(PAGE), "exec"), names)
    assert names["right"] >= 0.9
    assert names["result"].certificate.gap <= 0.001
    weights = names["result"].weights
    assert (weights[:2] < 0).all()
    assert np.abs(weights[2:]).max() < 0.2 * np.abs(weights[:2]).min()
    assert "% of the points, gap" in capsys.readouterr().out
