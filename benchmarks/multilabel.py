"""Compare MultilabelClassifier with one LinearSVC per label: the time to the same primal, and what defaults score.

One thread: LinearSVC with its own tolerance, label by label, and `label-dcd` until its primal is no higher. Two
threads: OneVsRestClassifier(LinearSVC, n_jobs=2), whose processes have been started before, and the same on two
threads, by the wall. The defaults of both on the rows as they are, by test micro F1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness.clocks import Clocks
from harness.command import Question
from harness.data_sets import QUICK_EXAMPLES
from harness.files import data_folder
from harness.label_sets import TMC, TMC_C, LabelData, LabelSettings, prepared, read_labels
from harness.package import MultilabelTask, micro_f1, primal
from harness.peers import one_per_label_primal, peer_of
from harness.tables import machine, number, print_table

from marginloom import Callback, MultilabelClassifier, train

SETTINGS = {
    "ml_scene": LabelSettings(1.0, length=None),
    TMC: LabelSettings(TMC_C),
    "ml_delicious": LabelSettings(1.0),
}
QUESTION = Question("multilabel", __doc__, tuple(SETTINGS), clock=True, threads=(1, 2))
LOSSES = ("hinge", "squared_hinge")


def main() -> None:
    arguments = QUESTION.arguments()
    folder = data_folder(arguments.data)
    print(machine(), flush=True)
    data = {
        name: read_labels(folder, name, QUICK_EXAMPLES if arguments.quick else None)
        for name in SETTINGS
        if name in arguments.set
    }
    races = [race for name, rows in data.items() for race in _races(name, rows, arguments)]
    header = ["data", "loss", "threads", "LinearSVC", "label-dcd", "LinearSVC / label-dcd", "primal", "passes"]
    print_table(f"Seconds ({arguments.clock} on one thread, wall on more) to the primal of LinearSVC", header, races)
    header = ["data", "OneVsRestClassifier(LinearSVC())", "MultilabelClassifier()", "wall s", "wall s"]
    print_table("Test micro F1 with defaults", header, [_defaults(name, rows) for name, rows in data.items()])


def _races(name: str, rows: LabelData, arguments: Any) -> Iterator[list[str]]:
    settings = SETTINGS[name]
    rows = prepared(rows, settings)
    for loss in LOSSES:
        for threads in arguments.threads:
            clock = arguments.clock if threads == 1 else "wall"
            peer = _peer(rows, settings.C, loss, threads)
            ours = _ours(rows, settings.C, loss, threads, peer.primal)
            theirs, own = getattr(peer, clock), getattr(ours, clock)
            print(f"{name}, {loss}, {threads} threads: {theirs:.2f} s, {own:.2f} s", flush=True)
            share = number(theirs / own if ours.primal <= peer.primal else None)
            cells = [f"{theirs:.2f}", f"{own:.2f}", share, f"{peer.primal:,.1f}", str(ours.passes)]
            yield [name, loss, str(threads), *cells]


@dataclass(frozen=True)
class Reached:
    """Seconds of both clocks to a primal."""

    wall: float
    cpu: float
    primal: float
    passes: int = 0


def _peer(rows: LabelData, C: float, loss: str, threads: int) -> Reached:
    """Train one LinearSVC per label; labels that all rows have, or none, are left out on both sides."""
    svm = peer_of(C, loss, threads)
    Y = rows.Y[:, _varied(rows.Y)].astype(np.int64)  # of single bytes it mixes up labels beyond the 256th
    if threads > 1:
        svm.fit(rows.X[:50], Y[:50])  # starts the processes
    clocks = Clocks()
    with clocks.running():
        svm.fit(rows.X, Y)
    return Reached(clocks.wall, clocks.cpu, one_per_label_primal(svm, rows.X, Y, C, loss))


def _varied(Y: Any) -> Any:
    return (Y.min(axis=0) == 0) & (Y.max(axis=0) == 1)


class _Until(Callback):
    """End a run once its primal is low enough; what that takes to find out is not timed."""

    stop_reason = "primal"

    def __init__(self, task: MultilabelTask, C: float, loss: str, target: float) -> None:
        self.cpu = 0.0
        self.primal = np.inf
        self._measure = lambda weights: primal(task, weights, C=C, loss=loss, n_threads=-1)
        self._target = target

    def before_iteration(self, run: Any) -> None:
        self._started = time.process_time()

    def after_iteration(self, run: Any, row: dict[str, Any]) -> bool:
        self.cpu += time.process_time() - self._started
        self.primal = self._measure(run.last_weights())
        return bool(self.primal <= self._target)


def _ours(rows: LabelData, C: float, loss: str, threads: int, target: float) -> Reached:
    Y = rows.Y[:, _varied(rows.Y)]
    slack = 1 if loss == "squared_hinge" else None
    task = MultilabelTask(rows.X, Y, Y.shape[1], bias=1.0, labels_per_slack=slack)
    until = _Until(task, C, loss, target)
    options = {"algorithm": "label-dcd", "C": C, "loss": loss, "tol": 1e-9, "max_iter": 1000, "n_threads": threads}
    result = train(task, **options, callbacks=[until])
    return Reached(result.seconds["train"], until.cpu, until.primal, result.iterations)


def _defaults(name: str, rows: LabelData) -> list[str]:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    Y = rows.Y.astype(np.int64)
    cells, seconds = [], []
    for classifier in (OneVsRestClassifier(LinearSVC()), MultilabelClassifier(n_threads=1)):
        clocks = Clocks()
        with clocks.running():
            classifier.fit(rows.X, Y)
        cells.append(f"{micro_f1(rows.Y_test, np.asarray(classifier.predict(rows.X_test), dtype=np.uint8)):.4f}")
        seconds.append(f"{clocks.wall:.2f}")
    print(name, *cells, flush=True)
    return [name, *cells, *seconds]


if __name__ == "__main__":
    main()
