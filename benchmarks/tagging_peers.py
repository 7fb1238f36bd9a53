"""Compare a tagger with python-crfsuite on one thread: training time to its accuracy, tagging, memory, and scores.

Both get the same features. Its training time is what its `train` takes; ours is all of `fit`, encoding included.
Every part runs in a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import itertools
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import print_table, required
from indicators import indicators
from peers import Crfsuite

from marginloom import SequenceTagger
from marginloom.features import ExtractedFeatures
from marginloom.io.conll import read_corpus
from marginloom.tasks.sequence.metrics import sequence_scores
from marginloom.tasks.sequence.model import Labelled, train_tagger

Sentences = list[tuple[list[str], list[str]]]


def read(path: Path, column: int) -> Sentences:
    """Return words and labels of the sentences of a file."""
    corpus = read_corpus([required(path)])
    table = corpus.tables[0]
    bounds = corpus.sentences.tolist()
    return [
        ([table.cell(t, 0) for t in range(a, b)], [table.cell(t, column) for t in range(a, b)])
        for a, b in itertools.pairwise(bounds)
    ]


def accuracy(gold: Sentences, predicted: Sequence[Sequence[str]]) -> float:
    return float(sequence_scores([labels for _, labels in gold], predicted)["accuracy"])


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def crfsuite_part(
    train: Path, test: Path, column: int, longest: int, algorithm: str, parameters: dict[str, Any]
) -> list[str]:
    peer = Crfsuite(algorithm, **parameters)
    seconds = peer.fit((indicators(words, longest), labels) for words, labels in read(train, column))
    memory = peak_mb()
    gold = read(test, column)
    start = time.perf_counter()
    predicted = [peer.tag(indicators(words, longest)) for words, _ in gold]
    rate = sum(len(words) for words, _ in gold) / (time.perf_counter() - start)
    name = f"crfsuite {algorithm}"
    return [name, f"{seconds:.2f}", f"{accuracy(gold, predicted):.4f}", f"{memory:.0f}", f"{rate:,.0f}"]


def strings_part(train: Path, test: Path, column: int, options: dict[str, Any]) -> list[str]:
    """Train on the same strings that crfsuite gets."""
    sentences = read(train, column)
    making = time.perf_counter()
    for words, _ in sentences:
        indicators(words)
    making = time.perf_counter() - making  # of the strings, which is not training
    start = time.perf_counter()
    tagger = SequenceTagger(**options).fit(
        (indicators(words) for words, _ in sentences), (labels for _, labels in sentences)
    )
    seconds = time.perf_counter() - start - making
    memory = peak_mb()
    gold = read(test, column)
    start = time.perf_counter()
    predicted = tagger.predict([indicators(words) for words, _ in gold])
    rate = sum(len(words) for words, _ in gold) / (time.perf_counter() - start)
    name = f"{options['algorithm']}, strings, {options['max_iter']} passes"
    return [name, f"{seconds:.2f}", f"{accuracy(gold, predicted):.4f}", f"{memory:.0f}", f"{rate:,.0f}"]


def columns_part(train: Path, test: Path, column: int, features: str, options: dict[str, Any]) -> list[str]:
    """Train on a file with a feature set of ours."""
    corpus = read_corpus([required(train)])
    labelled = Labelled.from_corpus(corpus, column)
    start = time.perf_counter()
    tagger, _ = train_tagger(labelled, ExtractedFeatures(features), **options)
    seconds = time.perf_counter() - start
    memory = peak_mb()
    gold = read(test, column)
    words = [words for words, _ in gold]
    start = time.perf_counter()
    offsets, numbers = tagger.tag(words)
    rate = numbers.size / (time.perf_counter() - start)
    flat, bounds = tagger.labels.decode(numbers).tolist(), offsets.tolist()
    predicted = [flat[a:b] for a, b in itertools.pairwise(bounds)]
    name = f"{options['algorithm']}, {features}, {options['max_iter']} passes"
    return [name, f"{seconds:.2f}", f"{accuracy(gold, predicted):.4f}", f"{memory:.0f}", f"{rate:,.0f}"]


def in_a_process(part: Callable[..., list[str]], *arguments: Any) -> list[str]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(part, arguments)
    print(" | ".join(row), flush=True)
    return row


HEADER = ["learner", "training s", "test accuracy", "peak MB of training", "tokens tagged a second"]


def conll2000(folder: Path) -> list[list[str]]:
    files = (folder / "conll2000_chunking/train.conll.xz", folder / "conll2000_chunking/test.conll.xz", 1)
    rows = [
        in_a_process(strings_part, *files, {"algorithm": "dcd-ssvm", "C": 0.1, "tol": 0.01, "max_iter": passes})
        for passes in (1, 2, 3, 5, 30)
    ]
    rows.append(in_a_process(strings_part, *files, {"algorithm": "averaged-perceptron", "max_iter": 10}))
    options = {"algorithm": "dcd-ssvm", "C": 0.1, "tol": 0.01, "max_iter": 5}
    rows.append(in_a_process(columns_part, *files, "tagging", options))
    rows.append(in_a_process(crfsuite_part, *files, 3, "ap", {"max_iterations": 10}))
    rows.append(in_a_process(crfsuite_part, *files, 3, "lbfgs", {}))
    return rows


def brown(folder: Path) -> list[list[str]]:
    files = (folder / "brown_pos/train.conll.xz", folder / "brown_pos/test.conll.xz", 2)
    rows = [
        in_a_process(
            columns_part, *files, "tagging", {"algorithm": "dcd-ssvm", "C": 0.1, "tol": 0.01, "max_iter": passes}
        )
        for passes in (1, 2, 3, 5)
    ]
    rows.append(in_a_process(crfsuite_part, *files, 4, "ap", {"max_iterations": 10}))
    return rows


def run(folder: Path, name: str) -> None:
    rows = {"conll2000": conll2000, "brown": brown}[name](folder)
    print(f"\n{name}, part of speech, the same features for all\n")
    print_table(HEADER, rows)
