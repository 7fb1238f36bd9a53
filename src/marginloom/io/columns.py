"""Columns by name: what a model knows the columns of sentences by, whatever holds them."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from marginloom.errors import InputError
from marginloom.io.formats import CONLL, CONLLU, CONLLU_PLUS, CONLLX, TEXT

FORM, UPOS, XPOS, FEATS = "form", "upos", "xpos", "feats"
#: Names that may be written in capitals too, as CoNLL-U has them.
STANDARD = (FORM, "lemma", UPOS, XPOS, FEATS, "head", "deprel", "deps", "misc", "id", "phead", "pdeprel")
#: What formats call their columns.
FORMAT_NAMES = {
    CONLLU: ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"),
    CONLLX: ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL"),
}
_IN_CONLLX = {"CPOSTAG": UPOS, "POSTAG": XPOS}


def column_name(written: str, format: str | None = None) -> str:
    """Return a column's name for what users write, or what a format calls it.

    Examples
    --------
    >>> column_name("UPOS"), column_name("CPOSTAG", "conllx"), column_name("PARSEME:MWE")
    ('upos', 'upos', 'PARSEME:MWE')
    """
    if format == CONLLX and written in _IN_CONLLX:
        return _IN_CONLLX[written]
    return written.lower() if written.lower() in STANDARD else written


def columns_of_format(format: str, written: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of a format's columns, or of those that a file's first line names; none if they have numbers.

    Examples
    --------
    >>> columns_of_format("conllx")[3:5], columns_of_format("conll")
    (('upos', 'xpos'), ())
    """
    return tuple(column_name(name, format) for name in FORMAT_NAMES.get(format) or written)


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns of an input: of files, or of the words that Python users give.

    Attributes
    ----------
    place : str
        Where the input is, for messages: a file, or X.
    count : int
        How many there are; 0 where there is no word.
    names : tuple of str
        What they are called; none where they have numbers only.
    format : str or None
        The files' format; None for words from Python.
    """

    place: str
    count: int
    names: tuple[str, ...] = ()
    format: str | None = None

    def find(self, name: str) -> int | None:
        """Return the index of a column by its name, or its number where columns have no names.

        Examples
        --------
        >>> Columns("X", 3, ("form", "upos", "lemma")).find("lemma"), Columns("X", 3).find("3")
        (2, 2)
        """
        if self.names:
            return self.names.index(name) if name in self.names else None
        if name == FORM:
            return 0
        return int(name) - 1 if name.isdecimal() and 1 <= int(name) <= self.count else None

    def name(self, index: int) -> str:
        """Return what a column is called: its number, from 1, where columns have no names.

        Examples
        --------
        >>> Columns("X", 2, ("form", "upos")).name(1), Columns("X", 2).name(1)
        ('upos', '2')
        """
        return self.names[index] if self.names else str(index + 1)

    def column(self, wanted: int | str, why: str = "") -> int:
        """Return the index of a column by name or by number, from 1, as users give it; `InputError` if there is none.

        `why` says what reads the column.
        """
        if isinstance(wanted, str):
            found = self.find(wanted)
            if found is None:
                raise InputError(self.lacks(wanted, why))
            return found
        if not 1 <= wanted <= self.count:
            raise InputError(
                f"{self._beginning()}: found {self.count} columns, expected a column {wanted} among them"
                f"{_because(why)}; name a column that is there"
            )
        return wanted - 1

    def lacks(self, name: str, why: str = "") -> str:
        """Say that a column is missing, what reads it, and how to give it."""
        shown = name if self.format is None or name not in STANDARD else name.upper()
        meant = [] if name in STANDARD else difflib.get_close_matches(name, self.names, n=1)
        advice = f"did you mean {meant[0]}?" if meant else self._how_to_give(shown)
        return (
            f"{self._beginning()}: found {self._shown()}, expected {self._expected(shown)} among them{_because(why)}; "
            f"{advice}"
        )

    def _beginning(self) -> str:
        return self.place if self.format is None else f"{self.place}, line 1"

    def _expected(self, name: str) -> str:
        return f"a column {name} without a name" if name.isdecimal() else name

    def _shown(self) -> str:
        if self.format is None:
            if self.names:
                return f"words with {'the column' if len(self.names) == 1 else 'the columns'} {' '.join(self.names)}"
            return "words alone" if self.count == 1 else f"words of {self.count} columns, which have no names"
        if self.format == TEXT:
            return "plain text"
        if self.names:
            standard = (name.upper() if name in STANDARD else name for name in self.names)
            return f"the columns {' '.join(standard)}"
        return "plain columns"

    def _how_to_give(self, name: str) -> str:
        number = name.isdecimal()
        if self.format is None:
            if number:
                return f"give words of {name} columns at least, as in training, without columns="
            example = (*(self.names or (FORM,)), name)
            return f"give words that have it, and say with columns= what they hold, such as columns={example!r}"
        if self.format == TEXT:
            return "text has words only: tag it first, with 'marginloom predict TAGGER', and give the output of that"
        if number:
            return "give plain columns, as in training, and say so with --format"
        if self.format == CONLLU_PLUS:
            return "name it in that line, after '# global.columns =', and give every token one more cell"
        if self.format == CONLL or name.lower() in STANDARD:
            return "give CoNLL-U, or CoNLL-U Plus, whose first line names its columns, and say so with --format"
        return "give CoNLL-U Plus, whose first line names its columns, and say so with --format"


def _because(why: str) -> str:
    return f" ({why})" if why else ""


def checked_columns(columns: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of words as Python users give them; `InputError` if they cannot be.

    Examples
    --------
    >>> checked_columns(["FORM", "UPOS", "shape"])
    ('form', 'upos', 'shape')
    """
    if columns is None:
        return None
    if isinstance(columns, (tuple, list)) and all(isinstance(name, str) for name in columns):
        names = tuple(column_name(name) for name in columns)
        fine = all(name.strip() and not name.isdecimal() for name in names)
        if fine and FORM in names and len(set(names)) == len(names):
            return names
    raise InputError(
        f"columns must name what the words hold, each name once and 'form' among them, such as ('form', 'upos'), not "
        f"{columns!r}"
    )


