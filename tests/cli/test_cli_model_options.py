"""`predict` and `evaluate` have the options of the model's task, however they are written, and those only."""

import pytest
from fuzz.samples import PROGRAMS, build_inputs, train_arguments
from support.program import last_json, refuses, run

from marginloom.cli.evaluate import EVALUATE
from marginloom.cli.predict import PREDICT
from marginloom.commands.task_commands import commands_of
from marginloom.io.model import open_model

TASKS = {"tag": "conllu", "classify": "classify", "multilabel": "multilabel", "detect": "detect", "parse": "conllx"}
DEV = {
    "conllu": "dev.conllu",
    "classify": "dev.svm",
    "multilabel": "dev.sets",
    "detect": "dev.npz",
    "conllx": "dev.conllx",
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A model of every task, and files for it."""
    folder = tmp_path_factory.mktemp("samples")
    build_inputs(folder)
    for task, name in TASKS.items():
        assert PROGRAMS[name][0] == task
        arguments = train_arguments(name, folder)
        run(*arguments[: arguments.index("--save-state")], "--model", folder / task)
    return folder


def options_of(command):
    return [option for option in command.params if option.param_type_name == "option"]


@pytest.mark.parametrize("command", [PREDICT, EVALUATE], ids=lambda command: command.name)
@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_a_task_leaves_the_command_that_of_the_task(samples, task, command):
    own = options_of(command._command([commands_of(open_model(str(samples / task)))], None))
    names = {name for option in own for name in (*option.opts, *option.secondary_opts)}
    assert "--threads" in names
    for option in own:
        for name in (*option.opts, *option.secondary_opts):
            given = [name] if option.is_flag else [name, "x"]
            forms = [given, [f"{name}=x"]] if not option.is_flag and name.startswith("--") else [given]
            for form in forms:
                for arguments in ([*form, str(samples / task), "-"], [str(samples / task), "-", *form]):
                    found = options_of(command.for_arguments(arguments))
                    assert {word for other in found for word in (*other.opts, *other.secondary_opts)} == names


def test_model_is_the_first_argument_even_where_an_option_names_another_one(samples, tmp_path):
    found = PREDICT.for_arguments(["-o", str(samples / "tag"), str(samples / "detect"), "x"])
    assert "--draw" in {name for option in options_of(found) for name in option.opts}
    assert "--format" not in {name for option in options_of(found) for name in option.opts}


def test_formats_of_parsers_can_be_named_in_every_command(samples):
    given = samples / "dev.conllx"
    for format in (["--format", "conllx"], ["--format=conllx"]):
        whole = run("predict", samples / "parse", given, *format).stdout
        assert whole.count("\n") == given.read_text().count("\n")
        assert run("predict", *format, samples / "parse", "-", stdin=given.read_bytes()).stdout == whole
        assert last_json(run("evaluate", samples / "parse", given, *format, "--json"))["sentences"] == 10
    assert "there is no format 'conll'" in refuses("evaluate", samples / "parse", given, "--format", "conll")
    assert "there is no format 'conllx'" in refuses("evaluate", samples / "tag", given, "--format", "conllx")


@pytest.mark.parametrize("task", TASKS)
def test_options_of_other_tasks_are_refused_by_name(samples, task):
    given = samples / DEV.get(TASKS[task], "dev.conllx")
    if task != "detect":
        said = refuses("predict", samples / task, given, "--draw", "x")
        assert f"--draw cannot be given: the task '{task}' of this model does not have it" in said
    if task != "tag":
        said = refuses("evaluate", samples / task, given, "--strict", "bio")
        assert f"--strict cannot be given: the task '{task}' of this model does not have it" in said
    assert "No such option: --nonsense" in refuses("predict", samples / task, given, "--nonsense")
