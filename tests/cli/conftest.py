from pathlib import Path

import pytest
from support.program import TRAINING_SENTENCES, run

from marginloom.tasks.sequence.datasets import make_tagging, write_conll


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A folder with train.conll, dev.conll and test.conll."""
    folder = tmp_path_factory.mktemp("corpus")
    write_conll(folder / "train.conll", *make_tagging(TRAINING_SENTENCES, seed=0))
    write_conll(folder / "dev.conll", *make_tagging(40, seed=1))
    write_conll(folder / "test.conll", *make_tagging(40, seed=2))
    return folder


@pytest.fixture(scope="session")
def model(corpus) -> Path:
    """A model with its state, trained on the corpus."""
    path = corpus / "model.safetensors"
    run("train", "tag", corpus / "train.conll", "--model", path, "--save-state", "--tol", "0.05", "--features", "words")
    return path
