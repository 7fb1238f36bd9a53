"""What scores weights of a parser on sentences with their gold trees."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE
from marginloom.errors import InputError
from marginloom.labels.label_set import UNSEEN
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.model import Evaluator
from marginloom.tasks.parse.gold import check_trees
from marginloom.tasks.parse.metrics import SHORT, ParseScorer
from marginloom.tasks.parse.task import Trees
from marginloom.tasks.parse.treebank import Treebank

if TYPE_CHECKING:
    from marginloom.tasks.parse.model import ParseModel


class ParseEvaluator(Evaluator):
    """Scores weights of a parser on sentences with their right trees, which are encoded once."""

    def __init__(self, model: ParseModel, bank: Treebank, n_threads: int | None = 1) -> None:
        self.n_threads = resolve_threads(n_threads)
        self._labels = model.labels
        check_trees(bank)
        gold = bank.labels if model.labels is not None else None
        if model.labels is not None and gold is None:
            raise InputError("the parser has labels, and the trees to score have none: give pairs (head, label)")
        self._scorer = ParseScorer(bank.forms(), bank.sentences, bank.heads, gold)
        self._task = model.task_of(bank.source, bank.sentences)
        self._labeller = model.labeller
        self._label_values = None if model.labeller is None else model.labeller.features.values(bank.source)
        self._bank = bank
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = {} if gold is None or model.labels is None else model.labels.count_unseen(gold)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the sentences with the heads of their words, and the labels if there are any."""
        heads = self._bank.heads.astype(np.uint16)
        if self._labels is None or self._bank.labels is None or self._labeller is not None:
            return CalibrationExamples(self._task, self._task.numbered(Trees(heads, None)))
        gold = self._labels.encode(self._bank.labels)
        choices = self._task.numbered(Trees(heads, np.where(gold == UNSEEN, 0, gold).astype(np.uint16)))
        return CalibrationExamples(self._task, np.where(gold == UNSEEN, NO_CHOICE, choices))

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences and of words."""
        return {"sentences": self._bank.sentences.size - 1, "tokens": int(self._bank.sentences[-1])}

    @property
    def fingerprint(self) -> str:
        """Identify the sentences and their trees, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        digest.update(self._bank.heads.tobytes())
        if self._bank.labels is not None:
            digest.update(repr(self._bank.labels.values().tolist()).encode())
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the shares of words with the right head, and with the right head and label."""
        scores = self._scorer.scores(*self._predicted(weights))
        return {name: scores[name] for name in SHORT if name in scores}

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores and the confusions of labels, and warn where scores mean nothing."""
        self._scorer.warn_if_empty()
        return self._scorer.report(*self._predicted(weights))

    def _predicted(self, weights: NDArray[np.float64]) -> tuple[NDArray[Any], NumberedLabels | None]:
        """Return the heads and, if there are any, the labels."""
        heads, labels = self._task.predict(weights, self.n_threads)
        if self._labeller is not None and self._label_values is not None:
            labels = self._labeller.predict(self._label_values, self._bank.sentences, heads, self.n_threads)
        if self._labels is None or labels is None:
            return heads, None
        names = np.array(self._labels.names, dtype=object)
        return heads, NumberedLabels(names, labels.astype(np.uint32))
