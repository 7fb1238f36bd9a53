"""Several labels per example: time, objective and scores of the algorithms beside one LinearSVC per label.

    python benchmarks/classify_multilabel.py DATA [--sets ml_scene,...] [--algorithms dcd-ssvm,...] [--threads 1]

C is per example. ml_tmc2007_500 has the C of fastssvm-2021 (23.2); its rows and those of ml_delicious are scaled to
unit length. `missing` is what a right label that is missing costs where a wrong one costs 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import data_folder, machine, print_table, required

from marginloom import MultilabelClassifier, read_libsvm
from marginloom.metrics import multilabel_scores

HEADER = ["data", "algorithm", "C", "missing", "graph", "passes", "seconds", "primal", "gap", "micro F1", "macro F1"]
HEADER += ["Hamming loss", "subset accuracy"]


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

#: X and y of the training and of the test examples.
Data = tuple[Any, Any, Any, Any]


@dataclasses.dataclass(frozen=True)
class MultilabelSet:
    """A data set and how to train on it."""

    name: str
    C: float
    missing: float = 1.0
    unit_rows: bool = False
    interactions: str | None = None
    loss: str = "hinge"
    labels_per_slack: int | None = None
    tol: float = 0.05

    def read(self, folder: Path) -> Data:
        """Return X and y of the training and of the test examples."""
        X, y = read_libsvm(required(folder / self.name / "train.svm.xz"), multilabel=True)
        X_test, y_test = read_libsvm(
            required(folder / self.name / "test.svm.xz"), multilabel=True, n_features=X.shape[1]
        )
        if self.unit_rows:
            from sklearn.preprocessing import normalize

            X, X_test = normalize(X), normalize(X_test)
        return X, y, X_test, y_test


SETS = {
    "ml_scene": MultilabelSet("ml_scene", C=1.0),
    "ml_tmc2007_500": MultilabelSet("ml_tmc2007_500", C=23.2, unit_rows=True),
    "ml_tmc2007_500-missing": MultilabelSet("ml_tmc2007_500", C=23.2, missing=2.0, unit_rows=True),
    "ml_tmc2007_500-tree": MultilabelSet("ml_tmc2007_500", C=5, missing=2, unit_rows=True, interactions="tree"),
    "ml_tmc2007_500-squared": MultilabelSet(
        "ml_tmc2007_500", C=1.0, missing=1.5, unit_rows=True, loss="squared_hinge", labels_per_slack=1
    ),
    "ml_delicious": MultilabelSet("ml_delicious", C=1.0, unit_rows=True),
    "ml_delicious-missing": MultilabelSet("ml_delicious", C=1.0, missing=4.0, unit_rows=True),
}


def measure(
    chosen: MultilabelSet, data: tuple[Any, Any, Any, Any], algorithm: str, args: argparse.Namespace
) -> list[str]:
    X, y, X_test, y_test = data
    classifier = MultilabelClassifier(
        algorithm,
        C=chosen.C,
        tol=chosen.tol,
        max_iter=args.max_iter,
        loss=chosen.loss,
        label_costs=None if chosen.missing == 1 else (chosen.missing, 1.0),
        interactions=chosen.interactions,
        labels_per_slack=chosen.labels_per_slack,
        n_threads=args.threads,
    )
    clock = CLOCKS[args.clock]
    start = clock()
    classifier.fit(X, y)
    seconds = clock() - start
    proof = classifier.certificate_
    certified = [f"{proof.primal:.6g}", f"{100 * proof.gap:.2f} %"] if proof else ["-", "-"]
    about = [algorithm, f"{chosen.C:g}", f"{chosen.missing:g}", chosen.interactions or "none"]
    scores = classifier.evaluate(X_test, y_test)
    return [
        *about,
        str(classifier.n_iter_),
        f"{seconds:.1f}",
        *certified,
        *(f"{score:.4f}" for score in scores.values()),
    ]


def measure_peer(chosen: MultilabelSet, data: Data, args: argparse.Namespace) -> list[str]:
    """One LinearSVC per label; the same objective where labels do not interact and the loss is the hinge."""
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    X, y, X_test, y_test = data
    encoder = MultiLabelBinarizer().fit([*y, *y_test])
    gold = encoder.transform(y)
    predicted = np.zeros((X_test.shape[0], gold.shape[1]), dtype=int)
    primal = 0.0
    clock = CLOCKS[args.clock]
    start = clock()
    for label in range(gold.shape[1]):
        signs = 2 * gold[:, label] - 1
        if abs(signs.sum()) == signs.size:
            continue
        svm = LinearSVC(loss="hinge", C=chosen.C, random_state=0).fit(X, signs)
        margins = signs * svm.decision_function(X)
        w = np.append(svm.coef_[0], svm.intercept_)
        primal += 0.5 * w @ w + chosen.C * np.maximum(1 - margins, 0).sum()
        predicted[:, label] = svm.predict(X_test) > 0
    seconds = clock() - start
    scores = multilabel_scores(encoder.transform(y_test), predicted)
    about = ["LinearSVC per label", f"{chosen.C:g}", "1", "none", "-", f"{seconds:.1f}", f"{primal:.6g}", "-"]
    return [*about, *(f"{score:.4f}" for score in scores.values())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--algorithms", default="dcd-ssvm,fsmo,bcfw,one-slack,sgd,averaged-perceptron,mira")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-iter", type=int, default=None)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall", help="cpu where others use the machine")
    parser.add_argument("--peer", action="store_true", help="also train LinearSVC")
    args = parser.parse_args()
    folder = data_folder(args.data)
    print(machine())
    rows = []
    for name in args.sets.split(","):
        chosen = SETS[name]
        data = chosen.read(folder)
        for algorithm in args.algorithms.split(","):
            rows.append([name, *measure(chosen, data, algorithm, args)])
            print(" ".join(rows[-1]), flush=True)
        if args.peer:
            rows.append([name, *measure_peer(chosen, data, args)])
            print(" ".join(rows[-1]), flush=True)
    print_table(HEADER, rows)


if __name__ == "__main__":
    main()
