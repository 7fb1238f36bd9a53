"""Multilabel classification: any subset of the labels; inference is in cpp/tasks/multilabel."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.core.choice import Choice, Circumstances
from marginloom.errors import InputError
from marginloom.tasks.base.inputs import RowTask
from marginloom.tasks.multilabel.label_pairs import resolve_pairs
from marginloom.tasks.multilabel.label_sets import PackedSets, bytes_of, pack_indicators, pack_lists

#: Labels that a thread of `label-dcd` learns at a time.
LABELS_OF_A_THREAD = 8
NO_K_BEST = (
    "there are no k best sets where the pairs of more than 16 labels that interact have cycles; give k=1, or train "
    "with a tree of labels or without interactions"
)


class MultilabelTask(RowTask):
    """Rows of features that get a set of labels each, with or without their right ones.

    A set scores the sum over its labels of w_l.x, plus one weight for every pair of `pairs` that is whole in it. The
    loss is the Hamming loss, or a weighted one. Without pairs labels are decided one by one, exactly; with the hinge
    loss the objective is then the sum of those of one binary SVM per label.

    Parameters
    ----------
    X : sparse matrix or array of shape (rows, features)
        The inputs. CSR matrices and C-contiguous arrays of float32 or float64 are not copied, and must not change.
    gold : 0/1 array or sparse matrix, list of lists of label numbers, PackedSets, or None
        The right labels of every example, which may be none at all.
    n_labels : int
        How many labels there are.
    label_costs : array, optional
        What a wrong decision costs, per label; or two columns: what it costs where the label is missing, and where it
        is there and should not be. By default 1 (Hamming loss).
    pairs : None, "tree", "full" or list of pairs of label numbers
        Labels that interact. ``"tree"`` learns a tree from the right labels (`co_occurrence_tree`).
    inference : {"auto", "exact", "relaxed"}
        With pairs: exact if they form a forest (max-product) or there are at most 16 labels (every set is looked at),
        else by a relaxation that carries an upper bound, so that certificates stay valid. ``"exact"`` refuses what
        would be relaxed, ``"relaxed"`` relaxes all pairs with cycles.
    labels_per_slack : int, optional
        Give every so many labels of a row an example and a slack of their own, where labels do not interact. For the
        hinge loss the objective is the same, and dual learners get to its optimum far sooner: 1 is a binary SVM per
        label. For the squared hinge it is another objective. By default all labels of a row share one slack. Only
        for training: there is no `predict` then.
    sweeps : int
        Sweeps of the relaxation at most; more make the bound tighter and take longer.
    bias : float
        Value of one more feature that every row has; 0 for none.

    Attributes
    ----------
    pairs : list of pairs
        Those that interact.

    Examples
    --------
    >>> task = MultilabelTask([[1.0, 0.0], [0.0, 1.0]], [[0, 2], []], 3)
    >>> task.core.size, task.core.capabilities
    (2, ['gold', 'exact', 'bounded', 'loss-augmented', 'k-best', 'implicit', 'factored', 'decisions'])
    """

    def __init__(
        self,
        X: Any,
        gold: Any,
        n_labels: int,
        *,
        label_costs: ArrayLike | None = None,
        pairs: Any = None,
        inference: str = "auto",
        labels_per_slack: int | None = None,
        sweeps: int = 30,
        bias: float = 0.0,
    ) -> None:
        super().__init__(X)
        self.n_labels: int = checked("n_labels", n_labels, "positive count")
        self._gold = None if gold is None else _packed(gold, self._inputs.rows, self.n_labels)
        self.pairs = resolve_pairs(pairs, self.n_labels, self._indicators)
        missing, spurious = _costs(label_costs, self.n_labels)
        if inference not in ("auto", "exact", "relaxed"):
            raise InputError(f"inference must be 'auto', 'exact' or 'relaxed', not {inference!r}")
        self._part = self.n_labels
        if labels_per_slack is not None:
            self._part = min(checked("labels_per_slack", labels_per_slack, "positive count"), self.n_labels)
        if self._part < self.n_labels and self.pairs:
            raise InputError("labels_per_slack must be None where labels interact: they share their slack")
        self._options = {
            "label_costs": [missing, spurious],
            "pairs": self.pairs,
            "labels_per_slack": self._part,
            "relaxes": inference == "relaxed",
            "sweeps": checked("sweeps", sweeps, "positive count"),
            "bias": float(bias),
        }
        inputs = self._inputs.native(self.n_labels, float(bias))
        bits = None if self._gold is None else self._gold.reshape(-1)
        options = _core.MultilabelOptions(
            missing_costs=missing,
            spurious_costs=spurious,
            labels_per_slack=self._part,
            pairs=self.pairs,
            relaxes=inference == "relaxed",
            sweeps=sweeps,
        )
        try:
            self.core: _core.MultilabelTask = _core.MultilabelTask(
                inputs, gold=bits, label_count=self.n_labels, options=options
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        if inference == "exact" and "exact" not in self.core.capabilities:
            raise InputError(
                "inference='exact' needs at most 16 labels or pairs without cycles, and these have some: use 'auto' or "
                "a tree"
            )

    @property
    def fingerprint(self) -> str:
        """Identify the number of examples and their right labels; features may change between a state and its use."""
        digest = hashlib.sha256(f"{self._inputs.rows} {self.n_labels} {self._part}".encode())
        digest.update(b"" if self._gold is None else np.ascontiguousarray(self._gold).data)
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the examples, their labels, their features and the options."""
        options = {name: json.dumps(value) for name, value in self._options.items()}
        return {"examples": self.fingerprint, **options, "features": self._inputs.fingerprint}

    @property
    def pass_work(self) -> float:
        """Products of features with weights, and what the pairs of labels that interact take."""
        rows = self._inputs.rows
        return float(self.n_labels * (self.entries + rows) + 30 * rows * len(self.pairs))

    def choose(self, circumstances: Circumstances) -> Choice:
        """Take one binary SVM per label where there is one, on any number of threads; it gives the same bits on all.

        Nothing else that trains such tasks needs less memory. For all others, threads search with fixed weights:
        rows share most weights, so that threads that all change them need up to twice the passes of one.
        """
        if not self.pairs and (circumstances.loss == "hinge" or self._part == 1):
            reason = f"labels that do not interact, {self._training_threads(circumstances)}"
            return Choice("label-dcd", reason, newton_passes=self.costs.newton_passes)
        if circumstances.n_threads > 1:
            what = "labels that interact" if self.pairs else "labels that share a slack"
            reason = f"{what}, {circumstances.n_threads} threads"
            return Choice("ms-dcd", reason, newton_passes=self.costs.newton_passes)
        return super().choose(circumstances)

    def _training_threads(self, circumstances: Circumstances) -> str:
        """Say how many threads have labels to learn."""
        threads = circumstances.n_threads
        if threads == 1:
            return circumstances.one_thread
        busy = min(threads, -(-self.n_labels // LABELS_OF_A_THREAD))
        few = "" if busy == threads else f", since each takes {LABELS_OF_A_THREAD} labels at a time"
        return f"{busy} thread{'' if busy == 1 else 's'}{few}"

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.uint8]:
        """Return the best set of every row, packed as in `marginloom.tasks.multilabel.label_sets`."""
        return self.predict_k_best(weights, 1, n_threads)[0]

    def predict_k_best(
        self, weights: NDArray[np.float64], k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.uint64]]:
        """Return the k best sets of every row one below the other, packed, their scores, and whose they are.

        Row i has the sets from the i-th number of the last array to the one before the next.
        """
        if self._part < self.n_labels:
            raise InputError("labels_per_slack is for training; predict with a task that has all labels together")
        if k > 1 and not self.has_k_best:
            raise InputError(NO_K_BEST)
        found = self._predictions(weights, n_threads, k)
        return found.outputs.reshape(-1, bytes_of(self.n_labels)), found.scores, found.example_bounds

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return for every label whether it is in the set."""
        packed = found.outputs.reshape(-1, bytes_of(self.n_labels))
        bits = np.unpackbits(packed, axis=1, count=self.n_labels, bitorder="little")
        return bits.astype(np.uint32).reshape(-1)

    @property
    def has_k_best(self) -> bool:
        """Whether the best sets can be found one after the other: where inference is exact."""
        return "k-best" in self.core.capabilities

    def why_it_lacks(self, need: str) -> str:
        """Say what of the labels it is: their interactions, or their slacks."""
        if need in ("factored", "decisions", "own-slacks") and self.pairs:
            return "here labels interact (--interactions or --pair, interactions= in Python), so pairs have weights too"
        if need == "factored":
            return (
                f"here the {self.n_labels} labels of a row do not share a slack: labels_per_slack is {self._part}; "
                f"take the hinge loss, or give labels_per_slack={self.n_labels} (--labels-per-slack {self.n_labels})"
            )
        if need == "own-slacks":
            return "here labels share a slack; take the hinge loss, or give labels_per_slack=1 (--labels-per-slack 1)"
        return super().why_it_lacks(need)

    @property
    def n_features(self) -> int:
        """Number of columns of the inputs."""
        return self._inputs.columns

    def label_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a view of the weights with a row per feature, the bias last, and a column per label."""
        return weights[self.core.first_row :].reshape(-1, self.core.stride)[:, : self.n_labels]

    def pair_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a view of the weights of the pairs."""
        return weights[: len(self.pairs)]

    def _indicators(self) -> Any:
        if self._gold is None:
            raise InputError("pairs='tree' learns from gold labels, and there are none: give the pairs")
        return PackedSets(self._gold, self.n_labels).sparse()


def _packed(gold: Any, row_count: int, n_labels: int) -> NDArray[np.uint8]:
    if hasattr(gold, "tocoo") or isinstance(gold, np.ndarray):
        if gold.ndim != 2 or gold.shape[1] != n_labels:
            raise InputError(f"gold has the shape {gold.shape}; there must be a column for each of {n_labels} labels")
        packed = pack_indicators(gold)
    else:
        packed = gold.bits if isinstance(gold, PackedSets) else pack_lists(gold, n_labels)
    if packed.shape[0] != row_count:
        raise InputError(f"X has {row_count} rows, and gold has {packed.shape[0]}")
    return packed


def _costs(label_costs: ArrayLike | None, n_labels: int) -> tuple[list[float], list[float]]:
    if label_costs is None:
        return [], []
    costs = np.asarray(label_costs, dtype=np.float64)
    if costs.shape not in ((n_labels,), (n_labels, 2)):
        raise InputError(
            f"label_costs must have one number per label, {n_labels}, or two columns of so many, not the shape "
            f"{costs.shape}"
        )
    both = costs if costs.ndim == 2 else np.column_stack([costs, costs])
    return both[:, 0].tolist(), both[:, 1].tolist()
