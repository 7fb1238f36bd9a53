"""Scores of label sequences, and of the spans that they mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import eq
from typing import Any, TypeAlias

from marginloom.errors import InputError
from marginloom.tasks.base.metrics import precision_recall_f1, ratio

Label: TypeAlias = str | int
Span: TypeAlias = tuple[str, int, int]

_SPAN_LABEL = re.compile(r"([BIESLU])-(.+)", re.DOTALL)


@lru_cache(maxsize=4096)
def _prefix_and_type(label: str) -> tuple[str, str]:
    match = _SPAN_LABEL.fullmatch(label)
    return (match[1], match[2]) if match else ("O", "")


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
    found: list[Span] = []
    open_type, start = "", 0
    for position, label in enumerate(labels):
        prefix, kind = _prefix_and_type(label)
        if not (open_type and kind == open_type and prefix in "IEL"):
            if open_type:
                found.append((open_type, start, position))
            open_type, start = kind, position
        if kind and prefix in "ELSU":
            found.append((kind, start, position + 1))
            open_type = ""
    if open_type:
        found.append((open_type, start, len(labels)))
    return found


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
    tokens = sum(map(len, gold))
    correct = sum(sum(map(eq, truth, guess)) for truth, guess in zip(gold, predicted, strict=True))
    scores: dict[str, Any] = {"accuracy": ratio(int(correct), tokens)}
    distinct = set().union(*gold)
    if all(isinstance(label, str) for label in distinct) and is_span_labelling(map(str, distinct)):
        scores.update(_span_scores(gold, predicted))
    return scores


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


def _span_scores(gold: Sequence[Sequence[Label]], predicted: Sequence[Sequence[Label]]) -> dict[str, Any]:
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    in_both: Counter[str] = Counter()
    for truth, guess in zip(gold, predicted, strict=True):
        true_spans = set(spans([str(label) for label in truth]))
        guessed_spans = set(spans([str(label) for label in guess]))
        in_gold.update(span[0] for span in true_spans)
        in_predicted.update(span[0] for span in guessed_spans)
        in_both.update(span[0] for span in true_spans & guessed_spans)
    per_label = {
        kind: {
            **precision_recall_f1(in_both[kind], in_predicted[kind], in_gold[kind]),
            "support": in_gold[kind],
        }
        for kind in sorted(in_gold.keys() | in_predicted.keys())
    }
    micro = precision_recall_f1(in_both.total(), in_predicted.total(), in_gold.total())
    return {**micro, "per_label": per_label}
