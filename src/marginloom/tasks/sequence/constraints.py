"""Which labels must not follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from marginloom.common.memory import PAIR_BYTES, require_memory
from marginloom.errors import InputError
from marginloom.tasks.sequence.schemes import SCHEMES, Scheme

#: Stands for the start and the end of a sentence in a pair of label numbers.
BOUNDARY = 0xFFFFFFFF

#: Stand for the start and the end of a sentence in a pair of labels.
START, END = "<s>", "</s>"

Pair = tuple[Any, Any]


def forbidden_pairs(constraints: str | Iterable[Pair] | None, labels: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the numbers of the labels that must not be neighbours.

    Parameters
    ----------
    constraints : {"none", "bio", "bioes", "bilou"} or iterable of pairs, optional
        A scheme, or pairs (label, next label) to forbid; ``"<s>"`` first or ``"</s>"`` second is the sentence's start
        or end.
    labels : sequence
        The labels in the order of their numbers.

    Returns
    -------
    list of pairs of int
        With `BOUNDARY` for the start and the end.

    Examples
    --------
    >>> forbidden_pairs("bio", ["B-X", "I-X", "O"]) == [(2, 1), (BOUNDARY, 1)]
    True
    """
    if constraints is None or constraints == "none":
        return []
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        return _scheme_pairs(scheme_of(constraints), labels)
    pairs = []
    for pair in constraints:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"a forbidden pair must be two labels, not {pair!r}")
        pairs.append((_number(pair[0], labels, START), _number(pair[1], labels, END)))
    return pairs


def named_pairs(forbidden: Iterable[tuple[int, int]], labels: Sequence[Any]) -> list[Pair]:
    """Return the pairs of labels from which `forbidden_pairs` makes these numbers.

    Examples
    --------
    >>> named_pairs([(BOUNDARY, 1), (1, 0)], ["a", "b"])
    [('<s>', 'b'), ('b', 'a')]
    """
    return [
        (START if before == BOUNDARY else labels[before], END if after == BOUNDARY else labels[after])
        for before, after in forbidden
    ]


def _number(label: Any, labels: Sequence[Any], boundary: str) -> int:
    if label in labels:
        return labels.index(label)
    if label == boundary:
        return BOUNDARY
    raise InputError(f"the forbidden pair names {label!r}, which is not a label of the training data")


def scheme_of(constraints: Any) -> Scheme:
    """Return the scheme of that name.

    Examples
    --------
    >>> scheme_of("bilou").prefixes
    'BILU'
    """
    if not isinstance(constraints, str) or constraints not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InputError(f"constraints must be none, {known} or a list of pairs of labels, not {constraints!r}")
    return SCHEMES[constraints]


def _scheme_pairs(scheme: Scheme, labels: Sequence[Any]) -> list[tuple[int, int]]:
    parts = [scheme.parts(label) for label in labels]
    _require_pairs(scheme, [prefix for prefix, _ in parts])
    outside = scheme.parts("O")  # what comes before the start and after the end
    places = [*range(len(parts)), BOUNDARY]
    return [
        (before, after)
        for before in places
        for after in places
        if not (before == after == BOUNDARY)
        and not scheme.allows(
            outside if before == BOUNDARY else parts[before], outside if after == BOUNDARY else parts[after]
        )
    ]


def _require_pairs(scheme: Scheme, prefixes: Sequence[str]) -> None:
    """Compare the forbidden pairs, of which there are nearly as many as can be, with what memory there is."""
    count = len(prefixes) + 1
    going_on = sum(scheme.goes_on(prefix) for prefix in prefixes)
    if not scheme.end:
        forbidden = count * going_on
    else:
        inside = sum(scheme.leaves_open(prefix) for prefix in prefixes)
        forbidden = count**2 - (count - inside) * (count - going_on)
    require_memory(
        f"a list of the {forbidden:,} pairs of {len(prefixes):,} labels that the constraints {scheme.name} forbid",
        {"pairs": PAIR_BYTES * forbidden},
        "take fewer labels, or train without constraints",
    )
