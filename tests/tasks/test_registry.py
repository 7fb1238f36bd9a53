"""Tasks are found in the registry alone: ours, and those that other distributions register."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.program import run

import marginloom
from marginloom import InputError
from marginloom.io.model import save_model
from marginloom.tasks import registry


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Return a function that puts a distribution with an entry point on the path."""

    def put(name, command, package):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{command} = {package}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return put


def test_every_task_of_ours_has_its_parts_under_the_same_names():
    for task in registry.OWN:
        if task.command is not None:
            for part in ("task", "model", "estimator", "commands", "features", "metrics"):
                assert task.part(part).__doc__
            commands = task.part("commands").COMMANDS
            assert registry.command_of(commands.model_type) == task.command
            assert registry.find_command(task.command) is task


def test_public_names_are_those_of_the_registry():
    for name, home in registry.public_homes().items():
        assert name in marginloom.__all__
        assert getattr(marginloom, name).__module__ == home


def test_type_checkers_see_the_names_of_the_registry():
    source = Path(registry.__file__).read_text()
    seen = {name: home for home, name in re.findall(r"^    from (\S+) import (\S+) as \2$", source, re.MULTILINE)}
    assert seen == registry.public_homes()


def test_task_of_another_distribution_is_found(distribution):
    distribution("pointing-elsewhere", "point-there", "pointing_elsewhere")
    task = registry.find_command("point-there")
    assert (task.package, task.distribution) == ("pointing_elsewhere", "pointing-elsewhere")


def test_nobody_takes_the_place_of_our_own(distribution):
    distribution("usurper", "tag", "usurper")
    assert registry.find_command("tag").package == "marginloom.tasks.sequence"
    assert [task.command for task in registry.all_tasks()].count("tag") == 1


def test_two_distributions_with_one_command_are_both_named(distribution):
    distribution("first", "point-there", "first_package")
    distribution("second", "point-there", "second_package")
    with pytest.raises(InputError, match="by first and second; uninstall all but one"):
        registry.find_command("point-there")


def test_a_distribution_that_is_broken_spoils_nothing_but_itself(distribution, tmp_path):
    distribution("broken", "break", "no_such_package")
    assert "tag " in run("train", "--help").stdout
    said = run("train", "break", tmp_path / "f", "--model", tmp_path / "m", code=1).stderr
    assert "the task 'break' of the distribution 'broken' cannot be loaded" in said
    assert "No module named" in said


def test_model_of_a_task_that_is_not_registered_is_refused_and_nothing_is_imported(tmp_path, monkeypatch):
    (tmp_path / "lurking").mkdir()
    (tmp_path / "lurking" / "__init__.py").write_text("raise SystemExit('the model has run code')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    commands = [["inspect", tmp_path / "m"], ["predict", tmp_path / "m", "-"], ["evaluate", tmp_path / "m", "-"]]
    for name in ("lurking", "marginloom.tasks.sequence", "sequence", "os", "", "../lurking"):
        save_model(tmp_path / "m", name, {}, {"weights": np.zeros(1)})
        for command in commands if name == "lurking" else commands[:1]:
            said = run(*command, code=1).stderr
            assert f"this is a model of the task {name!r}, expected 'tag' or 'parse' or 'classify'" in said


def test_a_task_is_imported_when_it_is_used():
    program = (
        "import sys, marginloom.cli; marginloom.cli.run(['train', 'tag', '--help']);"
        "print([name for name in sys.modules if name.startswith('marginloom.tasks.') and name.endswith('.model')])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "['marginloom.tasks.base.model', 'marginloom.tasks.sequence.model']"
