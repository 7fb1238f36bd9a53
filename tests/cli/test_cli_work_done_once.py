"""What a run has done once it does not do again, and what it needs no more it lets go."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import marginloom
from marginloom.cli import run
from marginloom.io.conll import ColumnCorpus
from marginloom.tasks.base import model as models
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.training import options


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    path = tmp_path / "train.conll"
    path.write_text("the DET\ndog NOUN\nbarks VERB\n\na DET\ncat NOUN\n\n" * 20)
    return path


@contextmanager
def opened(path: Path) -> Iterator[list[str]]:
    """Note how often a file is opened."""
    names: list[str] = []
    watching = [True]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and arguments[0] == str(path):
            names.append(event)

    sys.addaudithook(hook)
    yield names
    watching.clear()


def trained(columns: Path, *more: str) -> Path:
    model = columns.with_name("model.safetensors")
    arguments = ["train", "tag", str(columns), "--model", str(model), "--algorithm", "perceptron", "--quiet", *more]
    assert run(arguments) == 0
    return model


def test_the_text_of_the_files_is_not_held_while_training(columns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    train_as = models.train_as

    def spy(task: Any, spec: Any) -> Any:
        gc.collect()
        held.append([one for one in gc.get_objects() if isinstance(one, ColumnCorpus)])
        return train_as(task, spec)

    monkeypatch.setattr(models, "train_as", spy)
    trained(columns, "--dev", str(columns))
    assert held == [[]]


def test_every_set_is_encoded_once(columns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []
    evaluator = SequenceModel.evaluator

    def spy(self: SequenceModel, *given: Any, **named: Any) -> Any:
        encoded.append(given[0])
        return evaluator(self, *given, **named)

    monkeypatch.setattr(SequenceModel, "evaluator", spy)
    trained(columns, "--dev", str(columns), "--test", str(columns))
    assert len(encoded) == 2


def test_a_run_is_checked_once(columns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    find_algorithm = options.find_algorithm
    monkeypatch.setattr(options, "find_algorithm", lambda *given: found.append(given) or find_algorithm(*given))
    trained(columns)
    assert len(found) == 1


def test_a_model_is_opened_once(columns: Path) -> None:
    model = trained(columns)
    with opened(model) as times:
        assert run(["predict", str(model), str(columns), "-o", str(columns.with_name("out.conll"))]) == 0
    assert len(times) == 1
    with opened(model) as times:
        marginloom.load(model)
    assert len(times) == 1
