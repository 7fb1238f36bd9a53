"""Scores of taggers for cross-validation: of tokens, of spans and of whole sentences.

The functions take the true and the predicted labels of sentences. Those called ``flat_...`` put the tokens of all
sentences in a row and hand them to scikit-learn, as those of sklearn-crfsuite do. `flat_accuracy`, `sequence_accuracy`
and `span_f1` are scorers: ``cross_val_score(tagger, X, y, scoring=span_f1)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sklearn import metrics as of_tokens
from sklearn.metrics import make_scorer

from marginloom.errors import InputError
from marginloom.tasks.base.metrics import MEASURES, ratio
from marginloom.tasks.sequence.metrics import check_lengths, sequence_scores
from marginloom.tasks.sequence.spans import is_span_labelling, spans

Sentences: TypeAlias = Sequence[Sequence[Any]]

_AVERAGES = {"micro": "", "macro": "macro_", "weighted": "weighted_"}


def flat_accuracy_score(y_true: Sentences, y_pred: Sentences, **options: Any) -> float:
    """Return the share of tokens that have the right label; options are those of scikit-learn's `accuracy_score`.

    Examples
    --------
    >>> flat_accuracy_score([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]])
    0.75
    """
    return float(of_tokens.accuracy_score(*_flat(y_true, y_pred), **options))


def flat_precision_score(y_true: Sentences, y_pred: Sentences, **options: Any) -> Any:
    """Return the precision of labels; options (``average``, ``labels``) are those of scikit-learn's `precision_score`.

    Examples
    --------
    >>> flat_precision_score([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]], average="micro")
    0.75
    """
    return of_tokens.precision_score(*_flat(y_true, y_pred), **options)


def flat_recall_score(y_true: Sentences, y_pred: Sentences, **options: Any) -> Any:
    """Return the recall of labels; options (``average``, ``labels``) are those of scikit-learn's `recall_score`.

    Examples
    --------
    >>> flat_recall_score([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]], average="weighted")
    0.75
    """
    return of_tokens.recall_score(*_flat(y_true, y_pred), **options)


def flat_f1_score(y_true: Sentences, y_pred: Sentences, **options: Any) -> Any:
    """Return the F1 of labels; options (``average``, ``labels``) are those of scikit-learn's `f1_score`.

    Examples
    --------
    >>> flat_f1_score([["B-X", "O"]], [["B-X", "B-X"]], average="macro", labels=["B-X"])
    0.6666666666666666
    """
    return of_tokens.f1_score(*_flat(y_true, y_pred), **options)


def flat_fbeta_score(y_true: Sentences, y_pred: Sentences, beta: float, **options: Any) -> Any:
    """Return the F-beta of labels; options (``average``, ``labels``) are those of scikit-learn's `fbeta_score`.

    Examples
    --------
    >>> flat_fbeta_score([["B-X", "O"]], [["B-X", "B-X"]], 1.0, average="macro", labels=["B-X"])
    0.6666666666666666
    """
    return of_tokens.fbeta_score(*_flat(y_true, y_pred), beta=beta, **options)


def flat_classification_report(y_true: Sentences, y_pred: Sentences, labels: Any = None, **options: Any) -> Any:
    """Return a table of the scores of labels; options are those of scikit-learn's `classification_report`.

    Examples
    --------
    >>> print(flat_classification_report([["D", "N"]], [["D", "N"]]).split()[:4])
    ['precision', 'recall', 'f1-score', 'support']
    """
    return of_tokens.classification_report(*_flat(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Sentences, y_pred: Sentences) -> float:
    """Return the share of sentences whose labels are all right.

    Examples
    --------
    >>> sequence_accuracy_score([["D", "N"], ["N", "V"]], [["D", "N"], ["N", "N"]])
    0.5
    """
    check_lengths(y_true, y_pred)
    return ratio(sum(list(true) == list(found) for true, found in zip(y_true, y_pred, strict=True)), len(y_true))


def span_precision_score(
    y_true: Sentences, y_pred: Sentences, *, average: str = "micro", strict: str | None = None
) -> float:
    """Return the precision of the spans that labels mark, see `span_f1_score`.

    Examples
    --------
    >>> span_precision_score([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    0.5
    """
    return _span_score("precision", y_true, y_pred, average, strict)


def span_recall_score(
    y_true: Sentences, y_pred: Sentences, *, average: str = "micro", strict: str | None = None
) -> float:
    """Return the recall of the spans that labels mark, see `span_f1_score`.

    Examples
    --------
    >>> span_recall_score([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    1.0
    """
    return _span_score("recall", y_true, y_pred, average, strict)


def span_f1_score(y_true: Sentences, y_pred: Sentences, *, average: str = "micro", strict: str | None = None) -> float:
    """Return the F1 of the spans that labels mark.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences of str
        The true and the predicted labels of each sentence: BIO, BIOES or BILOU, as `spans` reads them.
    average : {"micro", "macro", "weighted"}
        Over the spans of all types together; the mean over the types; or the mean weighted by support.
    strict : {"bio", "bioes", "bilou", "ioe"}, optional
        Only spans that are well formed in this scheme count.

    Returns
    -------
    float
        The score; 0, with a `ScoreWarning`, where no span is true.

    Raises
    ------
    InputError
        If the labels do not mark spans.

    Examples
    --------
    >>> span_f1_score([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    0.6666666666666666
    """
    return _span_score("f1", y_true, y_pred, average, strict)


def span_classification_report(
    y_true: Sentences, y_pred: Sentences, *, strict: str | None = None, digits: int = 2
) -> str:
    """Return a table of the scores of each type of span and of their averages.

    Examples
    --------
    >>> print(span_classification_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]))
                  precision    recall        f1   support
             LOC       0.00      0.00      0.00         1
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
           micro       1.00      0.50      0.67         2
           macro       0.50      0.50      0.50         2
        weighted       0.50      0.50      0.50         2
    """
    scores = _span_scores(y_true, y_pred, strict)
    support = sum(row["support"] for row in scores["per_label"].values())
    rows = [(name, [row[measure] for measure in MEASURES], row["support"]) for name, row in scores["per_label"].items()]
    means = [(name, [scores[prefix + measure] for measure in MEASURES], support) for name, prefix in _AVERAGES.items()]
    width = max(12, *(len(name) for name, _, _ in rows + means))
    lines = [
        f"{name:>{width}}{''.join(f'{value:>{10 if place else 11}.{digits}f}' for place, value in enumerate(values))}"
        f"{count:>10}"
        for name, values, count in rows + means
    ]
    head = f"{'':>{width}}{'precision':>11}{'recall':>10}{'f1':>10}{'support':>10}"
    return "\n".join([head, *lines[: len(rows)], "", *lines[len(rows) :]])


def _flat(y_true: Sentences, y_pred: Sentences) -> list[list[Any]]:
    check_lengths(y_true, y_pred)
    return [[label for labels in sentences for label in labels] for sentences in (y_true, y_pred)]


def _span_scores(y_true: Sentences, y_pred: Sentences, strict: str | None) -> dict[str, Any]:
    scores = sequence_scores(y_true, y_pred, strict)
    if "f1" not in scores:
        shown = ", ".join(list(scores["per_label"])[:5])
        raise InputError(f"the labels mark no spans (they are not BIO, BIOES or BILOU): {shown or 'there is none'}")
    return scores


def _span_score(measure: str, y_true: Sentences, y_pred: Sentences, average: str, strict: str | None) -> float:
    if average not in _AVERAGES:
        raise InputError(f"average must be {', '.join(_AVERAGES)}, not {average!r}")
    return float(_span_scores(y_true, y_pred, strict)[_AVERAGES[average] + measure])


#: Scorers: they take an estimator, sentences and their labels.
flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
span_f1 = make_scorer(span_f1_score)

__all__ = [
    "flat_accuracy",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "is_span_labelling",
    "sequence_accuracy",
    "sequence_accuracy_score",
    "sequence_scores",
    "span_classification_report",
    "span_f1",
    "span_f1_score",
    "span_precision_score",
    "span_recall_score",
    "spans",
]
