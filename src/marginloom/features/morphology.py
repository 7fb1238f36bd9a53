"""The column FEATS, which holds lists of name=value: what templates read of it is there, and is well formed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from marginloom.errors import InputError
from marginloom.features.columns import ColumnsRead
from marginloom.features.template_lines import READS_FEATS, TemplateLine
from marginloom.io.columns import NamedRows
from marginloom.io.conll import ColumnCorpus
from marginloom.io.names import quoted

#: What stands in CoNLL-U where there is nothing.
NOTHING = "_"
_PAIR = "[^=|]+=[^|]+"
_CELL = re.compile(rf"{_PAIR}(\|{_PAIR})*", re.DOTALL)
_NAME = re.compile(r"feats\.(.+)\[[^\[]*\]")


def names_in(source: ColumnCorpus | NamedRows, column: int) -> dict[str, int]:
    """Return the names in a column FEATS with the number of words that have them, the first to occur first.

    Raises
    ------
    InputError
        If a cell is no list of name=value; the message names its place.

    Examples
    --------
    >>> names_in(NamedRows([[("dogs", "Case=Nom|Number=Plur"), ("bark", "_")]]), 1)
    {'Case': 1, 'Number': 1}
    """
    found: dict[str, int] = {}
    for cell, count in _counted_cells(source, column).items():
        for part in () if cell in ("", NOTHING) else cell.split("|"):
            name = part.partition("=")[0]
            found[name] = found.get(name, 0) + count
    return found


def _counted_cells(source: ColumnCorpus | NamedRows, column: int) -> dict[str, int]:
    """Return the different cells with how often they occur; `InputError` if one is no list of name=value."""
    counts: dict[str, int] = {}
    if isinstance(source, ColumnCorpus):
        cells = source.labels(column, strings=True)
        occurrences = np.bincount(cells.numbers, minlength=cells.names.size)
        counts = dict(zip(cells.names.tolist(), occurrences.tolist(), strict=True))
    else:
        for sentence in source:
            for word in sentence:
                counts[word[column]] = counts.get(word[column], 0) + 1
    for cell in counts:
        if cell not in ("", NOTHING) and not _CELL.fullmatch(cell):
            raise InputError(
                f"{_place(source, column, cell)}: found the FEATS {quoted(cell[:80])}, expected a list of name=value "
                "with | between them, such as Case=Nom|Number=Plur, or _ for none; a parser does not read the column "
                "with feats=False (--no-feats)"
            )
    return counts


def _place(source: ColumnCorpus | NamedRows, column: int, cell: str) -> str:
    """Say where a cell occurs first."""
    if isinstance(source, ColumnCorpus):
        cells = source.labels(column, strings=True)
        token = int(np.flatnonzero(cells.numbers == cells.names.tolist().index(cell))[0])
        for table in source.tables:
            if token < table.tokens:
                return f"{table.name}, line {table.line_number(token)}"
            token -= table.tokens
    rows: Iterable[Any] = source  # type: ignore[assignment]
    places = ((i, j) for i, words in enumerate(rows) for j, word in enumerate(words, 1) if word[column] == cell)
    sentence, word = next(places)
    return f"sentence {sentence}, word {word}"


def check_names(lines: Iterable[TemplateLine], source: ColumnCorpus | NamedRows, column: int) -> None:
    """Raise `InputError` if a template reads a name in FEATS that no word has, or a cell is no list of name=value.

    Examples
    --------
    >>> check_names([TemplateLine("own.txt, line 1", "feats.Case[0]")], NamedRows([[("dogs", "Number=Plur")]]), 1)
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: own.txt, line 1: the template 'feats.Case[0]' reads Case, which no word has in its \
FEATS; remove it, or name one of those that occur: Number
    """
    found = names_in(source, column)
    for line in lines:
        for name in (match[1] for match in map(_NAME.fullmatch, line.text.split(" ")) if match):
            if name not in found:
                known = ", ".join(sorted(found)[:20]) or "there are none"
                raise InputError(
                    f"{line.place}: the template {line.text!r} reads {name}, which no word has in its FEATS; remove "
                    f"it, or name one of those that occur: {known}"
                )


def check_feats(lines: Iterable[TemplateLine], read: ColumnsRead, source: object, *, learn: bool) -> None:
    """Check the column FEATS of an input if templates read it; with `learn` also that the names they read occur."""
    if READS_FEATS not in read.names or not isinstance(source, (ColumnCorpus, NamedRows)) or not source.columns.count:
        return
    column = read.places(source.columns)[READS_FEATS]
    if learn:
        check_names(lines, source, column)
    else:
        names_in(source, column)
