"""How far can probabilities be relied on? Ours after calibration beside CRFsuite's marginals and scikit-learn's.

For every data set: the mean negative log-likelihood of the gold labels, the expected calibration error of the
predictions in 15 bins, the accuracy of the 80 % of predictions with the most confidence, and the throughput of
predictions with confidence beside that of predictions alone. Ours is calibrated on the development part, or on the last
tenth of training, which it is then not trained on. Taggers get the same features as CRFsuite. With --out DIR,
reliability diagrams are drawn there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness.indicators import indicators
from harness.label_sets import read_labels
from harness.peers import crfsuite_is_missing
from harness.tables import machine, print_table

from marginloom import (
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    read_conll,
    read_conllu,
    read_libsvm,
)
from marginloom.tasks.base.reliability import expected_calibration_error, reliability

COVERAGE = 0.8
Sentences = tuple[list[Any], list[Any]]


class Found(NamedTuple):
    """What a model says of the decisions of a test part, and how long that takes."""

    model: str
    gold: np.ndarray  # the probability of the gold choice
    confidence: np.ndarray  # that of the predicted one
    right: np.ndarray
    seconds: float  # of predictions with confidence
    alone: float | None = None  # of predictions

    def row(self, data: str) -> list[str]:
        """Return its line of the table."""
        loss = -float(np.log(np.maximum(self.gold, 1e-300)).mean())
        error = expected_calibration_error(np.clip(self.confidence, 0, 1), self.right)
        kept = np.argsort(-self.confidence, kind="stable")[: round(COVERAGE * self.confidence.size)]
        rate = self.right.size / self.seconds
        alone = "-" if self.alone is None else f"{self.right.size / self.alone:,.0f}"
        accuracy = f"{self.right.mean():.4f}"
        return [data, self.model, f"{loss:.4f}", f"{error:.4f}", accuracy, f"{self.right[kept].mean():.4f}",
                f"{rate:,.0f}", alone]  # fmt: skip


def timed(call: Callable[[], Any], clock: Callable[[], float]) -> tuple[Any, float]:
    """Return what a call returns, and its seconds."""
    start = clock()
    found = call()
    return found, clock() - start


def found_of(
    model: str,
    tables: Sequence[np.ndarray],
    names: Sequence[Any],
    gold: Sequence[Any],
    seconds: float,
    alone: float | None = None,
) -> Found:
    """Judge tables of probabilities, a row for each decision, by the gold names."""
    rows = np.concatenate(tables)
    places = {name: place for place, name in enumerate(names)}
    numbers = np.array([places.get(name, -1) for name in gold])
    known = np.where(numbers < 0, 0.0, rows[np.arange(len(rows)), numbers])
    return Found(model, known, rows.max(axis=1), rows.argmax(axis=1) == numbers, seconds, alone)


def flat(sequences: Sequence[Sequence[Any]]) -> list[Any]:
    return [item for sequence in sequences for item in sequence]


def tagging(train: Sentences, dev: Sentences, test: Sentences, clock: Any, passes: int) -> Iterator[Found]:
    """Compare taggers; words are turned into the same strings for both."""
    parts = [[indicators(words) for words in part[0]] for part in (train, dev, test)]
    tagger = SequenceTagger("dcd-ssvm", max_iter=100, C=0.1, n_threads=1).fit(parts[0], train[1])
    tagger.calibrate(parts[1], dev[1])
    _, alone = timed(lambda: tagger.predict(parts[2]), clock)
    tables, seconds = timed(lambda: tagger.predict_proba(parts[2]), clock)
    labels = tagger.predict(parts[2])
    ours = found_of("marginloom", tables, tagger.classes_, flat(test[1]), seconds, alone)
    rows, names = np.concatenate(tables), list(tagger.classes_)
    best = np.array([names.index(label) for label in flat(labels)])
    right = np.array(flat(labels), dtype=object) == np.array(flat(test[1]), dtype=object)
    yield ours._replace(confidence=rows[np.arange(len(best)), best], right=right)
    if crfsuite_is_missing():
        return
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"max_iterations": passes}, verbose=False)
    for items, own in zip((*parts[0], *parts[1]), (*train[1], *dev[1]), strict=True):
        trainer.append(items, own)
    path = Path("build/confidence.crfsuite")
    path.parent.mkdir(exist_ok=True)
    trainer.train(str(path))
    peer = pycrfsuite.Tagger()
    peer.open(str(path))
    _, alone = timed(lambda: [peer.tag(items) for items in parts[2]], clock)

    def marginals() -> list[np.ndarray]:
        names, found = peer.labels(), []
        for items in parts[2]:
            peer.set(items)
            found.append(np.array([[peer.marginal(name, t) for name in names] for t in range(len(items))]))
        return found

    tables, seconds = timed(marginals, clock)
    yield found_of("CRFsuite lbfgs", tables, peer.labels(), flat(test[1]), seconds, alone)


def trees(train: Sentences, dev: Sentences, test: Sentences, clock: Any) -> Iterator[Found]:
    """Judge the heads of all words, and labels with them."""
    options = {"labelled": True, "label_stage": "arc", "features": "arcs", "xpos": False}
    parser = DependencyParser("dcd-ssvm", **options, max_iter=5, n_threads=1).fit(*train).calibrate(*dev)
    best, alone = timed(lambda: parser.predict(test[0]), clock)
    dicts, seconds = timed(lambda: parser.predict_proba(test[0]), clock)
    names = {name: place for place, name in enumerate(parser.classes_)}

    def of(tables: Any, arcs: Any) -> np.ndarray:
        return np.array(
            [
                table[m, head, names[label]] if label in names else 0.0
                for table, own in zip(tables, arcs, strict=True)
                for m, (head, label) in enumerate(own)
            ]
        )

    right = np.array([a == b for own, gold in zip(best, test[1], strict=True) for a, b in zip(own, gold, strict=True)])
    yield Found("marginloom", of(dicts, test[1]), of(dicts, best), right, seconds, alone)


def classes(folder: Path, clock: Any) -> Iterator[Found]:
    """Compare classifiers on letter."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    X, y = read_libsvm(folder / "letter/train.svm.xz")
    X_test, y_test = read_libsvm(folder / "letter/test.svm.xz", n_features=X.shape[1])
    X, X_test = X.toarray(), X_test.toarray()
    cut = int(0.9 * len(y))
    classifier = MulticlassClassifier("dcd-ssvm", C=1.0, n_threads=1).fit(X[:cut], y[:cut]).calibrate(X[cut:], y[cut:])
    _, alone = timed(lambda: classifier.predict(X_test), clock)
    P, seconds = timed(lambda: classifier.predict_proba(X_test), clock)
    yield found_of("marginloom", [P], list(classifier.classes_), list(y_test), seconds, alone)
    peers = {
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "CalibratedClassifierCV(LinearSVC)": CalibratedClassifierCV(LinearSVC(), cv=3),
    }
    for name, peer in peers.items():
        peer.fit(X, y)
        _, alone = timed(lambda peer=peer: peer.predict(X_test), clock)
        P, seconds = timed(lambda peer=peer: peer.predict_proba(X_test), clock)
        yield found_of(name, [P], list(peer.classes_), list(y_test), seconds, alone)


