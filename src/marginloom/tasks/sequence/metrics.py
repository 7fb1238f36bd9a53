"""Scores of label sequences, and of the spans that they mark."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError, ScoreWarning
from marginloom.tasks.base.metrics import averages, confusions, precision_recall_f1, ratio, scores_per_label
from marginloom.tasks.sequence.spans import OUTSIDE, SpanLabels, check_labels, check_scheme, span_style

Label: TypeAlias = str | int

#: The scores that are worth a place in every row of a trace.
SHORT = ("accuracy", "precision", "recall", "f1")


def sequence_scores(
    gold: Sequence[Sequence[Label]], predicted: Sequence[Sequence[Label]], strict: str | None = None
) -> dict[str, Any]:
    """Score predicted label sequences against the true ones.

    Parameters
    ----------
    gold : sequence of sequences of str or int
        The true labels of each sentence.
    predicted : sequence of sequences of str or int
        The predicted labels, of the same lengths.
    strict : {"bio", "bioes", "bilou", "ioe"}, optional
        Only spans that are well formed in this scheme count, in both; otherwise spans are found by the rules of
        conlleval, see `marginloom.tasks.sequence.spans.spans`.

    Returns
    -------
    dict
        ``accuracy`` over tokens, 0.0 where there is none. Where the true labels mark spans (`is_span_labelling`) also
        ``precision``, ``recall`` and ``f1`` over the spans of all types together. ``macro_precision``,
        ``macro_recall``, ``macro_f1``: the means over the types of spans, or over the labels where they mark none;
        ``weighted_precision`` and so on: the means weighted by support. ``per_label``: for each type or label
        ``precision``, ``recall``, ``f1`` and ``support``, how often it is true. ``confusions``: the most frequent pairs
        of a gold label and a wrong one, as `marginloom.tasks.base.metrics.confusions` returns them; also where labels
        mark spans, the pairs are of the labels of tokens.

    Raises
    ------
    InputError
        If the two do not have the same number of sentences, or a sentence not the same number of labels; or if true
        labels are not of the scheme that `strict` names.

    Warns
    -----
    ScoreWarning
        If true labels mark no span: recall and F1 are 0 then, whatever is predicted.

    Examples
    --------
    >>> scores = sequence_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    >>> scores["accuracy"], scores["precision"], scores["recall"]
    (0.75, 1.0, 0.5)
    >>> scores["per_label"]["LOC"]
    {'precision': 0.0, 'recall': 0.0, 'f1': 0.0, 'support': 1}
    >>> sequence_scores([["NOUN", "VERB"]], [["NOUN", "NOUN"]])["macro_recall"]
    0.5
    """
    check_lengths(gold, predicted)
    flat = [[label for labels in sentences for label in labels] for sentences in (gold, predicted)]
    names = sorted({*flat[0], *flat[1]}, key=lambda label: (isinstance(label, str), label))
    numbers = {label: number for number, label in enumerate(names)}
    right, guessed = (np.array([numbers[label] for label in labels], dtype=np.int64) for labels in flat)
    scores = numbered_scores(right, guessed, np.cumsum([0, *map(len, gold)]), names, strict)
    warn_without_spans(scores, strict)
    return {**scores, "confusions": confusions(right, guessed, names)}


def numbered_scores(
    gold: NDArray[Any],
    predicted: NDArray[Any],
    bounds: NDArray[np.int64],
    names: Sequence[Any],
    strict: str | None = None,
) -> dict[str, Any]:
    """Score label sequences as `sequence_scores` does, without confusions; look at a name once only, and never warn.

    Parameters
    ----------
    gold, predicted : array of int
        Numbers of the labels of all sentences in a row.
    bounds : array of int
        Where sentences begin and end.
    names : sequence of str or int
        The labels; where all true ones are outside of spans, they tell whether labels mark spans at all.
    strict : str, optional
        The scheme of spans that count.

    Returns
    -------
    dict
        The scores.

    Examples
    --------
    >>> numbered_scores(np.array([0, 1, 0]), np.array([0, 1, 1]), np.array([0, 3]), ["O", "B-PER"])["precision"]
    0.5
    """
    check_scheme(strict)
    occurring = [names[number] for number in np.flatnonzero(np.bincount(gold)).tolist()]
    told_by = occurring if set(occurring) - {OUTSIDE} else names
    if strict is not None:
        check_labels(told_by, strict)
    style = span_style(told_by)
    scores: dict[str, Any] = {"accuracy": ratio(int(np.count_nonzero(gold == predicted)), gold.size)}
    if style is None:
        counts = [np.bincount(found, minlength=len(names)) for found in (gold[gold == predicted], predicted, gold)]
        per_label = scores_per_label(names, *(found.tolist() for found in counts))
    else:
        read = SpanLabels.of(names, style)
        counts = _span_counts(read, gold, predicted, bounds, strict)
        scores |= precision_recall_f1(*(int(found.sum()) for found in counts))
        per_label = scores_per_label(read.types, *(found.tolist() for found in counts))
    return {**scores, **averages(per_label), "per_label": per_label}


def warn_without_spans(scores: dict[str, Any], strict: str | None = None) -> None:
    """Say that scores of spans mean nothing if no span is true."""
    if "f1" in scores and not any(row["support"] for row in scores["per_label"].values()):
        which = f" that is well formed in {strict}" if strict else ""
        text = f"the gold labels mark no span{which}, so recall and f1 are 0 whatever is predicted"
        warnings.warn(text, ScoreWarning, stacklevel=3)


def _span_counts(
    read: SpanLabels, gold: NDArray[Any], predicted: NDArray[Any], bounds: NDArray[np.int64], strict: str | None
) -> list[NDArray[np.int64]]:
    """Return for each type how many spans are predicted rightly, are predicted, and are right."""
    kinds, starts, ends = read.spans(gold, bounds, strict)
    guessed, guessed_starts, guessed_ends = read.spans(predicted, bounds, strict)
    right_end = np.zeros(gold.size, dtype=np.int64)
    right_end[starts] = ends
    right_kind = np.zeros(gold.size, dtype=np.int64)
    right_kind[starts] = kinds
    hit = (right_end[guessed_starts] == guessed_ends) & (right_kind[guessed_starts] == guessed)
    return [np.bincount(found, minlength=len(read.types)) for found in (guessed[hit], guessed, kinds)]


def check_lengths(gold: Sequence[Sequence[Label]], predicted: Sequence[Sequence[Label]]) -> None:
    """Raise `InputError` unless there is one predicted label for each true one."""
    if len(gold) != len(predicted):
        raise InputError(
            f"gold has {len(gold)} sentences and predicted has {len(predicted)}; give both for the same sentences"
        )
    for index, (truth, guess) in enumerate(zip(gold, predicted, strict=True)):
        if isinstance(truth, str) or isinstance(guess, str):
            raise InputError(f"sentence {index} is a string; give a list of labels for each sentence")
        if len(truth) != len(guess):
            raise InputError(
                f"sentence {index} (counted from 0) has {len(truth)} labels in gold "
                f"and {len(guess)} in predicted; "
                "give one predicted label for each token"
            )
