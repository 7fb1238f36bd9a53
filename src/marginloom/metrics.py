"""Scores of predictions: label sequences, with spans, classes, and sets of labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import eq
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.errors import InputError

__all__ = [
    "Label",
    "Span",
    "class_scores",
    "hamming_loss",
    "is_span_labelling",
    "macro_f1",
    "micro_f1",
    "multilabel_scores",
    "sequence_scores",
    "spans",
    "subset_accuracy",
]

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
    scores: dict[str, Any] = {"accuracy": _ratio(int(correct), tokens)}
    distinct = set().union(*gold)
    if all(isinstance(label, str) for label in distinct) and is_span_labelling(map(str, distinct)):
        scores.update(_span_scores(gold, predicted))
    return scores


def class_scores(gold: ArrayLike, predicted: ArrayLike, names: Sequence[Label]) -> dict[str, Any]:
    """Score predicted classes against the true ones.

    Parameters
    ----------
    gold, predicted : array of int
        Numbers of classes; one that is not the number of a name counts as an error, for example an unknown true class.
    names : sequence of str or int
        The names of the classes.

    Returns
    -------
    dict
        ``accuracy``; ``macro_f1``, the mean F1 of the classes that occur in one of the two; and ``per_label``: for
        each of these, by its name, ``precision``, ``recall``, ``f1`` and ``support``, the number of true examples.

    Examples
    --------
    >>> scores = class_scores([0, 0, 1, 1], [0, 1, 1, 1], ["a", "b"])
    >>> scores["accuracy"], scores["per_label"]["a"]
    (0.75, {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666, 'support': 2})
    """
    truth, guess = np.asarray(gold, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    if truth.shape != guess.shape:
        raise InputError(f"there are {truth.size} true classes and {guess.size} predicted ones; give as many of both")
    in_gold, in_predicted, in_both = (
        np.bincount(numbers[numbers < len(names)], minlength=len(names)).tolist()
        for numbers in (truth, guess, truth[truth == guess])
    )
    per_label = {
        str(name): {
            **_precision_recall_f1(in_both[place], in_predicted[place], in_gold[place]),
            "support": in_gold[place],
        }
        for place, name in enumerate(names)
        if in_gold[place] or in_predicted[place]
    }
    f1 = [float(values["f1"]) for values in per_label.values()]
    return {
        "accuracy": _ratio(int(np.count_nonzero(truth == guess)), truth.size),
        "macro_f1": sum(f1) / len(f1) if f1 else 0.0,
        "per_label": per_label,
    }


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
            **_precision_recall_f1(in_both[kind], in_predicted[kind], in_gold[kind]),
            "support": in_gold[kind],
        }
        for kind in sorted(in_gold.keys() | in_predicted.keys())
    }
    micro = _precision_recall_f1(in_both.total(), in_predicted.total(), in_gold.total())
    return {**micro, "per_label": per_label}


def _precision_recall_f1(in_both: int, in_predicted: int, in_gold: int) -> dict[str, float]:
    return {
        "precision": _ratio(in_both, in_predicted),
        "recall": _ratio(in_both, in_gold),
        "f1": _ratio(2 * in_both, in_predicted + in_gold),
    }


def multilabel_scores(gold: Any, predicted: Any) -> dict[str, float]:
    """Score predicted sets of labels against the true ones.

    Parameters
    ----------
    gold, predicted : 0/1 array or sparse matrix
        A row per example and a column per label; 1 where the label is present.

    Returns
    -------
    dict
        ``micro_f1``, ``macro_f1``, ``hamming_loss`` and ``subset_accuracy``, see the functions of these names.

    Raises
    ------
    InputError
        If the two do not have the same shape.

    Examples
    --------
    >>> multilabel_scores(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    {'micro_f1': 0.8, 'macro_f1': 0.5, 'hamming_loss': 0.25, 'subset_accuracy': 0.5}
    """
    return {score.__name__: score(gold, predicted) for score in (micro_f1, macro_f1, hamming_loss, subset_accuracy)}


def micro_f1(gold: Any, predicted: Any) -> float:
    """Return F1 over all decisions together: 2 hits / (labels predicted + labels that are right), 0 if there are none.

    Examples
    --------
    >>> micro_f1(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.8
    """
    hits, guessed, right = map(np.sum, _label_counts(gold, predicted))
    return _ratio(2 * int(hits), int(guessed + right))


def macro_f1(gold: Any, predicted: Any) -> float:
    """Return the mean of the labels' F1; that of a label that is neither right nor predicted anywhere is 0.

    Examples
    --------
    >>> macro_f1(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.5
    """
    hits, guessed, right = _label_counts(gold, predicted)
    return float(np.mean(2 * hits / np.maximum(guessed + right, 1))) if hits.size else 0.0


def hamming_loss(gold: Any, predicted: Any) -> float:
    """Return the share of wrong decisions, a decision being about one label of one example.

    Examples
    --------
    >>> hamming_loss(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.25
    """
    wrong = _differences(gold, predicted)
    rows, labels = gold.shape
    return _ratio(int(wrong.sum()), rows * labels)


def subset_accuracy(gold: Any, predicted: Any) -> float:
    """Return the share of examples whose set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.5
    """
    wrong = _differences(gold, predicted)
    return _ratio(int((wrong == 0).sum()), wrong.size)


def _label_counts(gold: Any, predicted: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return per label how often it is predicted rightly, how often it is predicted, and how often it is right."""
    truth, guess = _as_indicators(gold, predicted)
    both = truth.multiply(guess) if hasattr(truth, "multiply") else truth & guess
    hits, guessed, right = (np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel() for matrix in (both, guess, truth))
    return hits, guessed, right


def _differences(gold: Any, predicted: Any) -> NDArray[np.int64]:
    """Return the number of wrong decisions of each example."""
    truth, guess = _as_indicators(gold, predicted)
    return np.asarray((truth != guess).sum(axis=1, dtype=np.int64)).ravel()


def _as_indicators(gold: Any, predicted: Any) -> tuple[Any, Any]:
    """Return both as arrays of bool, or both as sparse matrices of it."""
    if hasattr(gold, "tocsr") or hasattr(predicted, "tocsr"):
        from scipy.sparse import csr_matrix

        matrices = csr_matrix(gold).astype(bool), csr_matrix(predicted).astype(bool)
    else:
        matrices = np.asarray(gold).astype(bool), np.asarray(predicted).astype(bool)
    if matrices[0].ndim != 2 or matrices[0].shape != matrices[1].shape:
        raise InputError(
            f"gold has the shape {matrices[0].shape} and predicted has {matrices[1].shape}; give two matrices of the "
            "same shape, a row per example and a column per label"
        )
    return matrices


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