def checked_column(name: str, column: Any) -> int | str | None:
    """Return a column as users give it, a number from 1 or a name; `InputError` if it is neither.

    Examples
    --------
    >>> checked_column("pos_column", "5"), checked_column("pos_column", "UPOS")
    (5, 'upos')
    """
    if column is None:
        return None
    if isinstance(column, str) and column.strip() and not column.strip().lstrip("+-").isdecimal():
        return column_name(column)
    try:
        number = int(column) if isinstance(column, str) or hasattr(column, "__index__") else 0
    except ValueError:
        number = 0
    if number < 1 or isinstance(column, bool):
        raise InputError(f"{name} must be the number of a column, from 1, or its name, such as upos, not {column!r}")
    return number


@dataclasses.dataclass(frozen=True)
class NamedRows:
    """Sentences from Python: lists of words, each a string or a tuple of columns.

    Attributes
    ----------
    sentences : sequence
        The sentences.
    names : tuple of str
        What the columns of words are called; none if they have numbers only.
    """

    sentences: Sequence[Any]
    names: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, place: int) -> Any:
        return self.sentences[place]

    @property
    def columns(self) -> Columns:
        """The columns of its words; `InputError` if there are more or fewer names."""
        count = columns_of_words(self.sentences)
        if self.names and count and count != len(self.names):
            raise InputError(
                f"X: found words of {count} columns, expected {len(self.names)}, as columns= says: "
                f"{', '.join(self.names)}"
            )
        return Columns("X", count, self.names)


def columns_of_words(sentences: Iterable[Any]) -> int:
    """Return how many columns the first word has; 0 if there is no word.

    Examples
    --------
    >>> columns_of_words([[], [("dog", "NOUN")]]), columns_of_words([["dog"]])
    (2, 1)
    """
    for sentence in sentences:
        for word in sentence:
            return 1 if isinstance(word, str) or not hasattr(word, "__len__") else len(word)
    return 0