def label_sets(folder: Path, clock: Any) -> Iterator[Found]:
    """Compare decisions on labels on ml_scene."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    data = read_labels(folder, "ml_scene", None)
    order = np.random.default_rng(0).permutation(data.Y.shape[0])  # the file is in the order of the labels
    fit, rest = np.split(order, [int(0.8 * order.size)])
    ours = MultilabelClassifier(n_threads=1).fit(data.X[fit], data.Y[fit]).calibrate(data.X[rest], data.Y[rest])
    for name, model in (
        ("marginloom", ours),
        ("OneVsRest(LogisticRegression)", OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(data.X, data.Y)),
    ):
        _, alone = timed(lambda model=model: model.predict(data.X_test), clock)
        P, seconds = timed(lambda model=model: model.predict_proba(data.X_test), clock)
        gold = data.Y_test.astype(bool)
        likely, right = np.where(gold, P, 1 - P).ravel(), ((P > 0.5) == gold).ravel()
        yield Found(name, likely, np.maximum(P, 1 - P).ravel(), right, seconds, alone)


def parts_of(folder: Path, read: Callable[[Path], Sentences], ending: str, count: int | None) -> list[Sentences]:
    """Read the training, development and test part; without a development part, it is the last tenth of training."""
    train, test = (read(folder / f"{part}{ending}") for part in ("train", "test"))
    train, test = ((X[:count], y[:count]) for X, y in (train, test))
    path = folder / f"dev{ending}"
    if path.exists():
        X, y = read(path)
        return [train, (X[:count], y[:count]), test]
    cut = int(0.9 * len(train[0]))
    return [(train[0][:cut], train[1][:cut]), (train[0][cut:], train[1][cut:]), test]


def tags_of(path: Path) -> Sentences:
    X, _ = read_conllu(path)
    return [[form for form, *_ in words] for words in X], [[upos for _, upos, *_ in words] for words in X]


SETS: dict[str, Callable[[Path, Any, int | None, int], Iterator[Found]]] = {
    "conll2000 tags": lambda data, clock, count, passes: tagging(
        *parts_of(data / "conll2000_chunking", lambda path: read_conll(path, column=2), ".conll.xz", count),
        clock,
        passes,
    ),
    "conll2003_en entities": lambda data, clock, count, passes: tagging(
        *parts_of(data / "conll2003_en", read_conll, ".conll.xz", count), clock, passes
    ),
    "ud_english_ewt tags": lambda data, clock, count, passes: tagging(
        *parts_of(data / "ud_english_ewt", tags_of, ".conllu.xz", count), clock, passes
    ),
    "ud_english_ewt arcs": lambda data, clock, count, passes: trees(
        *parts_of(data / "ud_english_ewt", read_conllu, ".conllu.xz", count), clock
    ),
    "letter": lambda data, clock, count, passes: classes(data, clock),
    "ml_scene": lambda data, clock, count, passes: label_sets(data, clock),
}


def draw(folder: Path, data: str, results: Sequence[Found]) -> Path:
    """Draw accuracy against confidence, in 15 bins."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4, 4))
    axes.plot([0, 1], [0, 1], color="gray", linewidth=1)
    for found in results:
        bins = [row for row in reliability(np.clip(found.confidence, 0, 1), found.right) if row.count]
        axes.plot([row.confidence for row in bins], [row.accuracy for row in bins], marker="o", label=found.model)
    axes.set(xlabel="confidence", ylabel="accuracy", title=data)
    axes.legend()
    path = folder / f"{data.replace(' ', '-')}.png"
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument("--set", choices=SETS, action="append", help="only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="300 sentences of each part, to try it")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds of throughput")
    parser.add_argument("--passes", type=int, default=50, help="iterations of CRFsuite's L-BFGS (default 50)")
    parser.add_argument("--out", type=Path, help="folder for reliability diagrams")
    given = parser.parse_args()
    clock = time.process_time if given.clock == "cpu" else time.perf_counter
    print(machine(), flush=True)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in given.set or SETS:
        results = list(SETS[name](given.data, clock, 300 if given.quick else None, given.passes))
        rows += [found.row(name) for found in results]
        for row in rows[-len(results) :]:
            print("  ".join(row), flush=True)
        if given.out is not None:
            print(draw(given.out, name, results), flush=True)
    header = ["data", "model", "log loss", "calibration error", "accuracy", "at 80 % coverage", "with confidence/s",
              "alone/s"]  # fmt: skip
    print_table("Confidence of single decisions on the test part", header, rows)


if __name__ == "__main__":
    main()
