"""Scores of dependency trees: how many words have the right head, and the right label too."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError, ScoreWarning
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.metrics import confusions, ratio, scores_per_label

#: The scores that are worth a place in every row of a trace.
SHORT = ("uas", "las", "uas_punct", "las_punct")


def parse_scores(
    forms: Iterable[str] | NumberedLabels,
    sentences: NDArray[Any],
    gold_heads: NDArray[Any],
    heads: NDArray[Any],
    gold_labels: Iterable[str] | NumberedLabels | None = None,
    labels: Iterable[str] | NumberedLabels | None = None,
) -> dict[str, Any]:
    """Score predicted trees against the true ones.

    Parameters
    ----------
    forms : NumberedLabels or iterable of str
        The words of all sentences in a row.
    sentences : array of int
        Where sentences begin and end, counted in words.
    gold_heads, heads : array of int
        The true and the predicted head of every word.
    gold_labels, labels : NumberedLabels or iterable of str, optional
        The true and the predicted label of every word.

    Returns
    -------
    dict
        ``uas``: the share of words that have the right head, and ``las``: the right head and label, as in CoNLL-X:
        words that wholly consist of punctuation (of Unicode's categories P) are left out. ``uas_punct`` and
        ``las_punct``: the same over all words, as in CoNLL-2018. 0.0 where there is nothing to score. What follows a
        colon in labels does not count. ``per_label``: for each label ``precision``, ``recall`` and ``f1`` of right
        heads with it, over the words that ``las`` counts, and ``support``, how often it is true. ``confusions``: the
        most frequent pairs of a gold label and a wrong one, as `marginloom.tasks.base.metrics.confusions` returns them,
        over the same words, whatever their heads. Without labels there is none of ``las``, ``per_label`` and
        ``confusions``.

    Raises
    ------
    InputError
        If they are not all for the same number of words.

    Warns
    -----
    ScoreWarning
        If there is no word but punctuation, so that scores are 0 whatever is predicted.

    Examples
    --------
    >>> gold = ["nsubj:pass", "root", "punct"]
    >>> heads = np.array([2, 0, 2]), np.array([2, 0, 1])
    >>> scores = parse_scores(["it", "rains", "."], np.array([0, 3]), *heads, gold, ["nsubj", "root", "punct"])
    >>> scores["las"], scores["per_label"]["nsubj"]["recall"]
    (1.0, 1.0)
    """
    scorer = ParseScorer(forms, sentences, gold_heads, gold_labels)
    scores = scorer.report(heads, labels)
    scorer.warn_if_empty()
    return scores


class ParseScorer:
    """True trees, against which predictions are scored as often as training asks; see `parse_scores`.

    Parameters
    ----------
    forms : NumberedLabels or iterable of str
        The words of all sentences in a row.
    sentences : array of int
        Where sentences begin and end, counted in words.
    gold_heads : array of int
        The true head of every word.
    gold_labels : NumberedLabels or iterable of str, optional
        The true label of every word.

    Examples
    --------
    >>> scorer = ParseScorer(["Go", "!"], np.array([0, 2]), np.array([0, 1]))
    >>> scorer.scores(np.array([2, 0]))
    {'uas': 0.0, 'uas_punct': 0.0}
    """

    def __init__(
        self,
        forms: Iterable[str] | NumberedLabels,
        sentences: NDArray[Any],
        gold_heads: NDArray[Any],
        gold_labels: Iterable[str] | NumberedLabels | None = None,
    ) -> None:
        self._size = int(sentences[-1])
        words = NumberedLabels.of(forms)
        self._check_size("forms", len(words))
        self._check_size("true heads", gold_heads.size)
        self._counted = ~_is_punctuation(words)
        self._heads = gold_heads
        self._labels = None if gold_labels is None else NumberedLabels.of(gold_labels)
        if self._labels is not None:
            self._check_size("true labels", len(self._labels))

    def scores(self, heads: NDArray[Any], labels: Iterable[str] | NumberedLabels | None = None) -> dict[str, Any]:
        """Return the scores of predicted heads and labels without the confusions, and never warn."""
        self._check_size("predicted heads", heads.size)
        attached = heads == self._heads
        scores: dict[str, Any] = self._shares("uas", attached)
        if self._labels is None or labels is None:
            return scores
        predicted = NumberedLabels.of(labels)
        self._check_size("predicted labels", len(predicted))
        names, gold, guessed = _as_basic_labels(self._labels, predicted)
        right = attached & (gold == guessed)
        scores |= self._shares("las", right)
        kept = self._counted
        counts = [np.bincount(found, minlength=len(names)) for found in (gold[right & kept], guessed[kept], gold[kept])]
        scores["per_label"] = scores_per_label(names, *(found.tolist() for found in counts))
        return scores

    def report(self, heads: NDArray[Any], labels: Iterable[str] | NumberedLabels | None = None) -> dict[str, Any]:
        """Return the scores with the confusions of labels, and never warn."""
        predicted = None if labels is None else NumberedLabels.of(labels)
        scores = self.scores(heads, predicted)
        if self._labels is not None and predicted is not None:
            names, gold, guessed = _as_basic_labels(self._labels, predicted)
            scores["confusions"] = confusions(gold[self._counted], guessed[self._counted], names)
        return scores

    def warn_if_empty(self) -> None:
        """Say that scores mean nothing if there is no word to score."""
        if not self._counted.any():
            what = "there is no word but punctuation" if self._size else "there is no word"
            warnings.warn(f"{what}, so uas and las are 0 whatever is predicted", ScoreWarning, stacklevel=3)

    def _shares(self, name: str, right: NDArray[np.bool_]) -> dict[str, Any]:
        kept = self._counted
        return {
            name: ratio(int(np.count_nonzero(right & kept)), int(np.count_nonzero(kept))),
            f"{name}_punct": ratio(int(np.count_nonzero(right)), self._size),
        }

    def _check_size(self, what: str, size: int) -> None:
        if size != self._size:
            raise InputError(f"there are {size} {what} for {self._size} words; give one for each word")


def _is_punctuation(words: NumberedLabels) -> NDArray[np.bool_]:
    """Tell which words wholly consist of punctuation, looking at each different one once."""
    found = [bool(name) and all(unicodedata.category(letter)[0] == "P" for letter in name) for name in words.names]
    return np.array(found, dtype=bool)[words.numbers]


def _as_basic_labels(
    first: NumberedLabels, second: NumberedLabels
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return labels without what follows their colon, in order, and the numbers of both by these."""
    basic = [[str(name).partition(":")[0] for name in labels.names.tolist()] for labels in (first, second)]
    names = sorted({*basic[0], *basic[1]})
    places = {name: place for place, name in enumerate(names)}
    by_number = [np.array([places[name] for name in found], dtype=np.int64) for found in basic]
    return names, by_number[0][first.numbers], by_number[1][second.numbers]
