"""Structures of the user's own, in plain Python."""

from __future__ import annotations

import hashlib
import sys
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.core.task import Task
from marginloom.errors import InputError
from marginloom.tasks.custom.oracle import Oracle
from marginloom.tasks.custom.plain_values import decode_value, encode_value


class CustomTask(Task):
    """A structure of your own: subclass it, write four methods, and train it with any algorithm.

    The methods must give the same results for the same arguments, and must not change them. `w` is a read-only view
    of the weights, which training goes on to change: copy it to keep it. `marginloom.testing.check_task` finds most
    mistakes in them; among them an `argmax_augmented` that returns something worse than gold, which training takes for
    an example without slack.

    Optional methods: `argmax_k_best(x, w, k)` and `argmax_augmented_k_best(x, gold, w, k)` return lists of up to k
    different outputs, best first, for algorithms that use several. `outputs(x)` returns every output of a small
    example, for `check_task` only. `allows(x, y)` tells whether y is an output of x at all, for tasks whose outputs can
    be restricted: a warm start then drops what was learnt from the others. Without it, restrict outputs in a class of
    another name, from which no warm start is possible.

    Parameters
    ----------
    X : iterable
        The inputs, one per example, of any kind. A `Sequence` is read by index when it is needed, anything else is made
        a list.
    Y : iterable, optional
        The right outputs; without them the task can predict and cannot be trained on.
    dimension : int
        How many weights there are: one more than the highest index that `features` uses.

    Attributes
    ----------
    exact : bool
        Set it to False in the class if `argmax` or `argmax_augmented` may miss the maximum; training then
        reports estimates and certifies nothing.

    Examples
    --------
    Which of three numbers is the greatest, as a choice with one weight:

    >>> class Choice(CustomTask):
    ...     def features(self, x, y):
    ...         return {0: x[y]}
    ...     def loss(self, gold, y):
    ...         return float(gold != y)
    ...     def argmax(self, x, w):
    ...         return max(range(len(x)), key=lambda y: w[0] * x[y])
    ...     def argmax_augmented(self, x, gold, w):
    ...         return max(range(len(x)), key=lambda y: w[0] * x[y] + self.loss(gold, y))
    >>> from marginloom import train
    >>> task = Choice([(1, 3, 2), (5, 0, 1)], [1, 0], dimension=1)
    >>> weights = train(task, C=1.0).weights
    >>> Choice([(4, 6, 9)], dimension=1).predict(weights)
    [2]
    """

    exact: ClassVar[bool] = True

    def __init__(self, X: Iterable[Any], Y: Iterable[Any] | None = None, *, dimension: int) -> None:
        self.X: Sequence[Any] = _as_sequence("X", X)
        self.Y: Sequence[Any] | None = None if Y is None else _as_sequence("Y", Y)
        if self.Y is not None and len(self.X) != len(self.Y):
            raise InputError(f"X has {len(self.X)} examples and Y {len(self.Y)} outputs; they must be as many")
        self.dimension: int = checked("dimension", dimension, "positive count")
        self._oracle = Oracle(self, self.dimension)
        self._token = uuid.uuid4().hex
        try:
            self.core: _core.CustomTask = _core.CustomTask(
                self._oracle,
                len(self.X),
                self.dimension,
                gold=self.Y is not None,
                exact=checked(f"{type(self).__name__}.exact", self.exact, "switch"),
                k_best=hasattr(self, "argmax_k_best"),
            )
        except ValueError as error:
            raise InputError(str(error)) from error

    @abstractmethod
    def features(self, x: Any, y: Any) -> Any:
        """Return the joint feature vector phi(x, y).

        A dict of index and value, a pair (indices, values), a scipy sparse row or a dense array of one dimension.
        Repeated indices add up. Training computes with such vectors in double precision.
        """

    @abstractmethod
    def loss(self, gold: Any, y: Any) -> float:
        """Return how wrong y is: 0 for gold, never negative."""

    @abstractmethod
    def argmax(self, x: Any, w: NDArray[np.float64]) -> Any:
        """Return the output y that maximises w.phi(x, y)."""

    @abstractmethod
    def argmax_augmented(self, x: Any, gold: Any, w: NDArray[np.float64]) -> Any:
        """Return the output y that maximises w.phi(x, y) + loss(gold, y)."""

    @property
    def pass_work(self) -> float:
        """Calls of Python, which take ten microseconds at least."""
        return 10_000.0 * len(self.X)

    def encode(self, y: Any) -> bytes:
        """Return an output as bytes; two outputs are the same if their bytes are.

        This one takes plain Python values and numpy arrays, see `marginloom.tasks.custom.plain_values.encode_value`.
        Override it, together with `decode`, for anything else.
        """
        return encode_value(y)

    def decode(self, encoded: bytes) -> Any:
        """Return the output that `encode` made these bytes of.

        The bytes may come from a file: a method of your own should run nothing that they say (no pickle).
        """
        return decode_value(encoded)

    def predict(self, weights: ArrayLike, n_threads: int | None = 1) -> list[Any]:
        """Return the best output of every example, as `decode` gives it."""
        return [best[0][0] for best in self.predict_k_best(weights, 1, n_threads)]

    def predict_k_best(self, weights: ArrayLike, k: int, n_threads: int | None = 1) -> list[list[tuple[Any, float]]]:
        """Return the k best outputs of every example with their scores; k above 1 needs `argmax_k_best`."""
        w = np.ascontiguousarray(weights, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise InputError(f"weights must have the task's dimension, {self.dimension}, not the shape {w.shape}")
        k = checked("k", k, "positive count")
        if k > 1 and "k-best" not in self.core.capabilities:
            raise InputError(f"{type(self).__name__} has no method argmax_k_best, and k is {k}")
        found = self.core.predict(w, 1 if n_threads is None else resolve_threads(n_threads), k)
        data, scores = found.outputs.tobytes(), found.scores.tolist()
        bounds, firsts = found.output_bounds.tolist(), found.example_bounds.tolist()
        return [
            [
                (self._oracle.call(i, "decode", data[bounds[j] : bounds[j + 1]]), scores[j])
                for j in range(firsts[i], firsts[i + 1])
            ]
            for i in range(len(self.X))
        ]

    @property
    def fingerprint(self) -> str:
        """Identify the class, the right outputs and their order."""
        digest = hashlib.sha256(f"{type(self).__qualname__} {len(self.X)} {self.dimension}".encode())
        for encoded in self._oracle.encoded_golds:
            digest.update(f" {len(encoded)} ".encode() + encoded)
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the right outputs, their features and the class."""
        digest = hashlib.sha256()
        for i in range(len(self._oracle.encoded_golds)):
            indices, values = self.core.gold_features(i)
            digest.update(f" {indices.size} ".encode() + indices.tobytes() + values.tobytes())
        return {"class": type(self).__qualname__, "examples": self.fingerprint, "features": digest.hexdigest()}

    @property
    def identity(self) -> str:
        """Identify this very object: nobody knows what the methods of another one return."""
        return f"{super().identity} {self._token}"

    @property
    def memory(self) -> int:
        """Bytes of the inputs and outputs that are held in lists, without what they refer to in turn."""
        return sum(_size(part) for part in (self.X, self.Y) if part is not None)

    def contradiction(self, bounds: str) -> Exception:
        """Return the error for a dual above the primal: the methods contradict each other."""
        return InputError(
            f"training of {type(self).__name__} ended with {bounds}, which is impossible if its methods agree with "
            "each other: argmax_augmented has missed a better output, or a state was given that holds outputs which it "
            "does not return any more; marginloom.testing.check_task finds most such mistakes, and a task that may "
            "miss the best output says exact = False"
        )


def _as_sequence(name: str, items: Iterable[Any]) -> Sequence[Any]:
    if isinstance(items, Sequence):
        return items
    try:
        return list(items)
    except TypeError as error:
        raise InputError(f"{name} must hold one item per example, and {type(items).__name__} holds none") from error


def _size(items: Sequence[Any]) -> int:
    total = sys.getsizeof(items)
    if isinstance(items, list | tuple):
        total += sum(sys.getsizeof(item) for item in items)
    return total
