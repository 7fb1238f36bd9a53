"""The right labels of training sentences: whether they can be learnt, and what to do with those that cannot."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.memory import require_memory
from marginloom.errors import InputError, InputWarning
from marginloom.features import Encoded, FeatureSet
from marginloom.labels.label_set import LabelSet
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.sequence.constraints import BOUNDARY, START, Pair, forbidden_pairs, scheme_of

#: What can be done with right labels that break the constraints.
INVALID_GOLD = ("error", "repair", "skip")

_MANY_LABELS = 1000


@dataclasses.dataclass(frozen=True)
class Gold:
    """Sentences to learn from, with labels that keep to the constraints.

    Attributes
    ----------
    encoded : Encoded
        The sentences.
    labels : LabelSet
        The labels that there are.
    numbers : array
        The right label of every token.
    forbidden : list of pairs
        Numbers of labels that must not follow each other.
    kept : array of bool
        For each sentence that was given whether it is there.
    """

    encoded: Encoded
    labels: LabelSet
    numbers: NDArray[np.uint16]
    forbidden: list[tuple[int, int]]
    kept: NDArray[np.bool_]


def fitting_gold(
    given: NumberedLabels,
    encoded: Encoded,
    constraints: str | Iterable[Pair] | None,
    invalid_gold: str,
    source: Any = None,
) -> Gold:
    """Return labels by number, having dealt with those that break the constraints.

    Parameters
    ----------
    given : NumberedLabels
        The right label of every token.
    encoded : Encoded
        The sentences.
    constraints : str or iterable of pairs, optional
        See `forbidden_pairs`.
    invalid_gold : {"error", "repair", "skip"}
        Raise `InputError` that names the first places; turn labels of a scheme into the nearest that keep to it, see
        `Scheme.repaired`; or leave such sentences out. The last two say in an `InputWarning` how many there were.
    source : object, optional
        Where the sentences come from, to name places.

    Examples
    --------
    >>> encoded = Encoded(np.array([0, 2]), np.array([0, 0, 0]), np.zeros(0), None, 0)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     gold = fitting_gold(NumberedLabels.of(["O", "I-X"]), encoded, "bio", "repair")
    >>> [gold.labels.names[number] for number in gold.numbers]
    ['O', 'B-X']
    """
    _check_policy(invalid_gold, constraints)
    bounds = encoded.sentences.astype(np.int64)
    if invalid_gold == "repair":
        given = _repaired(given, bounds, constraints)
    labels, numbers = LabelSet.learn(given)
    forbidden = forbidden_pairs(constraints, labels.names)
    broken = _broken(numbers, bounds, len(labels.names), forbidden)
    kept = np.ones(bounds.size - 1, dtype=bool)
    if not broken.size:
        return Gold(encoded, labels, numbers, forbidden, kept)
    if invalid_gold == "error":
        raise InputError(_complaint(broken, numbers, labels, encoded, source))
    kept[np.searchsorted(bounds, broken, side="right") - 1] = False
    if not kept.any():
        raise InputError(
            "the gold labels of every sentence violate the constraints, so skipping leaves nothing to learn from"
        )
    _warn(f"skipped {np.count_nonzero(~kept)} of {kept.size} sentences, whose gold labels violate the constraints")
    tokens = np.repeat(kept, np.diff(bounds))
    return Gold(encoded.of_sentences(kept), labels, numbers[tokens], forbidden, kept)


def _check_policy(invalid_gold: str, constraints: str | Iterable[Pair] | None) -> None:
    if invalid_gold not in INVALID_GOLD:
        raise InputError(f"invalid_gold must be one of {', '.join(INVALID_GOLD)}, not {invalid_gold!r}")
    if invalid_gold == "error":
        return
    if constraints is None or constraints == "none":
        raise InputError(
            f"there are no constraints that labels could violate, so invalid_gold cannot be {invalid_gold!r}"
        )
    if invalid_gold == "repair" and not isinstance(constraints, str):
        raise InputError(
            "forbidden pairs do not say what else a label should be, so they cannot be repaired: "
            "correct the labels, or skip such sentences (invalid_gold='skip', --invalid-gold skip)"
        )


def _repaired(
    given: NumberedLabels, bounds: NDArray[np.int64], constraints: str | Iterable[Pair] | None
) -> NumberedLabels:
    repaired = scheme_of(constraints).repaired(given, bounds)
    changed = np.flatnonzero(repaired.values() != given.values())
    if changed.size:
        sentences = np.unique(np.searchsorted(bounds, changed, side="right")).size
        labels = "1 gold label" if changed.size == 1 else f"{changed.size:,} gold labels"
        places = "1 sentence" if sentences == 1 else f"{sentences:,} sentences"
        _warn(f"repaired {labels} in {places} that violated the constraints {constraints}")
    return repaired


def _warn(text: str) -> None:
    warnings.warn(InputWarning(text), stacklevel=2)


def _broken(
    numbers: NDArray[np.uint16], bounds: NDArray[np.int64], side: int, forbidden: list[tuple[int, int]]
) -> NDArray[np.int64]:
    """Return the tokens whose labels must not be where they are: after the one before, or at an end."""
    if not forbidden:
        return np.zeros(0, dtype=np.int64)
    require_memory(
        f"a table of what may follow each of {side:,} labels",
        {"table": (side + 1) ** 2},
        "take fewer labels, or train without constraints",
    )
    banned = np.zeros((side + 1, side + 1), dtype=bool)
    for first, second in forbidden:
        banned[min(first, side), min(second, side)] = True
    before = _labels_before(numbers, bounds)
    last = bounds[1:][np.diff(bounds) > 0] - 1
    after_end = last[banned[numbers[last], side]]
    return np.union1d(np.flatnonzero(banned[np.minimum(before, side), numbers]), after_end)


def _labels_before(numbers: NDArray[np.uint16], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    before = np.concatenate([[BOUNDARY], numbers[:-1]]).astype(np.int64)
    before[bounds[:-1][np.diff(bounds) > 0]] = BOUNDARY
    return before


def _complaint(
    broken: NDArray[np.int64], numbers: NDArray[np.uint16], labels: LabelSet, encoded: Encoded, source: Any
) -> str:
    before = _labels_before(numbers, encoded.sentences.astype(np.int64))
    names = [str(labels.names[before[t]]) if before[t] != BOUNDARY else START for t in broken[:3]]
    shown = "; ".join(
        f"{_place(source, encoded, int(t))}: {labels.names[numbers[t]]} after {name}"
        for t, name in zip(broken[:3], names, strict=True)
    )
    more = f" and {broken.size - 3} more" if broken.size > 3 else ""
    return (
        f"gold labels violate the constraints: {shown}{more}; correct them, have them repaired or skipped "
        "(invalid_gold=, --invalid-gold repair|skip), or train without constraints"
    )


def _place(source: Any, encoded: Encoded, token: int) -> str:
    """Name a token's file and line, or its sentence if it does not come from a file."""
    before = 0
    for table in getattr(source, "tables", ()):
        if token < before + table.tokens:
            return f"{table.name}, line {table.line_number(token - before)}"
        before += table.tokens
    sentence = int(np.searchsorted(encoded.sentences, token, side="right")) - 1
    return f"sentence {sentence}, token {token - int(encoded.sentences[sentence])}"


def check_label_count(given: NumberedLabels) -> None:
    """Warn if there is but one label, or so many that they are probably something else, such as words.

    Examples
    --------
    >>> check_label_count(NumberedLabels.of(["N", "V", "N"]))
    """
    different = given.names.size
    if different == 1:
        _warn(
            f"every token has the label {str(given.names[0])!r}, so there is nothing to learn. In a file, --column "
            "says which column the labels are, and --format what format it has"
        )
    if different > _MANY_LABELS and 2 * different > len(given):
        _warn(
            f"{len(given):,} tokens have {different:,} different labels, such as {str(given.names[0])!r}: are these "
            "the labels? In a file, --column says which column they are, and --format what format it has"
        )


def check_learnable(features: FeatureSet, encoded: Encoded) -> None:
    """Raise `InputError` if `min_count` has left no feature."""
    min_count = getattr(features, "min_count", 1)
    if min_count > 1 and encoded.feature_count == 0:
        raise InputError(
            f"min_count {min_count} leaves no feature: none occurs so often in training; take a smaller one"
        )
