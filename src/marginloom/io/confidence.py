"""How confidence is written: a number of four digits, in a column, in MISC or in a comment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.labels.numbered import add_strings

#: Stands for a label whose confidence is too low.
WITHHELD = "_"
_ENTRY = "Confidence="


def confidence_text(confidence: float | None) -> str:
    """Return a probability as files have it; ``_`` where there is none.

    Examples
    --------
    >>> confidence_text(0.98765), confidence_text(None)
    ('0.9877', '_')
    """
    return WITHHELD if confidence is None else f"{confidence:.4f}"


def confidence_comment(confidences: Iterable[float]) -> str:
    r"""Return what follows the labels of a line in formats that only have labels.

    Examples
    --------
    >>> confidence_comment([0.9, 0.25])
    '\t# confidence=0.9000,0.2500'
    """
    return f"\t# confidence={','.join(map(confidence_text, confidences))}"


def misc_with(cell: str, confidence: str) -> str:
    """Return the cell MISC of CoNLL-U with a confidence, in place of one that was there.

    Examples
    --------
    >>> misc_with("_", "0.9000"), misc_with("SpaceAfter=No|Confidence=1", "0.9000")
    ('Confidence=0.9000', 'SpaceAfter=No|Confidence=0.9000')
    """
    kept = [entry for entry in cell.split("|") if cell != "_" and not entry.startswith(_ENTRY)]
    return "|".join([*kept, f"{_ENTRY}{confidence}"])


def numbered_cells(cells: Iterable[str]) -> tuple[_core.Vocabulary, NDArray[np.uint32]]:
    """Return the distinct cells of a column, and for every token the number of its own.

    Examples
    --------
    >>> numbered_cells(["a", "b", "a"])[1].tolist()
    [0, 1, 0]
    """
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    vocabulary = _core.Vocabulary()
    add_strings(vocabulary, numbers)
    return vocabulary, np.array(found, dtype=np.uint32)


def withheld(
    labels: _core.Vocabulary, numbers: NDArray[Any], confidence: NDArray[np.float64], least: float | None
) -> tuple[_core.Vocabulary, NDArray[np.uint32]]:
    """Return labels and their numbers with ``_`` where the confidence is below `least`.

    Examples
    --------
    >>> names = numbered_cells(["D", "N"])[0]
    >>> shown, found = withheld(names, np.array([0, 1]), np.array([0.9, 0.4]), 0.5)
    >>> [shown.name(number) for number in found.tolist()]
    ['D', '_']
    """
    kept = np.asarray(numbers, dtype=np.uint32)
    if least is None:
        return labels, kept
    names = [labels.name(number) for number in range(len(labels))]
    if WITHHELD not in names:
        names.append(WITHHELD)
    vocabulary = _core.Vocabulary()
    add_strings(vocabulary, names)
    return vocabulary, np.where(confidence < least, np.uint32(names.index(WITHHELD)), kept)


def lines_with_confidence(
    labels: _core.Vocabulary,
    numbers: NDArray[Any],
    confidence: NDArray[np.float64],
    sentences: NDArray[np.uint64],
) -> bytes:
    r"""Return the labels one a line, each with its confidence in a comment, and a blank line after every sentence.

    Examples
    --------
    >>> names = numbered_cells(["D", "N"])[0]
    >>> lines_with_confidence(names, np.array([1]), np.array([0.9]), np.array([0, 1]))
    b'N\t# confidence=0.9000\n\n'
    """
    names = [labels.name(number) for number in range(len(labels))]
    ends = set(sentences[1:].tolist())
    lines = (
        f"{names[number]}{confidence_comment([value])}" + ("\n\n" if t in ends else "\n")
        for t, (number, value) in enumerate(zip(numbers.tolist(), confidence.tolist(), strict=True), start=1)
    )
    return "".join(lines).encode()
