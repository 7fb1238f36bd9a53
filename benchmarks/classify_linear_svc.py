"""Compare the classifier as it comes with LinearSVC: many classes, and features that nobody has scaled.

One thread. The objective is that of LinearSVC(multi_class="crammer_singer"): the hinge, intercepts that are regularised
like the other weights, C = 1. LinearSVC has its own stopping rule, the classifier ends at a certified gap of 0.1 %.
Scores are those of both with all defaults, LinearSVC one against the rest, in five parts, three times dealt out anew.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from harness.clocks import Clocks
from harness.command import CLOCKS, add_data, add_repeat
from harness.peers import LINEAR_SVC, crammer_singer_primal
from harness.plain_sets import MANY_CLASSES, Classes, unscaled
from harness.tables import machine, print_table

from marginloom import MulticlassClassifier

C, GAP = 1.0, 0.001
COUNTS, QUICK_COUNTS = (100, 300, 1_000, 3_000), (50, 100)
SHUFFLES = 3


def main() -> None:
    arguments = parsed()
    print(machine())
    counts = QUICK_COUNTS if arguments.quick else COUNTS
    for kind, draw in MANY_CLASSES.items():
        rows = [[f"{count:,}", *compared(draw(count), arguments)] for count in counts]
        header = ["classes", *COMPARED]
        print_table(f"Five examples a class, {kind} features; {arguments.clock} seconds", header, rows)
    rows = []
    folder = None if arguments.data is None else Path(arguments.data)
    for name, data in unscaled(folder):
        if arguments.quick and len(data[1]) > 600:
            continue
        rows.append([name, *compared(data, arguments), *scores(data)])
    title = f"Features that are not scaled; {arguments.clock} seconds, and accuracy with all defaults"
    print_table(title, ["data", *COMPARED, f"{LINEAR_SVC}() accuracy", "MulticlassClassifier() accuracy"], rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    parser.add_argument("--quick", action="store_true", help="few classes and small sets, to try it")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="seconds to show")
    add_repeat(parser, 1)
    return parser.parse_args()


COMPARED = (f"{LINEAR_SVC} s", "primal", "marginloom s", "primal", "certified gap", f"{LINEAR_SVC} / marginloom")


def compared(data: Classes, arguments: argparse.Namespace) -> list[str]:
    """Train both in alternation; return the median seconds, the primal of each, and the ratio of the seconds."""
    runs = [(peer_run(data), own_run(data)) for _ in range(arguments.repeat)]
    peer, own = (statistics.median(getattr(run[which][0], arguments.clock) for run in runs) for which in (0, 1))
    certificate = runs[0][1][1]
    return [
        f"{peer:.2f}",
        f"{runs[0][0][1]:,.6g}",
        f"{own:.2f}",
        f"{certificate.primal:,.6g}",
        f"{100 * certificate.gap:.2g} %",
        f"{peer / own:.1f}",
    ]


def peer_run(data: Classes) -> tuple[Clocks, float]:
    """Return what LinearSVC took and the objective that it reached."""
    from scipy.sparse import hstack, issparse
    from sklearn.svm import LinearSVC

    X, y = data
    svm, clocks = LinearSVC(multi_class="crammer_singer", C=C, random_state=0), Clocks()
    with clocks.running():
        svm.fit(X, y)
    weights = np.hstack([svm.coef_, svm.intercept_[:, None]])
    weights = weights if len(weights) > 1 else np.vstack([-weights / 2, weights / 2])
    ones = np.ones((len(y), 1))
    inputs = hstack([X, ones]).tocsr() if issparse(X) else np.hstack([X, ones])
    return clocks, crammer_singer_primal(weights, inputs, y, C)


def own_run(data: Classes) -> tuple[Clocks, Any]:
    """Return what the classifier took, and its certificate."""
    classifier, clocks = MulticlassClassifier(C=C, loss="hinge", tol=GAP, n_threads=1), Clocks()
    with clocks.running():
        classifier.fit(*data)
    return clocks, classifier.certificate_


def scores(data: Classes) -> list[str]:
    """Return the accuracy of both with their defaults, on the same parts."""
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
    from sklearn.svm import LinearSVC

    parts = RepeatedStratifiedKFold(n_splits=5, n_repeats=SHUFFLES, random_state=0)
    return [
        f"{cross_val_score(classifier, *data, cv=parts).mean():.4f}"
        for classifier in (LinearSVC(), MulticlassClassifier(n_threads=1))
    ]


if __name__ == "__main__":
    main()
