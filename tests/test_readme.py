"""What the README shows works as it stands there."""

import shlex

from support.pages import readme_blocks, run_code
from support.places import ROOT
from support.program import conllu, run

from marginloom.tasks.sequence.datasets import make_tagging


def test_the_readme_fits_two_screens():
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 80


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = readme_blocks("python")
    names = run_code(code)
    assert names["tagger"].predict_single(["the"]) == ["DET"]


def test_commands_of_the_readme_run(tmp_path):
    for seed, name in enumerate(("train", "dev", "test")):
        (tmp_path / f"{name}.conllu").write_text(conllu(*make_tagging(60, seed=seed)))
    (commands,) = readme_blocks("shell")
    for command in commands.splitlines():
        before, _, after = command.rpartition(" | ")
        program, *arguments = shlex.split(after)
        assert program == "marginloom"
        text = shlex.split(before)[1] + "\n" if before else ""
        assert run(*arguments, cwd=tmp_path, stdin=text.encode()).stdout
