"""Programs that predict sets of labels, each with its own defaults on one thread.

LinearSVC and LibMultiLabel are run on the rows as they are and on rows of length 1, which is what the others, and ours,
make of them. All rank the labels of a row; the labels predicted are those above each program's own threshold: the score
0, or the probability one half.
"""

from __future__ import annotations

import pickle
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.label_sets import LabelData, read_labels
from harness.systems import OURS, Measured, System, size_of, timed

LABEL_SETS = ("ml_scene", "ml_tmc2007_500", "ml_delicious")
#: Labels of a row that are asked for where a program returns the best ones only.
MOST = 20


def label_systems(name: str) -> list[System]:
    """Return all programs for a data set."""
    runs = {
        (OURS, None): _ours,
        ("LinearSVC", "sklearn"): _linear_svc,
        ("LinearSVC, unit rows", "sklearn"): partial(_linear_svc, unit=True),
        ("LibMultiLabel 1vsrest", "libmultilabel"): _libmultilabel,
        ("LibMultiLabel 1vsrest, unit rows", "libmultilabel"): partial(_libmultilabel, unit=True),
        ("napkinXC PLT", "napkinxc"): _napkinxc,
        ("napkinXC OVR", "napkinxc"): partial(_napkinxc, model="OVR"),
        ("PECOS XR-Linear", "pecos"): _pecos,
    }
    return [
        System(system, module, lambda folder, count, run=run: run(read_labels(folder, name, count)))
        for (system, module), run in runs.items()
    ]


def _measured(
    data: LabelData, scores: Any, training: float, predicting: float, size: int, threshold: float = 0.0
) -> Measured:
    """Return micro F1 of the labels above a threshold, and precision at 1, 3 and 5 of the ranking."""
    gold, found = data.Y_test.astype(bool), np.asarray(scores) > threshold
    order = np.argsort(-np.asarray(scores), axis=1, kind="stable")
    result = {"micro F1": float(2 * (gold & found).sum() / max(gold.sum() + found.sum(), 1))}
    for k in (1, 3, 5):
        result[f"P@{k}"] = float(np.take_along_axis(gold, order[:, :k], axis=1).sum() / (k * len(gold)))
    return Measured(result, training, predicting, len(gold), size)


def _ours(data: LabelData) -> Measured:
    from marginloom import MultilabelClassifier

    classifier, training = timed(lambda: MultilabelClassifier(n_threads=1).fit(data.X, data.Y))
    scores, predicting = timed(lambda: classifier.decision_function(data.X_test))
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(path := Path(folder, "model"))
        size = size_of(path)
    return _measured(data, scores, training, predicting, size)


def _rows(data: LabelData, unit: bool) -> tuple[Any, Any]:
    from sklearn.preprocessing import normalize

    return (normalize(data.X), normalize(data.X_test)) if unit else (data.X, data.X_test)


def _linear_svc(data: LabelData, unit: bool = False) -> Measured:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    (X, X_test), Y = _rows(data, unit), data.Y.astype(np.int64)
    classifier, training = timed(lambda: OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, Y))
    scores, predicting = timed(lambda: classifier.decision_function(X_test))
    return _measured(data, scores, training, predicting, len(pickle.dumps(classifier)))


def _libmultilabel(data: LabelData, unit: bool = False) -> Measured:
    from libmultilabel import linear
    from scipy.sparse import csr_matrix

    X, X_test = map(csr_matrix, _rows(data, unit))
    model, training = timed(lambda: linear.train_1vsrest(csr_matrix(data.Y), X))
    scores, predicting = timed(lambda: linear.predict_values(model, X_test))
    return _measured(data, scores, training, predicting, len(pickle.dumps(model)))


def _napkinxc(data: LabelData, model: str = "PLT") -> Measured:
    from napkinxc import models
    from scipy.sparse import csr_matrix

    with tempfile.TemporaryDirectory() as folder:
        trained = getattr(models, model)(folder, threads=1, verbose=0, seed=0)
        gold = [np.flatnonzero(row).tolist() for row in data.Y]
        _, training = timed(lambda: trained.fit(csr_matrix(data.X), gold))
        size = size_of(Path(folder))
        X_test, most = csr_matrix(data.X_test), min(MOST, data.Y.shape[1])
        trained.load()
        found, predicting = timed(lambda: trained.predict_proba(X_test, top_k=most))
    scores = np.zeros(data.Y_test.shape)
    for row, ranked in zip(scores, found, strict=True):
        for label, probability in ranked:
            row[label] = probability
    return _measured(data, scores, training, predicting, size, 0.5)


def _pecos(data: LabelData) -> Measured:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel
    from scipy.sparse import csr_matrix

    X, Y = csr_matrix(data.X, dtype=np.float32), csr_matrix(data.Y, dtype=np.float32)

    def train() -> Any:
        tree = Indexer.gen(LabelEmbeddingFactory.create(Y, X), threads=1)
        return XLinearModel.train(X, Y, C=tree, threads=1)

    model, training = timed(train)
    X_test, most = csr_matrix(data.X_test, dtype=np.float32), min(MOST, data.Y.shape[1])
    found, predicting = timed(lambda: model.predict(X_test, only_topk=most, threads=1))
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        size = size_of(Path(folder))
    return _measured(data, found.toarray(), training, predicting, size, 0.5)
