"""The code of docs/custom_tasks.md runs, and does what the page says."""

import numpy as np
from support.pages import code_of, run_code


def test_the_code_of_the_page_learns_to_match(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task, estimator = code_of("custom_tasks.md")
    assert len(task.splitlines()) <= 60
    names = run_code(task)
    assert names["right"] >= 0.9
    assert names["result"].certificate.gap <= 0.001
    weights = names["result"].weights
    assert (weights[:2] < 0).all()
    assert np.abs(weights[2:]).max() < 0.2 * np.abs(weights[:2]).min()
    assert "% of the points, gap" in capsys.readouterr().out
    run_code(estimator, names)
    assert names["best"].evaluate(names["X"][40:], names["Y"][40:])["mean_loss"] < 0.5
    assert capsys.readouterr().out.endswith("True\n")
    assert [path.name for path in tmp_path.iterdir()] == ["matching.safetensors"]
