"""One class per example; inference is in cpp/tasks/multiclass."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.core.choice import Choice, Circumstances
from marginloom.errors import InputError
from marginloom.tasks.base.dense import require_coefficients, require_costs, require_scores
from marginloom.tasks.base.inputs import RowTask
from marginloom.tasks.multiclass.auto_rule import Size, choose


class MulticlassTask(RowTask):
    """Examples to be classified, with or without their right classes.

    Class y scores w_y.x, and all classes share the objective 1/2 |w|^2 + sum_i C_i loss(slack_i): the multiclass SVM
    of Crammer and Singer. Weights of examples and classes come in through C_i, by `sample_weight` of
    `marginloom.train`.

    Parameters
    ----------
    X : sparse matrix or array of shape (examples, features)
        The inputs. CSR matrices and C-contiguous arrays of float32 or float64 are not copied, and must not change.
    gold : array of int or None
        The right class of every example, from 0 to n_classes - 1.
    n_classes : int
        How many classes there are.
    cost_matrix : array of shape (n_classes, n_classes), optional
        ``cost_matrix[g, y]`` is the loss of class y where g is right; 0 on the diagonal. By default 1 for every wrong
        class.
    bias : float
        Value of one more feature that all examples have, so that every class has an intercept; 0 for none. Its weights
        are regularised like the others, as in liblinear: the larger the value, the less the intercepts are held down.

    Examples
    --------
    >>> from marginloom.training.train import train
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> task = MulticlassTask(X, [0, 1, 2], 3, bias=1.0)
    >>> task.predict(train(task, C=10.0).weights).tolist()
    [0, 1, 2]
    """

    def __init__(
        self,
        X: Any,
        gold: ArrayLike | None,
        n_classes: int,
        *,
        cost_matrix: ArrayLike | None = None,
        bias: float = 0.0,
    ) -> None:
        super().__init__(X)
        self._n_classes: int = checked("n_classes", n_classes, "positive count")
        self._gold = None if gold is None else _checked_gold(gold, self._inputs.rows, self._n_classes)
        if cost_matrix is not None:
            require_costs(self._n_classes)
        self._costs = None if cost_matrix is None else _checked_costs(cost_matrix, self._n_classes)
        self._bias = float(bias)
        inputs = self._inputs.native(self._n_classes, self._bias)
        costs = [] if self._costs is None else self._costs.ravel().tolist()
        try:
            self.core: _core.MulticlassTask = _core.MulticlassTask(
                inputs, gold=self._gold, class_count=self._n_classes, costs=costs
            )
        except ValueError as error:
            raise InputError(str(error)) from error

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self._n_classes

    @property
    def fingerprint(self) -> str:
        """Identify the right classes; features may change between a state and its use."""
        digest = hashlib.sha256(f"{self._inputs.rows} {self._n_classes}".encode())
        digest.update(b"" if self._gold is None else self._gold.tobytes())
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the examples, their features and the options."""
        costs = "" if self._costs is None else hashlib.sha256(self._costs.tobytes()).hexdigest()
        return {
            "examples": self.fingerprint,
            "features": self._inputs.fingerprint,
            "cost_matrix": costs,
            "bias": str(self._bias),
        }

    @property
    def pass_work(self) -> float:
        """Products of features with weights."""
        return self._size.pass_work

    def choose(self, circumstances: Circumstances) -> Choice:
        """Return the algorithm that ``auto`` stands for."""
        return choose(self._size, circumstances)

    @property
    def _size(self) -> Size:
        features = self._inputs.columns + (1 if self._bias else 0)
        return Size(self._inputs.rows, self._n_classes, features, self.entries)

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.uint32]:
        """Return the best class of every example; of equal scores the lowest class."""
        return self.predict_k_best(weights, 1, n_threads)[0][:, 0]

    def predict_k_best(
        self, weights: NDArray[np.float64], k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the k best classes of every example, best first, or all if there are fewer, and their scores."""
        found = self._predictions(weights, n_threads, k)
        shape = (self._inputs.rows, min(k, self._n_classes))
        return found.outputs.view(np.uint32).reshape(shape), found.scores.reshape(shape)

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the classes."""
        return found.outputs.view(np.uint32)

    def scores(self, weights: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.float64]:
        """Return the scores of all classes, one row per example."""
        require_scores(self._inputs.rows, self._n_classes)
        try:
            return self.core.scores(weights, n_threads).reshape(self._inputs.rows, self._n_classes)
        except ValueError as error:
            raise InputError(str(error)) from error

    def coefficients(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients, classes by features, and intercepts: scores = X coef.T + intercept."""
        require_coefficients(self._n_classes, self._inputs.columns)
        rows = self.class_weights(weights)
        return np.ascontiguousarray(rows[: self._inputs.columns].T), self.intercepts(weights)

    def class_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a view of the weights with a row per feature, the bias last, and a column per class."""
        return weights.reshape(-1, self.core.stride)[:, : self._n_classes]

    def intercepts(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the intercepts of the classes."""
        if not self._bias:
            return np.zeros(self._n_classes)
        return np.asarray(self._bias * self.class_weights(weights)[self._inputs.columns])

    def weights(self, coef: ArrayLike, intercept: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return coefficients and intercepts as weights: the reverse of `coefficients`."""
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != (self._n_classes, self._inputs.columns):
            raise InputError(
                f"coef must have the shape {(self._n_classes, self._inputs.columns)}, classes by features, and has "
                f"{coef.shape}"
            )
        weights = np.zeros(self.core.dimension)
        rows = self.class_weights(weights)
        rows[: self._inputs.columns] = coef.T
        if intercept is not None and np.any(intercept):
            if not self._bias:
                raise InputError("intercept is not 0, and this task has no bias; give bias=1.0 when making it")
            rows[self._inputs.columns] = np.asarray(intercept) / self._bias
        return weights


def _checked_gold(gold: ArrayLike, size: int, n_classes: int) -> NDArray[np.uint32]:
    array = np.asarray(gold)
    if array.shape != (size,):
        raise InputError(f"gold must have one class for each of the {size} examples, and its shape is {array.shape}")
    if array.size and array.dtype.kind not in "iub":
        raise InputError(f"gold must be numbers of classes, and its type is {array.dtype}; number the classes first")
    outside = (array < 0) | (array >= n_classes)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise InputError(f"gold must be from 0 to {n_classes - 1}, and is {array[i]} for example {i}")
    return np.ascontiguousarray(array, dtype=np.uint32)


def _checked_costs(cost_matrix: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    try:
        costs = np.ascontiguousarray(cost_matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"cost_matrix must be a matrix of numbers: {error}") from error
    if costs.shape != (n_classes, n_classes):
        raise InputError(f"cost_matrix must have the shape {(n_classes, n_classes)}, and has {costs.shape}")
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise InputError("cost_matrix must be finite and not negative")
    if np.diagonal(costs).any():
        raise InputError("cost_matrix must be 0 on the diagonal: the gold class costs nothing")
    return costs
