"""The code of docs/custom_tasks.md runs, and does what the page says."""

import re

import numpy as np
from support.places import ROOT

PAGE = ROOT / "docs" / "custom_tasks.md"


def code_of(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    return blocks


def test_the_code_of_the_page_learns_to_match(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task, estimator = code_of(PAGE)
    assert len(task.splitlines()) <= 60
    names = {"__name__": "page"}
    exec(compile(task, str(PAGE), "exec"), names)
    assert names["right"] >= 0.9
    assert names["result"].certificate.gap <= 0.001
    weights = names["result"].weights
    assert (weights[:2] < 0).all()
    assert np.abs(weights[2:]).max() < 0.2 * np.abs(weights[:2]).min()
    assert "% of the points, gap" in capsys.readouterr().out
    exec(compile(estimator, str(PAGE), "exec"), names)
    assert names["best"].evaluate(names["X"][40:], names["Y"][40:])["mean_loss"] < 0.5
    assert capsys.readouterr().out.endswith("True\n")
    assert [path.name for path in tmp_path.iterdir()] == ["matching.safetensors"]
