"""Whole numbers of any size, wherever one is asked for: taken, or told to be too large, and never a bug."""

import dataclasses

import numpy as np
import pytest
from fuzz.commands import check_run, run_here
from fuzz.contract import REFUSED, outcome
from fuzz.samples import BY_NAME, PROGRAMS, build_inputs, train_arguments

from marginloom import make_digit_detection, read_libsvm, read_libsvm_sequences
from marginloom.cli import train
from marginloom.cli.evaluate import EVALUATE
from marginloom.cli.predict import PREDICT
from marginloom.errors import InputError

NUMBERS = [5_000_000_000, 2**64, 10**30, -(10**30)]
TASKS = {"tag": "conll", "classify": "classify", "multilabel": "multilabel", "detect": "detect", "parse": "trees"}
ESTIMATORS = ["tag tagging", "tag hashed", "classify numbers", "multilabel tree", "detect", "parse vocabulary"]
#: Parameters that are whole numbers.
COUNTS = {
    "max_iter", "n_threads", "random_state", "memory", "min_count", "hash_bits", "pos_column", "labels_per_slack",
    "stride", "order", "feature_cache",
}  # fmt: skip


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Files for every task, and a model of it."""
    folder = tmp_path_factory.mktemp("samples")
    build_inputs(folder)
    for task, name in TASKS.items():
        assert run_here([*_short(name, folder), "--model", folder / f"{task}.model"])[0] == 0
    return folder


def _short(name, folder):
    arguments = train_arguments(name, folder)
    return arguments[: arguments.index("--save-state")]


def numbered(command):
    """Return the names of options that take whole numbers."""
    return [option.opts[0] for option in command.params if option.metavar in ("N", "K")]


@pytest.mark.parametrize("task", TASKS)
def test_options_of_commands_that_use_a_model(samples, task):
    given = next(word for word in PROGRAMS[TASKS[task]] if word.startswith("dev."))
    for command in (PREDICT, EVALUATE):
        names = numbered(command.for_arguments([str(samples / f"{task}.model"), "-"]))
        assert "--threads" in names
        for name in names:
            for number in NUMBERS:
                code, _, said = run_here([command.name, samples / f"{task}.model", samples / given, name, str(number)])
                assert check_run(code, said) == REFUSED
                assert number < 0 or str(number) in said
    for number in NUMBERS:
        check_run(*run_here(["inspect", samples / f"{task}.model", "--top", str(number)])[::2])


@pytest.mark.parametrize("task", TASKS)
def test_options_of_training(samples, task, tmp_path):
    names = numbered(train._Commands()[task])
    assert {"--max-iter", "--seed", "--threads", "--k-best"} <= set(names)
    for name in names:
        for number in (5_000_000_000, 10**30):
            arguments = [*_short(TASKS[task], samples), "--model", tmp_path / "m", name, str(number)]
            code, _, said = run_here(arguments)
            check_run(code, said)
            assert "No such" not in said


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_of_estimators(name):
    sample = BY_NAME[name]
    for field in dataclasses.fields(sample.make()):
        if field.name in COUNTS:
            for number in NUMBERS:
                estimator = sample.make().set_params(**{field.name: number})
                outcome(lambda estimator=estimator: sample.fit(estimator))


@pytest.mark.parametrize("name", ["tag tagging", "classify numbers", "multilabel tree", "detect", "parse vocabulary"])
@pytest.mark.parametrize("number", NUMBERS)
def test_number_of_best_outputs(name, number):
    sample = BY_NAME[name]
    fitted = sample.fit()
    with pytest.raises(InputError, match=f"k must be a whole number from 1 to 2,147,483,647, not {number}"):
        fitted.predict_k_best(sample.X, number)


@pytest.mark.parametrize("number", NUMBERS)
def test_readers_and_makers_of_data(tmp_path, number):
    path = tmp_path / "x.svm"
    path.write_text("1 qid:1 1:1\n")
    for call in (
        lambda: read_libsvm(path, n_features=number),
        lambda: read_libsvm_sequences(path, n_features=number),
        lambda: make_digit_detection(number, digits=(np.zeros((1, 2, 2)), [0])),
        lambda: make_digit_detection(1, digits=(np.zeros((1, 2, 2)), [0]), side=number),
    ):
        with pytest.raises(InputError, match=f"must be a whole number .*, not {number}"):
            call()


def test_too_many_labellings_for_the_memory_are_told_before_they_are_made(samples):
    code, _, said = run_here(["predict", samples / "tag.model", samples / "dev.conll", "--k-best", str(2**31 - 1)])
    assert code == 1
    assert "labellings" in said
    assert "--k-best" in said
