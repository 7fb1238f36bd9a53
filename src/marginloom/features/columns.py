"""Which columns templates read, by name: learnt from the training input, and found again in others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from marginloom.errors import InputError
from marginloom.features.template_lines import TemplateLine
from marginloom.io.columns import FEATS, FORM, UPOS, XPOS, Columns, column_name, columns_of_format
from marginloom.io.formats import CONLLU_PLUS

_WRITTEN = re.compile(r"column\[(.*)\]", re.DOTALL)


class ColumnsRead:
    """The columns that templates read.

    Atoms say ``word``, ``pos``, ``xpos`` or ``column[...]``. Training looks up which column of its input each of them
    means, and the model knows that column by its name: the fifth column of CoNLL-U is ``xpos``, wherever it stands in
    another input. Columns without names keep their numbers.

    Parameters
    ----------
    lines : iterable of TemplateLine
        The templates.
    asked : mapping
        From ``pos`` and ``xpos`` to the column that is meant, by name or number.

    Examples
    --------
    >>> read = ColumnsRead([TemplateLine("own.txt, line 1", "pos[0] column[0,3]")], {"pos": "upos"})
    >>> read.learn(Columns("X", 3, ("form", "upos", "lemma")))
    >>> read.names
    {'pos': 'upos', 'column[3]': 'lemma'}
    >>> read.places(Columns("X", 3, ("form", "lemma", "upos")))
    {'pos': 2, 'column[3]': 1}
    """

    def __init__(self, lines: Iterable[TemplateLine], asked: Mapping[str, int | str | None]) -> None:
        self._lines: dict[str, TemplateLine] = {}
        for line in lines:
            for reference in line.columns:
                self._lines.setdefault(reference, line)
        self._asked: dict[str, int | str] = {}
        for reference in self._lines:
            column = asked.get(reference)
            self._asked[reference] = _meant(reference) if column is None else column
        self._numbered_format: str | None = None
        #: By what templates say; empty before training.
        self.names: dict[str, str] = {}

    @property
    def read(self) -> list[str]:
        """The columns that an input must have, each once: the words, and what else templates read.

        Those that words usually hold come first, in their usual order.
        """
        usual = {name: place for place, name in enumerate((FORM, UPOS, XPOS, FEATS))}
        return sorted(dict.fromkeys([FORM, *self.names.values()]), key=lambda name: usual.get(name, len(usual)))

    def learn(self, columns: Columns) -> None:
        """Take the names of the columns that are meant from the input to learn from; `InputError` if one is missing."""
        places = self._places_asked(columns)
        self.names = {
            reference: column if isinstance(column, str) else columns.name(places[reference])
            for reference, column in self._asked.items()
        }

    def places(self, columns: Columns) -> dict[str, int]:
        """Return where an input has what templates say; `InputError` if it has words, and lacks something."""
        if not columns.count:
            return dict.fromkeys(self._lines, 0)
        if not self.names:
            return self._places_asked(columns)
        return {reference: self._place(reference, name, columns) for reference, name in self.names.items()}

    def _place(self, reference: str, name: str, columns: Columns) -> int:
        if self._numbered_format is None or not name.isdecimal():
            return columns.column(name, self.reader(reference))
        if columns.format == self._numbered_format:
            return columns.column(int(name), self.reader(reference))
        raise InputError(
            f"{columns.place}: the model is of an older version, which did not note what column {name} of its training "
            f"files is called ({self.reader(reference)}); give {self._numbered_format} with the same columns, or train "
            "the model again"
        )

    def _places_asked(self, columns: Columns) -> dict[str, int]:
        return {reference: columns.column(column, self.reader(reference)) for reference, column in self._asked.items()}

    def reader(self, reference: str) -> str:
        """Say which template reads a column first, and what told it to."""
        named = ", as pos_column (--pos-column) says" if reference == "pos" and self._asked["pos"] != UPOS else ""
        return f"{self._lines[reference]} reads it{named}"

    def portable(self, reference: str, asked: int | str | None, settings: Mapping[str, Any]) -> int | str | None:
        """Return what to ask for in Python to mean the same column: the name of one that a file's number meant."""
        name = self.names.get(reference, "")
        return asked if not isinstance(asked, int) or "format" not in settings or name.isdecimal() else name or asked

    def options(self) -> dict[str, Any]:
        """Return what a file has of them as JSON."""
        return {"columns": self.names, "columns_numbered_in": self._numbered_format}

    def load(self, options: Mapping[str, Any], settings: Mapping[str, Any], usual: tuple[str, ...] = ()) -> None:
        """Take what `options` returned.

        Files of versions that knew no names have numbers, which count the columns of the training input: `settings` has
        its format, unless that was Python, where words had the columns `usual`.
        """
        stored = options.get("columns")
        if stored is not None:
            self.names = {reference: str(stored[reference]) for reference in self._asked}
            self._numbered_format = options.get("columns_numbered_in")
            return
        format = settings.get("format")
        names = usual if format is None else columns_of_format(format, settings.get("column_names", ()))
        if format == CONLLU_PLUS and not names:
            self._numbered_format = format
        self.names = {
            reference: names[column - 1] if isinstance(column, int) and column <= len(names) else str(column)
            for reference, column in self._asked.items()
        }


def written_columns(places: Mapping[str, int]) -> dict[str, int]:
    """Return the places of what stands in ``column[...]``.

    Examples
    --------
    >>> written_columns({"word": 0, "column[lemma]": 2})
    {'lemma': 2}
    """
    found = ((_WRITTEN.fullmatch(reference), place) for reference, place in places.items())
    return {match[1]: place for match, place in found if match}


def _meant(reference: str) -> int | str:
    """Return the column that a reference means by itself."""
    if reference == "word":
        return FORM
    written = _WRITTEN.fullmatch(reference)
    if written is None:
        return reference
    return int(written[1]) if written[1].isdecimal() else column_name(written[1])
