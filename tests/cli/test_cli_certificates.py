"""Certificates of the command line, recomputed from the model file, after `--save-state` and other `--constraints`."""

import numpy as np
import pytest
from support.changeable import Sequences
from support.oracles import TinyChains
from support.program import last_json, run
from support.recomputed import Enumeration, check_certificate

from marginloom.tasks.sequence.constraints import forbidden_pairs
from marginloom.tasks.sequence.datasets import write_conll
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.training.train import train as train_task

LABELS = ["B-X", "I-X", "O"]
WORDS = [["a", "b", "c"], ["b", "c"], ["c", "a", "b"], ["a", "a"], ["b"], ["c", "b", "a"], ["a", "c"]]
TAGS = [
    ["B-X", "I-X", "O"], ["O", "B-X"], ["B-X", "B-X", "I-X"], ["O", "O"], ["B-X"], ["O", "B-X", "I-X"], ["B-X", "I-X"],
]  # fmt: skip
C = 0.5


class SavedChains(TinyChains):
    """The sentences above, with the features and labels of a model."""

    def __init__(self, tagger, constraints):
        self.features, self.labels, self.start_end = tagger.feature_count, len(LABELS), False
        self.lengths = np.array([len(sentence) for sentence in WORDS])
        self.label_costs = np.ones(self.labels)
        self.forbidden = forbidden_pairs(constraints, LABELS)
        self.X = [np.zeros((length, self.features)) for length in self.lengths]
        names = [tagger.features.describe(k) for k in range(self.features)]
        for x, sentence in zip(self.X, WORDS, strict=True):
            for row, word in zip(x, sentence, strict=True):
                row[names.index(f"word[0]={word}")] = 1
        self.y = [np.array([LABELS.index(tag) for tag in tags]) for tags in TAGS]


def optimum(problem, loss):
    """Return two numbers between which it is, by enumeration."""
    found = Enumeration(problem, np.full(len(WORDS), C), loss)
    solved = train_task(problem.task(), C=C, loss=loss, tol=1e-6, max_iter=2000, keep_state=True)
    between = found.dual(found.point(solved.state.arrays))[0], found.primal(problem.weights(solved.weights))
    assert between[1] - between[0] <= 1e-5 * between[1]
    return found, between


@pytest.mark.parametrize(
    ("algorithm", "loss", "before", "after"),
    [
        ("dcd-ssvm", "squared_hinge", "none", "bio"),
        ("dcd-ssvm", "hinge", "bio", "none"),
        ("bcfw", "hinge", "none", "bio"),
        ("one-slack", "hinge", "none", "bio"),
    ],
)
def test_a_warm_start_into_other_constraints_is_certified_truly(tmp_path, algorithm, loss, before, after):
    write_conll(tmp_path / "train.conll", WORDS, TAGS)

    def train(constraints, *options):
        """Train, and check the certificate in the model file and the one that was said."""
        said = last_json(
            run("train", "tag", tmp_path / "train.conll", "--model", tmp_path / constraints, "--save-state", "--json",
                "--algorithm", algorithm, "--loss", loss, "--C", str(C), "--tol", "1e-6", "--features", "words",
                "--constraints", constraints, *options)
        )  # fmt: skip
        tagger = SequenceModel.load(tmp_path / constraints)
        assert tagger.labels.names == LABELS
        proof = tagger.certificate
        found, between = optimum(Sequences(SavedChains(tagger, constraints)), loss)
        check_certificate(found, between, tagger.weights, proof, tagger.state.arrays, averaged=False)
        assert (said["primal"], said["dual"], said["gap"]) == (proof.primal, proof.dual, proof.gap)

    train(before, "--max-iter", "50")
    train(after, "--max-iter", "1", "--warm-start", tmp_path / before)
