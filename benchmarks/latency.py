"""Measure how long one prediction takes: one sentence or one row at a time, from Python objects to labels.

Sentences of 20 to 25 words. Ours and the peer take turns, a batch of calls each; a figure is the lowest median of a
batch, which a busy machine disturbs least. Every call of a batch gets another input, so weights are not in the nearest
caches, as they would be not between the sentences of a user. One thread.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.command import add_data
from harness.data_sets import QUICK_SEQUENCES
from harness.files import data_folder, required
from harness.indicators import indicators
from harness.label_sets import read_labels
from harness.peers import LINEAR_SVC, Crfsuite, crfsuite_is_missing, peer_of
from harness.sequences import Sequences, read_conll
from harness.tables import machine, print_table

from marginloom import (
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    read_conllu,
    read_libsvm,
)

PASSES, K = 5, 3
WORDS = range(20, 26)
CRFSUITE = "python-crfsuite"
Call = Callable[[Any], object]


@dataclass(frozen=True)
class Prediction:
    """Something that is predicted, one input at a time, and by whom else."""

    name: str
    ours: Call
    inputs: Sequence[Any]
    peer: tuple[str, Call] | None = None


def main() -> None:
    arguments = parsed()
    print(machine())
    missing = crfsuite_is_missing()
    if missing:
        print(missing)
    folder = data_folder(arguments.data)
    count = QUICK_SEQUENCES if arguments.quick else None
    makers = (lambda: taggers(folder, count, not missing), lambda: parsers(folder, count), lambda: classifiers(folder))
    rows = [row(prediction, arguments) for maker in makers for prediction in maker()]
    title = f"One prediction, lowest median of {arguments.batches} batches of {arguments.calls} calls"
    print_table(title, ["predicted", "microseconds", "peer", "microseconds", "peer / marginloom"], rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--quick", action="store_true", help="train on a sample of the data, to try it")
    parser.add_argument("--batches", type=int, default=20, help="batches of calls (default 20)")
    parser.add_argument("--calls", type=int, default=200, help="calls in a batch (default 200)")
    return parser.parse_args()


def taggers(folder: Path, count: int | None, with_crfsuite: bool) -> Iterator[Prediction]:
    """Parts of speech of CoNLL-2000, from words and from the same features as ready strings."""
    train, test = (
        read_conll(folder / "conll2000_chunking" / f"{part}.conll.xz", (0,), 1) for part in ("train", "test")
    )
    train = train.some(count)
    made = Sequences([indicators(words) for words in train.X], train.y)
    by_words, by_strings = (
        SequenceTagger("averaged-perceptron", features=features, max_iter=PASSES).fit(part.X, part.y)
        for features, part in (("tagging", train), (None, made))
    )
    from_words = from_strings = None
    if with_crfsuite:
        peer = Crfsuite("ap", max_iterations=PASSES)
        peer.fit(zip(made.X, made.y, strict=True))
        from_words = (CRFSUITE, lambda words: peer.tag(indicators(words)))
        from_strings = (CRFSUITE, peer.tag)
    words = [words for words in test.X if len(words) in WORDS]
    strings = [indicators(sentence) for sentence in words]
    yield Prediction("tags of words", lambda one: by_words.predict([one]), words, from_words)
    yield Prediction("tags of ready strings", lambda one: by_strings.predict([one]), strings, from_strings)
    yield Prediction(f"tags of words, {K} best", lambda one: by_words.predict_k_best([one], K), words)


def parsers(folder: Path, count: int | None) -> Iterator[Prediction]:
    """Trees of first order of the English Web Treebank."""
    X, y = read_conllu(required(folder / "ud_english_ewt" / "train.conllu.xz"))
    given = [[word[:2] for word in sentence] for sentence in X[:count]]
    sentences, _ = read_conllu(required(folder / "ud_english_ewt" / "test.conllu.xz"))
    inputs = [[word[:2] for word in sentence] for sentence in sentences if len(sentence) in WORDS]
    heads = [[head for head, _ in tree] for tree in y[:count]]
    for name, trees in (("tree", heads), ("tree with labels", y[:count])):
        labelled = trees is not heads
        parser = DependencyParser("averaged-perceptron", labelled=labelled, max_iter=PASSES).fit(given, trees)
        yield Prediction(name, lambda one, parser=parser: parser.predict([one]), inputs)
        if not labelled:
            yield Prediction(f"{name}, {K} best", lambda one, parser=parser: parser.predict_k_best([one], K), inputs)


def classifiers(folder: Path) -> Iterator[Prediction]:
    """Classes of letter, 16 features, and labels of ml_scene, 294 features; rows are dense."""
    from sklearn.svm import LinearSVC

    X, y = read_libsvm(required(folder / "letter" / "train.svm.xz"))
    X = X.toarray()
    classes = MulticlassClassifier(max_iter=PASSES, tol=1.0).fit(X, y)
    data = read_labels(folder, "ml_scene", None)
    dense = data.X.toarray()
    labels = MultilabelClassifier(max_iter=PASSES, tol=1.0).fit(dense, data.Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that are too few, which latency does not depend on
        svm = LinearSVC(max_iter=PASSES).fit(X, y)
        svms = peer_of(1.0, "squared_hinge", 1).fit(dense, data.Y)
    rows, others = ([part[i : i + 1] for i in range(500)] for part in (X, dense))
    yield Prediction("class of a row", classes.predict, rows, (LINEAR_SVC, svm.predict))
    best = Prediction(f"class of a row, {K} best", lambda one: classes.predict_k_best(one, K), rows)
    yield best
    yield Prediction("labels of a row", labels.predict, others, (f"{LINEAR_SVC} per label", svms.predict))
    yield Prediction(f"labels of a row, {K} best", lambda one: labels.predict_k_best(one, K), others)


def row(prediction: Prediction, arguments: argparse.Namespace) -> list[str]:
    """Measure a prediction and its peer in alternation, and return a row of the table."""
    name, peer = prediction.peer or ("-", None)
    calls = [prediction.ours] if peer is None else [prediction.ours, peer]
    inputs = [itertools.cycle(prediction.inputs) for _ in calls]
    batches = [
        [batch(*one, arguments.calls) for one in zip(calls, inputs, strict=True)] for _ in range(arguments.batches)
    ]
    found = [min(medians) for medians in zip(*batches, strict=True)]
    ratio = f"{found[1] / found[0]:.1f}" if peer else "-"
    return [prediction.name, f"{found[0]:.1f}", name, f"{found[1]:.1f}" if peer else "-", ratio]


def batch(call: Call, inputs: Iterator[Any], count: int) -> float:
    """Return the median microseconds of calls."""
    times = []
    for given in itertools.islice(inputs, count):
        start = time.perf_counter_ns()
        call(given)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


if __name__ == "__main__":
    main()
