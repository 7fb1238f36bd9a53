"""Other people's programs, each behind one small interface: LinearSVC of scikit-learn and python-crfsuite."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.clocks import Clocks
from harness.package import micro_f1

LINEAR_SVC = "LinearSVC"
Items = Sequence[Any]


class OutOfTimeError(Exception):
    """A peer was not done when its seconds were used up."""


@dataclass(frozen=True)
class Trained:
    """What training to a tolerance took and led to: the primal is computed apart from both libraries."""

    iterations: int
    wall: float
    cpu: float
    primal: float
    score: float


class Peer(Protocol):
    """Trains LinearSVC from nothing."""

    def train(self, C: float, tolerance: float, seconds: float, clock: str) -> Trained:
        """Train to a tolerance, or raise `OutOfTimeError` once so many seconds have gone by on that clock."""


@dataclass(frozen=True)
class CrammerSinger:
    """One class per example; no bias."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]

    def train(self, C: float, tolerance: float, seconds: float, clock: str) -> Trained:
        """Train in one call, which nothing can end."""
        from sklearn.svm import LinearSVC

        options = {"fit_intercept": False, "max_iter": 100_000, "random_state": 0}
        svm = LinearSVC(multi_class="crammer_singer", C=C, tol=tolerance, **options)
        clocks = Clocks()
        with clocks.running():
            svm.fit(self.X, self.y)
        coef = svm.coef_ if len(svm.coef_) > 1 else np.vstack([-svm.coef_ / 2, svm.coef_ / 2])
        primal = crammer_singer_primal(coef, self.X, self.y, C)
        return Trained(int(svm.n_iter_), clocks.wall, clocks.cpu, primal, float(svm.score(self.X_test, self.y_test)))


def crammer_singer_primal(coef: Any, X: Any, y: Any, C: float) -> float:
    """Return the objective of coefficients."""
    scores = np.asarray(X @ coef.T)
    examples = np.arange(len(y))
    violations = scores - scores[examples, y][:, None] + 1
    violations[examples, y] = 0
    return float(0.5 * (coef**2).sum() + C * violations.max(axis=1).sum())


@dataclass(frozen=True)
class OnePerLabel:
    """One binary SVM per label, with a bias: the objective of the Hamming loss where labels do not interact."""

    X: Any
    Y: NDArray[np.uint8]
    X_test: Any
    Y_test: NDArray[np.uint8]

    def train(self, C: float, tolerance: float, seconds: float, clock: str) -> Trained:
        """Train label by label."""
        from sklearn.svm import LinearSVC

        clocks = Clocks()
        predicted = np.zeros_like(self.Y_test)
        primal, iterations = 0.0, 0
        for label in range(self.Y.shape[1]):
            if getattr(clocks, clock) > seconds:
                raise OutOfTimeError
            signs = 2 * self.Y[:, label].astype(int) - 1
            if abs(signs.sum()) == signs.size:  # LinearSVC wants both; never, or always, is its prediction
                predicted[:, label] = signs[0] > 0
                continue
            svm = LinearSVC(loss="hinge", C=C, tol=tolerance, max_iter=100_000, random_state=0)
            with clocks.running():
                svm.fit(self.X, signs)
            w = np.append(svm.coef_[0], svm.intercept_)
            primal += 0.5 * w @ w + C * np.maximum(1 - signs * svm.decision_function(self.X), 0).sum()
            predicted[:, label] = svm.predict(self.X_test) > 0
            iterations = max(iterations, int(svm.n_iter_))
        score = micro_f1(self.Y_test, predicted)
        return Trained(iterations, clocks.wall, clocks.cpu, float(primal), score)


def peer_of(C: float, loss: str, processes: int) -> Any:
    """Return one LinearSVC per label, each with its own tolerance and passes, on so many processes."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    return OneVsRestClassifier(LinearSVC(C=C, loss=loss, random_state=0), n_jobs=processes)


def one_per_label_primal(svm: Any, X: Any, Y: NDArray[np.int64], C: float, loss: str) -> float:
    """Return the sum of the objectives of fitted binary SVMs, intercepts regularised like the other weights."""
    w = np.array([np.append(one.coef_, one.intercept_) for one in svm.estimators_])
    violations = np.maximum(1 - (2.0 * Y - 1) * (np.asarray(X @ w[:, :-1].T) + w[:, -1]), 0)
    return float(0.5 * (w**2).sum() + C * (violations if loss == "hinge" else violations**2).sum())


def crfsuite_is_missing() -> str | None:
    """Return a sentence on what to do if python-crfsuite is not installed."""
    if importlib.util.find_spec("pycrfsuite") is not None:
        return None
    return "python-crfsuite is not installed, so its lines are left out: pip install 'marginloom[benchmark]' brings it"


class Crfsuite:
    """python-crfsuite with its own defaults.

    Parameters
    ----------
    algorithm : str
        ``lbfgs``, ``ap`` (averaged perceptron), ...
    **parameters
        Passed on to it.
    """

    def __init__(self, algorithm: str, **parameters: float) -> None:
        self.algorithm = algorithm
        self.parameters = parameters

    def fit(
        self, sentences: Iterable[tuple[Items, Sequence[str]]], clock: Callable[[], float] = time.perf_counter
    ) -> float:
        """Train and return the seconds that its training took, without the hand-over of the data."""
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm=self.algorithm, params=self.parameters, verbose=False)
        for items, labels in sentences:
            trainer.append(items, labels)
        with tempfile.TemporaryDirectory() as folder:
            path = os.fspath(Path(folder, "model"))
            start = clock()
            trainer.train(path)
            seconds = clock() - start
            self._model = Path(path).read_bytes()  # the tagger points into it
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open_inmemory(self._model)
        return seconds

    @property
    def size(self) -> int:
        """Bytes of the stored model."""
        return len(self._model)

    def tag(self, items: Items) -> list[str]:
        """Label one sentence."""
        labels: list[str] = self._tagger.tag(items)
        return labels
