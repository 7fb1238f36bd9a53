"""Dependency trees: a head for every word, with or without a label; inference is in cpp/tasks/parse."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import WEIGHT, require_memory
from marginloom.common.parameters import checked
from marginloom.core.marginals import MarginalTask
from marginloom.errors import InputError
from marginloom.tasks.parse.sentences import lengths_of


@dataclasses.dataclass(frozen=True)
class BeamOptions:
    """How trees are built from left to right.

    Attributes
    ----------
    beam : int
        States that are kept after each step.
    merging : bool
        Whether states that features cannot tell apart are one (dynamic programming).
    update : {"max-violation", "early", "standard"}
        Which prefix of a derivation is learnt from.
    """

    beam: int = 8
    merging: bool = True
    update: str = "max-violation"


@dataclasses.dataclass(frozen=True)
class TreeOptions:
    """Which trees there are, and how they are found.

    Attributes
    ----------
    order : {1, 2}
        Whether arcs score alone, or together with their nearest sibling too.
    projective : bool
        Whether no arcs cross.
    roots : {"one", "many"}
        How many words may have no head.
    label_count : int
        Number of labels, 0 if arcs have none.
    root_labels, other_labels : sequence of int
        Labels that words without a head, and the others, may have.
    search : BeamOptions, optional
        How trees are built from left to right; None: they are found among all trees by the scores of arcs.
    """

    order: int = 1
    projective: bool = True
    roots: str = "one"
    label_count: int = 0
    root_labels: Sequence[int] = ()
    other_labels: Sequence[int] = ()
    search: BeamOptions | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "projective", checked("projective", self.projective, "switch"))

    @property
    def method(self) -> str:
        """What users call the way in which trees are found."""
        return "graph" if self.search is None else "transition"

    def stored(self) -> dict[str, Any]:
        """Return what files have of them; a search only where there is one."""
        found = dataclasses.asdict(self)
        return found if self.search else {name: value for name, value in found.items() if name != "search"}


class Trees(NamedTuple):
    """Trees of all sentences in a row; `labels` is None where arcs have none."""

    heads: NDArray[np.uint16]
    labels: NDArray[np.uint16] | None


class KBestTrees(NamedTuple):
    """The k best trees: sentence i has those from the i-th of `bounds` to before the next, best first.

    Their probabilities are None unless the model is calibrated.
    """

    trees: list[Trees]
    scores: NDArray[np.float64]
    bounds: NDArray[np.uint64]
    probabilities: NDArray[np.float64] | None = None


class ParseTask(MarginalTask):
    """Sentences to be parsed, with or without their right trees.

    Parameters
    ----------
    sentences : array of uint64
        Where sentences begin and end, counted in words.
    values : array of uint64
        What templates see in every word, a row a word, as `ArcFeatureSet.values` has it.
    features : _core.ArcFeatures or _core.StateFeatures
        What to make of it.
    options : TreeOptions
        Which trees there are.
    gold : Trees or None
        The right ones.
    cache : int
        Bytes for features of all arcs that are kept instead of made again for every search.
    n_threads : int
        Threads to make those.

    Examples
    --------
    >>> from marginloom.tasks.parse.features import ArcFeatureSet
    >>> features = ArcFeatureSet(labelled=False, hash_bits=8)
    >>> values = features.values([[("dogs", "NOUN"), ("bark", "VERB")]])
    >>> gold = Trees(np.array([2, 0], np.uint16), None)
    >>> ParseTask(np.array([0, 2], np.uint64), values, features.core, TreeOptions(), gold).core.size
    1
    """

    core: Any  # _core.ParseTask, or that of a class derived from this one

    def __init__(
        self,
        sentences: NDArray[np.uint64],
        values: NDArray[np.uint64],
        features: Any,
        options: TreeOptions,
        gold: Trees | None = None,
        *,
        cache: int = 0,
        n_threads: int = 1,
    ) -> None:
        self._sentences, self._values, self._gold, self._options = sentences, values, gold, options
        self._features = features
        self._lengths = lengths_of(sentences)
        self._longest = int(self._lengths.max(initial=0))
        data = _core.ParseData(
            sentences=sentences,
            values=values.reshape(-1),
            heads=None if gold is None else gold.heads,
            labels=None if gold is None or options.label_count == 0 else gold.labels,
        )
        try:
            self.core = self._make(data, features, options, cache=cache, n_threads=n_threads)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _make(self, data: _core.ParseData, features: Any, options: TreeOptions, *, cache: int, n_threads: int) -> Any:
        choices = _core.ParseOptions(
            projective=options.projective,
            siblings=options.order == 2,
            one_root=options.roots == "one",
            label_count=options.label_count,
            root_labels=list(options.root_labels),
            other_labels=list(options.other_labels),
            memory=cache,
        )
        return _core.ParseTask(data, choices, features, n_threads)

    @property
    def fingerprint(self) -> str:
        """Identify the sentences' lengths and trees; features may change between a state and its use."""
        digest = hashlib.sha256(self._sentences.tobytes())
        if self._gold is not None:
            digest.update(self._gold.heads.tobytes())
            digest.update(b"" if self._gold.labels is None else self._gold.labels.tobytes())
        digest.update(str(self._options.label_count).encode())
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the sentences, their trees, their features and the options."""
        features = self._features
        digest = hashlib.sha256(json.dumps([features.identity, *features.counts, self.core.dimension]).encode())
        digest.update(self._values.tobytes())
        options = {name: json.dumps(value) for name, value in self._options.stored().items()}
        return {"examples": self.fingerprint, **options, "features": digest.hexdigest()}

    @property
    def memory(self) -> int:
        """Bytes of what templates see, of the right trees, and of features that are kept."""
        return self._array_bytes + int(self.core.kept_bytes)

    @property
    def _array_bytes(self) -> int:
        gold = (None, None) if self._gold is None else self._gold
        arrays = (self._sentences, self._values, *gold)
        return sum(int(array.nbytes) for array in arrays if array is not None)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the chart and the scores of the longest sentence, and of labels for each of its words."""
        side = self._longest + 1
        tables = 8 if self._options.order == 2 else 6
        return WEIGHT * side * (tables * side + 4 * int(self.core.stride))

    @property
    def scaled(self) -> bool:
        """Features of arcs are indicators."""
        return False

    @property
    def pass_work(self) -> float:
        """What arcs take, whose features are looked up or hashed, and the chart."""
        words = lengths_of(self._sentences).astype(np.float64) + 1
        return float(100 * (words**2).sum() + (3 if self._options.order == 2 else 1) * (words**3).sum())

    @property
    def name_of_buffer(self) -> str:
        """What takes `buffer_bytes`."""
        return "a chart of the longest sentence"

    def way_to_parse(self) -> str:
        """Say what a user can do where sentences are too long."""
        return f"split the longest sentence, which has {self._longest:,} words"

    def way_to_need_less(self) -> str:
        """Say what a user can do to need less memory."""
        if self.buffer_bytes > WEIGHT * self.core.dimension:
            return self.way_to_parse()
        return "take fewer bits for features, with hash_bits (--hash-bits), or train without labels"

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> Trees:
        """Return the best tree of every sentence, all in a row."""
        found = self._predictions(weights, n_threads, 1)
        return self._decoded(found.outputs, found.output_bounds, self._lengths)

    def predict_k_best(self, weights: NDArray[np.float64], k: int, n_threads: int = 1) -> KBestTrees:
        """Return the k best trees of every sentence; one of each where the search is not exact."""
        found = self._predictions(weights, n_threads, k)
        counts = lengths_of(found.example_bounds)
        lengths = np.repeat(self._lengths, counts)
        whole = self._decoded(found.outputs, found.output_bounds, lengths)
        ends = np.cumsum(lengths)[:-1]
        labels = [None] * lengths.size if whole.labels is None else np.split(whole.labels, ends)
        trees = [Trees(*tree) for tree in zip(np.split(whole.heads, ends), labels, strict=True)] if lengths.size else []
        return KBestTrees(trees, found.scores, found.example_bounds)

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the heads of the words, or the numbers of heads and labels."""
        lengths = np.repeat(self._lengths, lengths_of(found.example_bounds))
        return self.numbered(self._decoded(found.outputs, found.output_bounds, lengths))

    def numbered(self, trees: Trees) -> NDArray[np.uint32]:
        """Return heads and labels as choices: head times labels plus label."""
        heads = trees.heads.astype(np.uint32)
        return heads if trees.labels is None else heads * np.uint32(self._options.label_count) + trees.labels

    def _predictions(self, weights: NDArray[np.float64], n_threads: int, k: int) -> _core.Predictions:
        """Return the k best trees; `InputError` if a sentence, such as a whole text, is too long for the memory."""
        require_memory(
            f"parsing a sentence of {self._longest:,} words",
            {"scores": self.buffer_bytes * min(n_threads, self._lengths.size)},
            "split it, with a blank line between sentences in files",
        )
        return super()._predictions(weights, n_threads, k)

    def _decoded(self, outputs: NDArray[np.uint8], bounds: NDArray[np.uint64], lengths: NDArray[np.int64]) -> Trees:
        """Take outputs apart, in each of which heads come before labels."""
        label_size = self.core.bytes_per_label
        if label_size == 0:
            return Trees(_numbers(outputs, 2), None)
        runs = np.outer(lengths, (2, label_size)).ravel()
        in_heads = np.repeat(np.arange(runs.size) % 2 == 0, runs)
        return Trees(_numbers(outputs[in_heads], 2), _numbers(outputs[~in_heads], label_size))


def _numbers(written: NDArray[np.uint8], size: int) -> NDArray[np.uint16]:
    """Return numbers of one or two bytes that stand in a row."""
    return written.astype(np.uint16) if size == 1 else written.view("<u2").astype(np.uint16, copy=False)
