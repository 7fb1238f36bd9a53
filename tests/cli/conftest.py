from pathlib import Path

import pytest
from support.program import QUICK_PARSER, TRAINING_SENTENCES, run

from marginloom import make_treebank, write_conllu
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


@pytest.fixture(scope="session")
def treebank(tmp_path_factory):
    """A folder with train, dev and test in both formats, crossing.conllu, and models: model (labelled) and plain."""
    folder = tmp_path_factory.mktemp("parse")
    for name, count, seed in (("train", 60, 0), ("dev", 15, 1), ("test", 15, 2)):
        bank = make_treebank(count, seed=seed)
        write_conllu(folder / f"{name}.conllu", *bank)
        write_conllx(folder / f"{name}.conllx", *bank)
    write_conllu(folder / "crossing.conllu", *make_treebank(30, seed=3, nonprojective=0.4))
    run("train", "parse", folder / "train.conllu", "--model", folder / "model", "--labelled", *QUICK_PARSER)
    run("train", "parse", folder / "train.conllu", "--model", folder / "plain", *QUICK_PARSER)
    return folder


def write_conllx(path, sentences, trees):
    """Write CoNLL-X with something in its last columns."""
    with path.open("w") as file:
        for words, nodes in zip(sentences, trees, strict=True):
            for number, ((form, upos, xpos), (head, label)) in enumerate(zip(words, nodes, strict=True), 1):
                file.write(f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t{head}\t{label}\n")
            file.write("\n")
