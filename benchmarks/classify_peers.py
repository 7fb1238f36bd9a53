"""LinearSVC behind one small interface, for classes and for sets of labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.multilabel.metrics import multilabel_scores


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


class Clocks:
    """Both clocks, while they run."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the clocks run within a ``with`` block."""
        wall, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations that were not enough: the primal tells
            yield
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu


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
        score = multilabel_scores(self.Y_test, predicted)["micro_f1"]
        return Trained(iterations, clocks.wall, clocks.cpu, float(primal), float(score))
