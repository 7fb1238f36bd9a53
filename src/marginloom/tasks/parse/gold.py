"""The right trees of training sentences: whether they can be learnt, and what to do with those that cannot."""

from __future__ import annotations

import dataclasses
import itertools
import warnings

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError, InputWarning
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.parse.treebank import Treebank
from marginloom.tasks.parse.trees import ROOTS, Fault, find_fault, is_projective, nonprojective_arcs, projectivised

#: What can be done with trees that are not projective where they must be.
INVALID_GOLD = ("repair", "skip", "error")


@dataclasses.dataclass(frozen=True)
class FittingTrees:
    """Trees to learn from.

    Attributes
    ----------
    heads : array of int64
        The heads of the words of the sentences that are kept.
    labels : NumberedLabels or None
        Their labels.
    kept : array of bool or None
        For each sentence that was given whether it is there; None if all are.
    """

    heads: NDArray[np.int64]
    labels: NumberedLabels | None
    kept: NDArray[np.bool_] | None


def fitting_trees(treebank: Treebank, projective: bool, one_root: bool, invalid_gold: str = "repair") -> FittingTrees:
    """Return trees that can be learnt, having dealt with those that are not projective where they must be.

    Parameters
    ----------
    treebank : Treebank
        Sentences with the heads of their words. Empty sentences have nothing that could be wrong.
    projective : bool
        Whether only projective trees can be learnt.
    one_root : bool
        Whether only trees with one root can be learnt.
    invalid_gold : {"repair", "skip", "error"}
        What to do with trees that are not projective if they must be: lift their arcs, see `projectivised`; leave
        their sentences out; or raise `InputError` that names the first places. The first two say in an `InputWarning`
        how many there were.

    Raises
    ------
    InputError
        If heads do not make a tree, or one with two roots where there must be one; or as `invalid_gold` says.

    Examples
    --------
    >>> bank = Treebank.from_lists([[("a", "A"), ("b", "B"), ("c", "C")]], [[3, 0, 2]])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     fitting_trees(bank, projective=True, one_root=True).heads.tolist()
    [2, 0, 2]
    """
    if invalid_gold not in INVALID_GOLD:
        raise InputError(f"invalid_gold must be one of {', '.join(INVALID_GOLD)}, not {invalid_gold!r}")
    trees = check_trees(treebank, one_root)
    crossing = [i for i, tree in enumerate(trees) if not is_projective(tree)] if projective else []
    if not crossing:
        return FittingTrees(treebank.heads, treebank.labels, None)
    if invalid_gold == "error":
        raise InputError(_crossing_complaint(treebank, crossing))
    many = (
        f"{len(crossing):,} of {len(trees):,} sentences have non-projective trees, which projective parsing "
        "cannot predict"
    )
    if invalid_gold == "skip":
        fitting = _without(treebank, crossing)
        _warn(f"{many}: left out")
        return fitting
    fitting = _repaired(treebank, crossing)
    lifted = np.count_nonzero(fitting.heads != treebank.heads)
    _warn(f"{many}: repaired, by lifting {lifted:,} {'arc' if lifted == 1 else 'arcs'}")
    return fitting


def check_trees(treebank: Treebank, one_root: bool = False) -> list[list[int]]:
    """Return the heads of every sentence; `InputError`, with the place, unless they make a tree.

    By default trees may have several roots, and arcs may cross: they can be scored on, although not every parser can
    make them.

    Parameters
    ----------
    treebank : Treebank
        Sentences with the heads of their words. Empty sentences have nothing that could be wrong.
    one_root : bool
        Whether a second root is an error.

    Examples
    --------
    >>> check_trees(Treebank.from_lists([[("a", "A"), ("b", "B")]], [[2, 1]]))
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: sentence 0, word 1: no word has the head 0, so that there is no root; mend the \
heads, which must lead every word up to a root
    """
    bounds = treebank.sentences.tolist()
    flat = treebank.heads.tolist()
    trees = [flat[start:end] for start, end in itertools.pairwise(bounds)]
    for start, tree in zip(bounds, trees, strict=False):
        fault = find_fault(tree, one_root) if tree else None
        if fault is not None:
            raise InputError(_complaint(treebank, start, fault))
    return trees


def _warn(text: str) -> None:
    warnings.warn(InputWarning(text), stacklevel=3)


def _complaint(treebank: Treebank, start: int, fault: Fault) -> str:
    advice = (
        "mend it, or allow several roots (roots='many', --roots many)"
        if fault.kind == ROOTS
        else "mend the heads, which must lead every word up to a root"
    )
    return f"{treebank.place(start + fault.word - 1)}: {fault.text}; {advice}"


def _crossing_complaint(treebank: Treebank, crossing: list[int]) -> str:
    shown = []
    for i in crossing[:3]:
        start, end = (int(bound) for bound in treebank.sentences[i : i + 2])
        word = int(nonprojective_arcs(treebank.heads[start:end])[0])
        token = start + word - 1
        shown.append(f"{treebank.place(token)}: the arc from word {treebank.heads[token]} to word {word}")
    more = f" and {len(crossing) - 3:,} more" if len(crossing) > 3 else ""
    return (
        f"{len(crossing):,} sentences have non-projective trees, which projective parsing cannot predict: "
        f"{'; '.join(shown)}{more}; have them repaired or skipped (invalid_gold=, --invalid-gold repair|skip), or "
        "allow such trees (projective=False, --non-projective)"
    )


def _without(treebank: Treebank, crossing: list[int]) -> FittingTrees:
    kept = np.ones(treebank.sentences.size - 1, dtype=bool)
    kept[crossing] = False
    bounds = treebank.sentences.astype(np.int64)
    words = np.repeat(kept, bounds[1:] - bounds[:-1])
    if not words.any():
        raise InputError(
            "the trees of all sentences are non-projective, so that skipping leaves nothing to learn from; have them "
            "repaired (invalid_gold='repair', --invalid-gold repair), or allow such trees (projective=False, "
            "--non-projective)"
        )
    labels = treebank.labels
    return FittingTrees(
        treebank.heads[words], None if labels is None else NumberedLabels(labels.names, labels.numbers[words]), kept
    )


def _repaired(treebank: Treebank, crossing: list[int]) -> FittingTrees:
    heads = treebank.heads.copy()
    for i in crossing:
        start, end = (int(bound) for bound in treebank.sentences[i : i + 2])
        heads[start:end] = projectivised(heads[start:end])
    return FittingTrees(heads, treebank.labels, None)
