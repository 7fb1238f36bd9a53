"""Labels of arcs where the tree is known: the second step of a parser; features are in cpp/tasks/parse/tree_labels."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import WEIGHT, check_weight_count, require_memory
from marginloom.common.parameters import checked, one_of
from marginloom.core.task import Task
from marginloom.errors import InputError
from marginloom.io.model import Tensors
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.training.certificate import Certificate
from marginloom.training.result import Result
from marginloom.training.spec import RunSpec, training_threads
from marginloom.training.train import train_as

#: When labels are found: with the arcs, or in a second step, when the tree is known.
LABEL_STAGES = ("tree", "arc")
#: Trees that the second step learns from.
LABEL_TREES = ("gold", "jackknife")
#: What a slack costs in the second step, where the user does not say it.
LABEL_COST = 0.1
_PREFIX = "label_step."


def bits_of_rows(hash_bits: int, label_count: int) -> int:
    """Return the bits of a hash of features with a weight for each label, where others have `hash_bits`.

    Examples
    --------
    >>> bits_of_rows(22, 49)
    17
    """
    stride = -(-label_count // 8) * 8
    return max(hash_bits - stride.bit_length() + 1, 1)


def check_label_options(labelled: Any, stage: Any, cost: Any, trees: Any) -> bool:
    """Return whether labels are found when the tree is known; `InputError` if options are wrong or have no effect.

    Examples
    --------
    >>> check_label_options(True, "tree", None, "gold"), check_label_options(False, "tree", None, "gold")
    (True, False)
    """
    labelled = checked("labelled", labelled, "switch")
    stage = checked("label_stage", stage, one_of(*LABEL_STAGES))
    trees = checked("label_trees", trees, one_of(*LABEL_TREES))
    in_tree = bool(labelled and stage == LABEL_STAGES[0])
    if cost is not None:
        checked("label_cost", cost, "positive")
    given = {"label_cost (--label-C)": cost is not None, "label_trees (--label-trees)": trees != LABEL_TREES[0]}
    for name in (name for name, there in given.items() if there and not in_tree):
        raise InputError(
            f"{name} is about labels that are found when the tree is known; ask for these with labelled=True "
            "(--labelled), without label_stage='arc' (--label-stage arc)"
        )
    return in_tree


class LabelSpace(NamedTuple):
    """How many labels there are, and which ones words without a head, and the others, may have."""

    size: int
    at_root: tuple[int, ...]
    elsewhere: tuple[int, ...]

    def allowed(self) -> NDArray[np.uint8]:
        """Return a row for arcs inside a sentence and one for those of roots, with 1 where a label may stand."""
        rows = np.zeros((2, self.size), dtype=np.uint8)
        rows[0, list(self.elsewhere)] = 1
        rows[1, list(self.at_root)] = 1
        return rows


class TreeLabelTask(Task):
    """The arcs of trees, to be labelled: for each head the chain of its dependents, with or without their gold labels.

    Parameters
    ----------
    arcs : _core.ArcChains
        The chains, with their features.
    feature_count : int
        Number of features.
    space : LabelSpace
        The labels.
    gold : array of uint16, optional
        The gold labels of the words of all sentences in a row.
    """

    core: _core.SequenceTask

    def __init__(
        self, arcs: _core.ArcChains, feature_count: int, space: LabelSpace, gold: NDArray[np.uint16] | None = None
    ) -> None:
        self._arcs, self._feature_count, self._space = arcs, feature_count, space
        self._gold = None if gold is None else gold[arcs.words.astype(np.int64)]
        check_weight_count(_core.SequenceTask.weight_rows(feature_count, space.size), self.way_to_need_less)
        data = _core.SequenceData(
            sentences=arcs.chains,
            tokens=arcs.offsets,
            features=arcs.features,
            values=None,
            gold=self._gold,
            feature_count=feature_count,
            label_count=space.size,
            observation_offsets=None,
            observations=None,
            kinds=arcs.kinds,
            allowed=space.allowed().reshape(-1),
        )
        options = _core.SequenceOptions(start_end=True, label_costs=[], forbidden=[], order=1, beam=0)
        try:
            self.core = _core.SequenceTask(data, options, None, "max-violation")
        except ValueError as error:
            raise InputError(str(error)) from error

    @property
    def fingerprint(self) -> str:
        """Identify the chains and their labels."""
        digest = hashlib.sha256(self._arcs.chains.tobytes())
        digest.update(b"" if self._gold is None else self._gold.tobytes())
        digest.update(json.dumps(self._space).encode())
        return digest.hexdigest()

    @property
    def memory(self) -> int:
        """Bytes of the arcs' features and labels."""
        arcs = self._arcs
        arrays = (arcs.chains, arcs.words, arcs.kinds, arcs.offsets, arcs.features)
        return sum(int(array.nbytes) for array in arrays) + (0 if self._gold is None else int(self._gold.nbytes))

    @property
    def entries(self) -> int:
        """Features of all arcs together."""
        return int(self._arcs.features.size)

    @property
    def scaled(self) -> bool:
        """Features are indicators."""
        return False

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the scores of the longest chain."""
        return WEIGHT * int(np.diff(self._arcs.chains.astype(np.int64)).max(initial=0)) * int(self.core.stride)

    @property
    def pass_work(self) -> float:
        """Products of features with weights, and transitions."""
        count = self._space.size
        return float(count * (self.entries + int(self._arcs.words.size) * count))

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return "take fewer buckets for features (--hash-bits, hash_bits), or fewer labels"

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.uint16]:
        """Return the best labels of the words of all sentences in a row."""
        found = self._predictions(weights, n_threads, 1).outputs
        wide = self.core.bytes_per_label == 2
        labels = np.zeros(self._arcs.words.size, dtype=np.uint16)
        labels[self._arcs.words.astype(np.int64)] = found.view("<u2") if wide else found
        return labels


@dataclasses.dataclass(kw_only=True)
class TreeLabeller:
    """Finds the labels of arcs when the tree is known.

    Attributes
    ----------
    features : ArcFeatureSet
        What arcs are labelled by, with the method ``labels``; its features are hashed.
    space : LabelSpace
        The labels.
    weights : array
        The weights.
    certificate : Certificate or None
        How far from the optimum the weights can be.
    settings : dict
        How it was trained.
    """

    features: ArcFeatureSet
    space: LabelSpace
    weights: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(0))
    certificate: Certificate | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def bits(self) -> int:
        """Bits of the hash that numbers features."""
        assert self.features.hash_bits is not None
        return self.features.hash_bits

    @property
    def dimension(self) -> int:
        """Number of weights that features and labels ask for."""
        rows = _core.SequenceTask.weight_rows(1 << self.bits, self.space.size)
        return rows.count * rows.stride

    def task_of(
        self,
        values: NDArray[np.uint64],
        sentences: NDArray[np.uint64],
        heads: NDArray[np.uint16],
        gold: NDArray[np.uint16] | None = None,
        n_threads: int = 1,
    ) -> TreeLabelTask:
        """Return the task of labelling the arcs of trees; `values` are those of the features."""
        require_memory(
            f"labelling the arcs of {heads.size:,} words",
            {"features": 8 * heads.size * self.features.template_count},
            "take a smaller set of features, or fewer sentences at a time",
        )
        extractor = self.features.native_extractor
        arcs = extractor.encode(values.reshape(-1), sentences, heads, self.bits, n_threads)
        return TreeLabelTask(arcs, 1 << self.bits, self.space, gold)

    def predict(
        self, values: NDArray[np.uint64], sentences: NDArray[np.uint64], heads: NDArray[np.uint16], n_threads: int = 1
    ) -> NDArray[np.uint16]:
        """Return the labels of the words of all sentences in a row."""
        if heads.size == 0:
            return np.zeros(0, dtype=np.uint16)
        n_threads = min(n_threads, sentences.size - 1)  # to start one costs more than a sentence
        return self.task_of(values, sentences, heads, None, n_threads).predict(self._trained_weights(), n_threads)

    def _trained_weights(self) -> NDArray[np.float64]:
        return self.weights if self.weights.size else np.zeros(self.dimension)

    def report(self) -> dict[str, Any]:
        """Return how it was trained, and its certificate, for reports."""
        numbers = ("primal", "dual", "gap", "exact", "bounded")
        return {**self.settings, **{name: getattr(self.certificate, name, None) for name in numbers}}

    def header(self) -> dict[str, Any]:
        """Return what a file has of it as JSON."""
        return {
            "space": [self.space.size, list(self.space.at_root), list(self.space.elsewhere)],
            "certificate": None if self.certificate is None else dataclasses.asdict(self.certificate),
            "settings": self.settings,
        }

    def tensors(self) -> Tensors:
        """Return what a file has of it as arrays."""
        own = {"weights": self._trained_weights(), **self.features.tensors()}
        return {_PREFIX + name: array for name, array in own.items()}

    @classmethod
    def load(cls, header: Mapping[str, Any], tensors: Tensors, settings: Mapping[str, Any]) -> TreeLabeller:
        """Make it from what a file has of it, which may be damaged; `settings` are those of the model."""
        own = {name.removeprefix(_PREFIX): array for name, array in tensors.items() if name.startswith(_PREFIX)}
        count, at_root, elsewhere = header["space"]
        space = LabelSpace(
            checked("label_count", count, "positive count"), _numbers(at_root, count), _numbers(elsewhere, count)
        )
        certificate = header["certificate"]
        labeller = cls(
            features=ArcFeatureSet.load(own, settings),
            space=space,
            weights=own["weights"],
            certificate=None if certificate is None else _known_certificate(certificate),
            settings=dict(header["settings"]),
        )
        if labeller.features.method != "labels" or labeller.features.hash_bits is None:
            raise ValueError("the features of labels are those of something else")
        weights = labeller.weights
        if weights.dtype != np.float64 or weights.shape != (labeller.dimension,) or not np.isfinite(weights).all():
            raise ValueError(f"{labeller.dimension} finite weights of labels were expected")
        return labeller


def _known_certificate(stored: Mapping[str, Any]) -> Certificate:
    found = Certificate(**stored)
    if not all(type(number) is float for number in (found.primal, found.dual, found.gap)):
        raise ValueError(f"{stored!r} is no certificate")
    return found


def _numbers(stored: Any, count: int) -> tuple[int, ...]:
    if not stored or any(type(number) is not int or not 0 <= number < count for number in stored):
        raise ValueError(f"{stored!r} are not the numbers of labels")
    return tuple(stored)


@dataclasses.dataclass(frozen=True)
class LabelStep:
    """The training of a labeller, ready to run.

    Attributes
    ----------
    labeller : TreeLabeller
        Without weights so far.
    pose : callable
        Returns the gold labels on the trees to learn from.
    spec : RunSpec
        How.
    """

    labeller: TreeLabeller
    pose: Callable[[], TreeLabelTask]
    spec: RunSpec

    @property
    def name(self) -> str:
        """What reports call it."""
        return "labels"

    def train(self) -> Result:
        """Train, and put weights, certificate and settings into the labeller."""
        result = train_as(self.pose(), self.spec)
        labeller, settings = self.labeller, result.trace.settings
        labeller.weights, labeller.certificate = result.weights, result.certificate
        labeller.settings |= {name: settings[name] for name in ("algorithm", "C", "loss", "tol") if name in settings}
        labeller.settings |= {"iterations": result.iterations, "stopped": result.stopped}
        return result


def label_spec(spec: RunSpec, cost: float | None) -> RunSpec:
    """Return how labels are learned in a run: by ``auto``, with their own C, in this process and without callbacks.

    Examples
    --------
    >>> label_spec(RunSpec(algorithm="sgd", random_state=7), None).algorithm
    'auto'
    """
    seed = spec.random_state if isinstance(spec.random_state, int) else 0
    threads = training_threads(spec.algorithm, spec.n_threads)
    return RunSpec(
        C=LABEL_COST if cost is None else cost, n_threads=threads, random_state=seed, reproducible=spec.reproducible
    )
