"""What stands between the native side and a user's methods: it calls them, says where they failed, and checks them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.custom.sparse_vector import SparseVector, as_sparse_vector

if TYPE_CHECKING:
    from marginloom.tasks.custom.task import CustomTask

Weights = NDArray[np.float64]
Converted = TypeVar("Converted")


class Oracle:
    """Calls the methods of a `CustomTask` by the example's index; cpp/tasks/custom/custom_task.hpp says what it needs.

    An exception of a method passes through as it is, with a note that names the method and the example. A method that
    returns something unfit raises `InputError` with the same names.
    """

    def __init__(self, task: CustomTask, dimension: int) -> None:
        self._task = task
        self._dimension = dimension
        golds = [] if task.Y is None else task.Y
        self.encoded_golds = [self.encode(i, gold) for i, gold in enumerate(golds)]

    def gold(self, i: int) -> Any:
        """Return the right output of an example."""
        assert self._task.Y is not None
        return self._task.Y[i]

    def _input(self, i: int) -> Any:
        try:
            return self._task.X[i]
        except Exception as error:
            error.add_note(f"reading X of {type(self._task).__name__}, example {i}")
            raise

    def call(self, i: int, method: str, *arguments: Any) -> Any:
        """Call a method of the user's."""
        try:
            return getattr(self._task, method)(*arguments)
        except Exception as error:
            error.add_note(f"in {self._name(method)}, example {i}")
            raise

    def features(self, i: int, y: Any) -> SparseVector:
        """Return phi(x, y)."""
        vector = self.call(i, "features", self._input(i), y)
        return self._fit(i, "features", as_sparse_vector, vector, self._dimension)

    def loss(self, i: int, y: Any) -> float:
        """Return the loss of an output."""
        return self._fit(i, "loss", _as_loss, self.call(i, "loss", self.gold(i), y))

    def encode(self, i: int, y: Any) -> bytes:
        """Return an output as bytes."""
        encoded = self.call(i, "encode", y)
        if not isinstance(encoded, bytes):
            raise InputError(f"{self._name('encode')}, example {i}: must return bytes, not {type(encoded).__name__}")
        return encoded

    def argmax(self, i: int, w: Weights) -> Any:
        """Return the best output under w."""
        return self.call(i, "argmax", self._input(i), w)

    def argmax_augmented(self, i: int, w: Weights) -> Any:
        """Return the output with the greatest sum of score and loss."""
        return self.call(i, "argmax_augmented", self._input(i), self.gold(i), w)

    def gold_features(self, i: int) -> SparseVector:
        """Return phi(x, gold)."""
        return self.features(i, self.gold(i))

    def search(self, i: int, w: Weights, loss_scale: float, k: int) -> list[tuple[Any, ...]]:
        """Return (output, loss, indices, values) of the k outputs of greatest w.phi + loss_scale * loss.

        Gold itself is left out.
        """
        outputs = self._best(i, w, k) if loss_scale == 0 else self._best_augmented(i, _scaled(w, loss_scale), k)
        found = []
        seen = {self.encoded_golds[i]}
        for y in outputs:
            encoded = self.encode(i, y)
            if encoded not in seen:
                seen.add(encoded)
                found.append((encoded, self.loss(i, y), *self.features(i, y)))
        return found

    def rebuild(self, i: int, encoded: bytes) -> tuple[float, NDArray[np.int64], NDArray[np.float64]] | None:
        """Return loss, indices and values of an output that was encoded earlier, or None if it is not allowed now."""
        y = self.call(i, "decode", encoded)
        if self.encode(i, y) != encoded:
            raise InputError(f"{self._name('decode')}, example {i}: bytes that were decoded must encode to the same")
        if hasattr(self._task, "allows") and not self.call(i, "allows", self._input(i), y):
            return None
        return (self.loss(i, y), *self.features(i, y))

    def predict(self, i: int, w: Weights, k: int) -> list[tuple[bytes, float]]:
        """Return the k best outputs and their scores."""
        best = []
        for y in self._best(i, w, k):
            indices, values = self.features(i, y)
            best.append((self.encode(i, y), float(w[indices] @ values)))
        return best

    def _best(self, i: int, w: Weights, k: int) -> list[Any]:
        if k == 1:
            return [self.argmax(i, w)]
        return self._several(i, "argmax_k_best", k, self._input(i), w, k)

    def _best_augmented(self, i: int, w: Weights, k: int) -> list[Any]:
        if k == 1:
            return [self.argmax_augmented(i, w)]
        return self._several(i, "argmax_augmented_k_best", k, self._input(i), self.gold(i), w, k)

    def _several(self, i: int, method: str, k: int, *arguments: Any) -> list[Any]:
        if not hasattr(self._task, method):
            raise InputError(f"{type(self._task).__name__} has no method {method}, and {k} outputs are asked for")
        outputs = self.call(i, method, *arguments)
        if not isinstance(outputs, list) or not 1 <= len(outputs) <= k:
            raise InputError(f"{self._name(method)}, example {i}: must return a list of 1 to {k} outputs, best first")
        return outputs

    def _fit(self, i: int, method: str, convert: Callable[..., Converted], *arguments: Any) -> Converted:
        """Convert what a method returned, and say which it was if it cannot be done."""
        try:
            return convert(*arguments)
        except InputError as error:
            raise InputError(f"{self._name(method)}, example {i}: the result {error}") from error.__cause__

    def _name(self, method: str) -> str:
        return f"{type(self._task).__name__}.{method}"


def _scaled(w: Weights, loss_scale: float) -> Weights:
    """Return weights that rank w.phi + loss as the given ones rank w.phi + loss_scale * loss."""
    if loss_scale == 1:
        return w
    scaled = w / loss_scale
    scaled.flags.writeable = False
    return scaled


def _as_loss(value: Any) -> float:
    try:
        loss = float(value)
    except (TypeError, ValueError):
        loss = math.nan
    if not (math.isfinite(loss) and loss >= 0):
        raise InputError(f"must be a finite number, 0 or more, not {value!r}")
    return loss
