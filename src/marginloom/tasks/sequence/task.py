"""Sequences: one label per token; inference is in cpp/tasks/sequence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import WEIGHT, check_weight_count
from marginloom.common.parameters import checked
from marginloom.core.marginals import MarginalTask
from marginloom.core.prefixes import UPDATES, why_a_beam_lacks
from marginloom.errors import InputError
from marginloom.features.base import Encoded
from marginloom.tasks.base.inputs import has_sizes
from marginloom.tasks.sequence.histories import Histories

#: Labels two before a token that exact search of order 2 looks at, usually: others cannot lead.
_TRIED = 16
_MOST_STATES = 1 << 20


class SequenceTask(MarginalTask):
    """Sentences to be labelled, with or without their right labels.

    Parameters
    ----------
    encoded : Encoded
        The sentences' features.
    gold : array of uint16 or None
        The right label of every token.
    label_count : int
        How many labels there are.
    start_end : bool
        Whether the first and the last label have weights of their own.
    label_costs : sequence of float
        What a wrong label costs where this one is right; empty for 1 everywhere (Hamming loss).
    forbidden : sequence of pairs
        Labels that must not follow each other; `marginloom.tasks.sequence.constraints.BOUNDARY` as one of them is the
        start or end.
    histories : Histories, optional
        Which labels before a token, joined with its observations, have a weight.
    order : {1, 2}
        Labels before a token that count; 2 with a beam.
    beam : int, optional
        States that beam search keeps; None for exact search.
    update : {"max-violation", "early", "standard"}
        Which prefix of a beam search is learnt from.

    Examples
    --------
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> task.core.size
    1
    """

    def __init__(
        self,
        encoded: Encoded,
        gold: NDArray[np.uint16] | None,
        label_count: int,
        *,
        start_end: bool = False,
        label_costs: Sequence[float] = (),
        forbidden: Sequence[tuple[int, int]] = (),
        histories: Histories | None = None,
        order: int = 1,
        beam: int | None = None,
        update: str = UPDATES[0],
    ) -> None:
        self._encoded = encoded
        self._gold = gold
        self._label_count = label_count
        self._histories = histories
        self.order = order
        self.beam = beam
        if beam is not None and encoded.tokens is None:
            raise InputError(
                "beam search needs sparse features, and these are a dense array: make it sparse "
                "(scipy.sparse.csr_matrix), or search exactly, without beam"
            )
        rows = _core.SequenceTask.weight_rows(encoded.feature_count, label_count)
        check_weight_count(rows, self.way_to_need_less)
        start_end = checked("start_end", start_end, "switch")
        self._options = {"start_end": start_end, "label_costs": list(label_costs), "constraints": list(forbidden)}
        if order != 1:
            self._options |= {"order": order, "beam": beam, "update": update}
        try:
            data = _core.SequenceData(
                sentences=encoded.sentences,
                tokens=encoded.tokens,
                features=encoded.features,
                values=encoded.values,
                gold=gold,
                feature_count=encoded.feature_count,
                label_count=label_count,
                observation_offsets=encoded.observation_offsets,
                observations=encoded.observations,
                kinds=None,
                allowed=None,
            )
            options = _core.SequenceOptions(
                start_end=start_end,
                label_costs=list(label_costs),
                forbidden=list(forbidden),
                order=order,
                beam=beam or 0,
            )
            self.core: _core.SequenceTask = _core.SequenceTask(
                data, options, None if histories is None else histories.core, update
            )
        except ValueError as error:
            raise InputError(str(error)) from error

    @classmethod
    def from_lists(
        cls,
        sentences: Sequence[Sequence[Sequence[int]]],
        labels: Sequence[Sequence[int]] | None,
        *,
        feature_count: int,
        label_count: int,
    ) -> SequenceTask:
        """Make a task from features and labels that are numbered already, for small things."""
        tokens = [token for sentence in sentences for token in sentence]
        encoded = Encoded(
            np.cumsum([0, *map(len, sentences)]).astype(np.uint64),
            np.cumsum([0, *map(len, tokens)]).astype(np.uint64),
            np.array([feature for token in tokens for feature in token], dtype=np.uint32),
            None,
            feature_count,
        )
        gold = None
        if labels is not None:
            gold = np.array([label for sentence in labels for label in sentence], dtype=np.uint16)
        return cls(encoded, gold, label_count)

    @property
    def fingerprint(self) -> str:
        """Identify the sentences' lengths and labels; features may change between a state and its use."""
        digest = hashlib.sha256(self._encoded.sentences.tobytes())
        digest.update(b"" if self._gold is None else self._gold.tobytes())
        digest.update(str(self._label_count).encode())
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the sentences, their labels, their features and the options."""
        encoded = self._encoded
        digest = hashlib.sha256(str(encoded.feature_count).encode())
        for array in (encoded.tokens, encoded.features, encoded.values):
            digest.update(b"" if array is None else array.tobytes())
        for array in self._history_arrays:
            digest.update(array.tobytes())
        options = {name: json.dumps(value) for name, value in self._options.items()}
        return {"examples": self.fingerprint, **options, "features": digest.hexdigest()}

    @property
    def _history_arrays(self) -> list[NDArray[Any]]:
        """Observations of the tokens, and the combinations that have weights; none without histories."""
        if self._histories is None:
            return []
        table, encoded = self._histories, self._encoded
        arrays = (encoded.observation_offsets, encoded.observations, table.offsets, table.before, table.labels)
        return [array for array in arrays if array is not None]

    @property
    def memory(self) -> int:
        """Bytes of the sentences' features and labels."""
        encoded = self._encoded
        arrays = (encoded.sentences, encoded.tokens, encoded.features, encoded.values, self._gold)
        return sum(array.nbytes for array in (*arrays, *self._history_arrays) if array is not None)

    @property
    def entries(self) -> int:
        """Features of all tokens together."""
        features = self._encoded.values if self._encoded.features is None else self._encoded.features
        return 0 if features is None else features.size

    @property
    def scaled(self) -> bool:
        """Whether features have values of different sizes."""
        return self._encoded.values is not None and has_sizes(self._encoded.values)

    @property
    def pass_work(self) -> float:
        """Products of features with weights, and transitions."""
        tokens, labels = int(self._encoded.sentences[-1]), self._label_count
        if self.order == 1:
            return float(labels * (self.entries + tokens * labels))
        states = labels * min(labels, _TRIED) if self.beam is None else min(self.beam, labels**2)
        return float(labels * (self.entries + tokens * states))

    @property
    def buffer_bytes(self) -> int:
        """Bytes of a sentence's scores, of transitions with constraints, and of a difference of dense features."""
        lengths = np.diff(self._encoded.sentences.astype(np.int64))
        longest = int(lengths.max(initial=0))
        scores = longest * self.core.stride
        if self.order == 2:
            states = self._label_count * self.core.stride if self.beam is None else 2 * min(self.beam, _MOST_STATES)
            scores += longest * states
        copied = self._options["constraints"] or self._histories is not None
        transitions = self._label_count * self.core.stride if copied else 0
        difference = self.core.dimension if self._encoded.tokens is None and self._gold is not None else 0
        return WEIGHT * (scores + transitions + difference)

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        count = self._label_count
        if self.order == 2 and self.beam is None:
            return (
                f"search with a beam (--beam 8, beam=8 in Python): exact search of order 2 keeps {count**2:,} pairs of "
                "labels for every token of a sentence"
            )
        return (
            "take fewer features, with min_count or hash_bits (--min-count, --hash-bits), or fewer labels: "
            f"pairs of the {count:,} that there are have {count**2:,} weights alone"
        )

    def why_it_lacks(self, need: str) -> str:
        """Say why a learner or an engine that needs this cannot have it: the rest of a sentence."""
        if self.beam is not None:
            return why_a_beam_lacks(f"beam={self.beam}")
        if self.order == 2 and need == "k-best":
            return "search of order 2 finds the best labelling only"
        return super().why_it_lacks(need)

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.uint16]:
        """Return the best label of every token, all sentences in a row."""
        return self.predict_k_best(weights, 1, n_threads)[0]

    def predict_k_best(
        self, weights: NDArray[np.float64], k: int, n_threads: int = 1
    ) -> tuple[NDArray[np.uint16], NDArray[np.float64], NDArray[np.uint64]]:
        """Return the labels of the k best labellings of every sentence in a row, their scores, and whose they are.

        Sentence i has the labellings from the i-th number of the last array to the one before the next.
        """
        found = self._predictions(weights, n_threads, k)
        return self._labels(found), found.scores, found.example_bounds

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the labels of the tokens."""
        return self._labels(found).astype(np.uint32)

    def _labels(self, found: _core.Predictions) -> NDArray[np.uint16]:
        wide = self.core.bytes_per_label == 2
        return found.outputs.view("<u2").astype(np.uint16, copy=False) if wide else found.outputs.astype(np.uint16)
