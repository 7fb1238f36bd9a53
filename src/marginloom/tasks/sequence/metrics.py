"""Scores of label sequences, and of the spans that they mark."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.metrics import precision_recall_f1, ratio

Label: TypeAlias = str | int
Span: TypeAlias = tuple[str, int, int]

_SPAN_LABEL = re.compile(r"([BIESLU])-(.+)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class _Roles:
    """What labels say of spans, by number: the number of the type, 0 for outside, and what the prefix does."""

    types: list[str]
    kinds: NDArray[np.int64]
    goes_on: NDArray[np.bool_]
    ends: NDArray[np.bool_]

    @classmethod
    def of(cls, names: Sequence[Any]) -> _Roles:
        matches = [_SPAN_LABEL.fullmatch(str(name)) for name in names]
        prefixes = [match[1] if match else "O" for match in matches]
        types = ["", *sorted({match[2] for match in matches if match})]
        numbers = {name: number for number, name in enumerate(types)}
        return cls(
            types,
            np.array([numbers[match[2]] if match else 0 for match in matches], dtype=np.int64),
            np.array([prefix in "IEL" for prefix in prefixes], dtype=np.bool_),
            np.array([prefix in "ELSU" for prefix in prefixes], dtype=np.bool_),
        )

    def spans(self, numbers: NDArray[Any], bounds: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return type, first token and one past the last token of each span of sentences in a row, in order."""
        kind, ends = self.kinds[numbers], self.ends[numbers]
        first = np.zeros(numbers.size + 1, dtype=bool)
        first[bounds[:-1]] = True
        same = np.zeros(numbers.size, dtype=bool)
        same[1:] = (kind[1:] == kind[:-1]) & ~ends[:-1]
        goes_on = (kind > 0) & self.goes_on[numbers] & same & ~first[:-1]
        starts = np.flatnonzero((kind > 0) & ~goes_on)
        last = kind > 0
        last[:-1] &= ~goes_on[1:]
        return kind[starts], starts, np.flatnonzero(last) + 1


def spans(labels: Sequence[str]) -> list[Span]:
    """Find the labelled spans of one sentence by the rules of conlleval.

    A token continues the span before it when its prefix is I, E or L, the types are equal and the token
    before it does not end a span (prefix E, L, S or U). Any other token with a type starts a span, so an
    I- without its B- does too. Labels without such a prefix and type are outside every span, as "O" is.

    Parameters
    ----------
    labels : sequence of str
        The labels of the tokens: BIO, BIOES or BILOU.

    Returns
    -------
    list of (str, int, int)
        Type, first token and one past the last token of each span, in order.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5)]
    """
    roles = _Roles.of(labels)
    kinds, starts, ends = roles.spans(np.arange(len(labels)), np.array([0, len(labels)]))
    names = [roles.types[kind] for kind in kinds.tolist()]
    return list(zip(names, starts.tolist(), ends.tolist(), strict=True))


def is_span_labelling(labels: Iterable[str]) -> bool:
    """Tell whether labels mark spans: each is "O" or a prefix B, I, E, S, L or U, a hyphen and a type.

    Parameters
    ----------
    labels : iterable of str
        All labels, or the distinct ones.

    Returns
    -------
    bool
        False too where no label has a type (only "O", or no label at all).

    Examples
    --------
    >>> is_span_labelling(["O", "B-PER", "I-PER"])
    True
    >>> is_span_labelling(["O", "NOUN"])
    False
    """
    typed = set(labels) - {"O"}
    return bool(typed) and all(_SPAN_LABEL.fullmatch(label) for label in typed)


def sequence_scores(gold: Sequence[Sequence[Label]], predicted: Sequence[Sequence[Label]]) -> dict[str, Any]:
    """Score predicted label sequences against the true ones.

    Parameters
    ----------
    gold : sequence of sequences of str or int
        The true labels of each sentence.
    predicted : sequence of sequences of str or int
        The predicted labels, of the same lengths.

    Returns
    -------
    dict
        ``accuracy`` over tokens, 0.0 where there is none. When `is_span_labelling` holds for the true labels
        also ``precision``, ``recall`` and ``f1`` over the spans of all types together, and ``per_label``:
        for each type these three and its ``support``, the number of true spans.

    Raises
    ------
    InputError
        If the two do not have the same number of sentences, or a sentence not the same number of labels.

    Examples
    --------
    >>> scores = sequence_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
    >>> scores["accuracy"], scores["precision"], scores["recall"]
    (0.75, 1.0, 0.5)
    >>> scores["per_label"]["LOC"]
    {'precision': 0.0, 'recall': 0.0, 'f1': 0.0, 'support': 1}
    >>> sequence_scores([["NOUN", "VERB"]], [["NOUN", "NOUN"]])
    {'accuracy': 0.5}
    """
    _check_lengths(gold, predicted)
    numbers: dict[Label, int] = {}
    right, guessed = (
        np.array([numbers.setdefault(label, len(numbers)) for labels in sentences for label in labels], dtype=np.int64)
        for sentences in (gold, predicted)
    )
    return numbered_scores(right, guessed, np.cumsum([0, *map(len, gold)]), list(numbers))


def numbered_scores(
    gold: NDArray[Any], predicted: NDArray[Any], bounds: NDArray[np.int64], names: Sequence[Any]
) -> dict[str, Any]:
    """Score label sequences as `sequence_scores` does, without looking at a name more than once.

    Parameters
    ----------
    gold, predicted : array of int
        Numbers of the labels of all sentences in a row.
    bounds : array of int
        Where sentences begin and end.
    names : sequence of str or int
        The labels.

    Returns
    -------
    dict
        The scores.

    Examples
    --------
    >>> numbered_scores(np.array([0, 1, 0]), np.array([0, 1, 1]), np.array([0, 3]), ["O", "B-PER"])["precision"]
    0.5
    """
    scores: dict[str, Any] = {"accuracy": ratio(int(np.count_nonzero(gold == predicted)), gold.size)}
    occurring = [names[number] for number in np.unique(gold).tolist()]
    if all(isinstance(name, str) for name in occurring) and is_span_labelling(occurring):
        scores |= _span_scores(_Roles.of(names), gold, predicted, bounds)
    return scores


def _span_scores(
    roles: _Roles, gold: NDArray[Any], predicted: NDArray[Any], bounds: NDArray[np.int64]
) -> dict[str, Any]:
    kinds, starts, ends = roles.spans(gold, bounds)
    guessed, guessed_starts, guessed_ends = roles.spans(predicted, bounds)
    right_end = np.zeros(gold.size, dtype=np.int64)
    right_end[starts] = ends
    right_kind = np.zeros(gold.size, dtype=np.int64)
    right_kind[starts] = kinds
    hit = (right_end[guessed_starts] == guessed_ends) & (right_kind[guessed_starts] == guessed)
    in_gold, in_predicted, in_both = (
        np.bincount(found, minlength=len(roles.types)).tolist() for found in (kinds, guessed, guessed[hit])
    )
    per_label = {
        kind: {
            **precision_recall_f1(in_both[number], in_predicted[number], in_gold[number]),
            "support": in_gold[number],
        }
        for number, kind in enumerate(roles.types)
        if in_gold[number] or in_predicted[number]
    }
    return {**precision_recall_f1(sum(in_both), sum(in_predicted), sum(in_gold)), "per_label": per_label}


def _check_lengths(gold: Sequence[Sequence[Label]], predicted: Sequence[Sequence[Label]]) -> None:
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
