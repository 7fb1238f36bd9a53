"""Scores of sets of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.dense import row_batches
from marginloom.tasks.base.metrics import averages, ratio, scores_per_label
from marginloom.tasks.multilabel.label_sets import PackedSets


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


def scores_of_labels(gold: Any, predicted: Any, names: Sequence[Any]) -> dict[str, Any]:
    """Return `multilabel_scores` with averages and the scores of every label.

    Parameters
    ----------
    gold, predicted : 0/1 array or sparse matrix
        A row per example and a column per label; 1 where the label is present.
    names : sequence
        The labels.

    Returns
    -------
    dict
        More than `multilabel_scores`: ``macro_precision`` and ``macro_recall``, means over all labels as ``macro_f1``
        is; ``weighted_precision``, ``weighted_recall`` and ``weighted_f1``, weighted by support; and ``per_label``: for
        each label, also one that never occurs, ``precision``, ``recall``, ``f1`` and ``support``.

    Examples
    --------
    >>> scores = scores_of_labels(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]), ["x", "y"])
    >>> scores["macro_recall"], scores["per_label"]["y"]
    (0.5, {'precision': 0.0, 'recall': 0.0, 'f1': 0.0, 'support': 1})
    """
    counts = [found.tolist() for found in _label_counts(gold, predicted)]
    per_label = scores_per_label(names, *counts, with_absent=True)
    return {**multilabel_scores(gold, predicted), **averages(per_label), "per_label": per_label}


def micro_f1(gold: Any, predicted: Any) -> float:
    """Return F1 over all decisions together: 2 hits / (labels predicted + labels that are right), 0 if there are none.

    Examples
    --------
    >>> micro_f1(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.8
    """
    hits, guessed, right = map(np.sum, _label_counts(gold, predicted))
    return ratio(2 * int(hits), int(guessed + right))


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
    return ratio(int(wrong.sum()), rows * labels)


def subset_accuracy(gold: Any, predicted: Any) -> float:
    """Return the share of examples whose set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    0.5
    """
    wrong = _differences(gold, predicted)
    return ratio(int((wrong == 0).sum()), wrong.size)


def _label_counts(gold: Any, predicted: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return per label how often it is predicted rightly, how often it is predicted, and how often it is right."""
    pair = _matrices(gold, predicted)
    hits, guessed, right = (np.zeros(pair[0].shape[1], dtype=np.int64) for _ in range(3))
    for truth, guess in _parts(*pair):
        both = truth.multiply(guess) if hasattr(truth, "multiply") else truth & guess
        for counts, matrix in ((hits, both), (guessed, guess), (right, truth)):
            counts += np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel()
    return hits, guessed, right


def _differences(gold: Any, predicted: Any) -> NDArray[np.int64]:
    """Return the number of wrong decisions of each example."""
    parts = _parts(*_matrices(gold, predicted))
    wrong = [np.asarray((truth != guess).sum(axis=1, dtype=np.int64)).ravel() for truth, guess in parts]
    return np.concatenate([np.zeros(0, dtype=np.int64), *wrong])


def _parts(gold: Any, predicted: Any) -> Iterator[tuple[Any, Any]]:
    """Yield some rows of both at a time as arrays of bool; or both as a whole, if they are sparse matrices of it."""
    if hasattr(gold, "tocsr"):
        yield gold, predicted
        return
    for rows in row_batches(*gold.shape):
        truth, guess = (
            matrix.matrix(rows) if isinstance(matrix, PackedSets) else matrix[rows] for matrix in (gold, predicted)
        )
        yield truth.astype(bool), guess.astype(bool)


def _matrices(gold: Any, predicted: Any) -> tuple[Any, Any]:
    """Return both as arrays or packed sets, or both as sparse matrices of bool."""
    if hasattr(gold, "tocsr") or hasattr(predicted, "tocsr"):
        from scipy.sparse import csr_matrix

        matrices = [csr_matrix(given).astype(bool) for given in (gold, predicted)]
    else:
        matrices = [given if isinstance(given, PackedSets) else np.asarray(given) for given in (gold, predicted)]
    shapes = [matrix.shape for matrix in matrices]
    if len(shapes[0]) != 2 or shapes[0] != shapes[1]:
        raise InputError(
            f"gold has the shape {shapes[0]} and predicted has {shapes[1]}; give two matrices of the "
            "same shape, a row per example and a column per label"
        )
    return matrices[0], matrices[1]
