"""What the columns hold that a parser reads besides the words: warnings of those that say nothing."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from marginloom.errors import InputWarning
from marginloom.features.columns import ColumnsRead
from marginloom.io.columns import UPOS, XPOS, NamedRows
from marginloom.io.conll import ColumnCorpus

#: What stands in CoNLL-U where there is nothing.
MISSING = "_"


def cells_read(source: ColumnCorpus | NamedRows, read: ColumnsRead) -> dict[str, list[str]]:
    """Return different values of each column that templates read besides the words, two of them at most."""
    columns = source.columns
    places = read.places(columns) if columns.count else {}
    return {read.names[atom]: different_cells(source, place) for atom, place in places.items() if atom != "word"}


def warn_of_missing(cells: Mapping[str, list[str]], constant: Collection[str]) -> None:
    """Warn of columns that are empty for all words, and were not in training."""
    for name, found in cells.items():
        if found == [MISSING] and name not in constant:
            advice = "tag the words first" if name in (UPOS, XPOS) else "fill it in first"
            text = f"no word has its {name}, which the parser reads: {MISSING!r} stands there; {advice}"
            warnings.warn(InputWarning(text), stacklevel=5)


def warn_of_constants(cells: Mapping[str, list[str]]) -> list[str]:
    """Return the columns that have the same for all words, and warn of them: they say nothing."""
    constant = [name for name, found in cells.items() if len(found) == 1]
    for name in constant:
        text = f"all words have the same {name}, {cells[name][0]!r}, which says nothing of them"
        warnings.warn(InputWarning(text), stacklevel=4)
    return constant


def different_cells(source: ColumnCorpus | NamedRows, column: int) -> list[str]:
    """Return the different cells of a column, two of them at most; none if there are no words."""
    found: dict[str, None] = {}
    if isinstance(source, ColumnCorpus):
        found = dict.fromkeys(source.labels(column, strings=True).names.tolist())
    else:
        for sentence in source:
            found |= dict.fromkeys(word[column] for word in sentence)
            if len(found) > 1:
                break
    return list(found)[:2]
