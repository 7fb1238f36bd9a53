"""Sentences in CoNLL columns, in CoNLL-U, CoNLL-U Plus and CoNLL-X: whole files, and streams in pieces."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError, InputWarning
from marginloom.io.columns import FORMAT_NAMES, Columns, column_name, columns_of_format
from marginloom.io.confidence import confidence_text, misc_with, numbered_cells, withheld
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.formats import CONLL, CONLLU, CONLLU_PLUS, CONLLX, LABELLED, KnownFormats, common_format
from marginloom.io.names import shown
from marginloom.io.stream_pieces import stream_pieces
from marginloom.labels.numbered import NumberedLabels, add_strings
from marginloom.labels.written import written_labels

_HEADER = re.compile(r"# ?global\.columns ?=(.*)")
_SENTENCE_END = re.compile(rb"\n[ \t]*\r?\n")
#: Columns on trees that are not predicted: beside new heads they would be wrong.
OTHER_TREES = ("DEPS", "PHEAD", "PDEPREL")


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of a format.

    Attributes
    ----------
    format : str
        ``conll``, ``conllu``, ``conlluplus`` or ``conllx``.
    names : tuple of str
        What the columns are called; none in ``conll``, where there may be any.
    """

    format: str
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, format: str, text: str, name: str) -> Self:
        """Return the columns of a format, for CoNLL-U Plus as the first line says; `InputError` if it does not.

        Examples
        --------
        >>> Layout.of("conlluplus", "# global.columns = ID FORM UPOS NER", "f").word
        1
        """
        if format == CONLL:
            return cls(format)
        if format in FORMAT_NAMES:
            return cls(format, FORMAT_NAMES[format])
        line = text.partition("\n")[0].rstrip("\r")
        matched = _HEADER.fullmatch(line)
        names = tuple(matched[1].split()) if matched else ()
        if not names or len(set(map(column_name, names))) < len(names) or "FORM" not in names:
            raise InputError(
                f"{name}, line 1: found {line[:80]!r}, expected '# global.columns = ' and the names of the columns, "
                "each once, of which FORM is one; without that line it is CoNLL-U or plain columns (--format)"
            )
        return cls(format, names)

    @property
    def word(self) -> int:
        """Index of the column that holds the words."""
        return self.names.index("FORM") if self.names else 0

    @property
    def label(self) -> int | None:
        """Column, from 1, in which labels are by default; None for the last one."""
        return self.names.index("UPOS") + 1 if "UPOS" in self.names else None

    def column(self, name: str) -> int | None:
        """Return the index of a column by what it is called in CoNLL-U; None if there is none.

        Examples
        --------
        >>> Layout.of("conllx", "", "f").column("UPOS"), Layout.of("conll", "", "f").column("UPOS")
        (3, None)
        """
        known, wanted = self.known_names, column_name(name)
        return known.index(wanted) if wanted in known else None

    @property
    def known_names(self) -> tuple[str, ...]:
        """What models know the columns by."""
        return columns_of_format(self.format, self.names)

    def parse(self, text: bytes, name: str, first_line: int, columns: int) -> _core.ColumnTable:
        """Parse text, of which every line must have as many columns as `columns` or else the layout says."""
        try:
            return _core.ColumnTable(
                text,
                self.format != CONLL,
                name,
                first_line,
                len(self.names) or columns,
                self.column("ID"),
                comments=self.format != CONLLX,
            )
        except ValueError as error:
            raise InputError(str(error)) from error


@dataclasses.dataclass(frozen=True)
class ColumnCorpus:
    """Sentences of one or several column files.

    Attributes
    ----------
    layout : Layout
        Their columns.
    tables : list
        One per file.
    """

    layout: Layout
    tables: Sequence[_core.ColumnTable]

    @property
    def format(self) -> str:
        """The format's name."""
        return self.layout.format

    @property
    def word_column(self) -> int:
        """Index of the column that holds the words."""
        return self.layout.word

    @property
    def columns(self) -> Columns:
        """The columns by what models know them by."""
        table = min(self.tables, key=lambda table: table.columns if table.tokens else 2**32)
        return Columns(table.name, table.columns if table.tokens else 0, self.layout.known_names, self.format)

    @property
    def byte_count(self) -> int:
        """Size of the text."""
        return sum(table.memory for table in self.tables)

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sentences begin and end, counted in tokens over all files."""
        offsets = [np.zeros(1, dtype=np.uint64)]
        for table in self.tables:
            offsets.append(table.sentences()[1:] + offsets[-1][-1])
        return np.concatenate(offsets)

    @property
    def weights(self) -> None:
        """Sentences in columns have no weights."""
        return None

    def labels(self, column: int, strings: bool | None = None) -> NumberedLabels:
        """Return a column's cells, over all files: as they are, or as whole numbers."""
        seen = _core.Vocabulary()
        numbers = [np.zeros(0, dtype=np.uint32)]
        for table in self.tables:
            self._check_column(table, column)
            numbers.append(seen.encode_column(table, column, grow=True))
        return written_labels(NumberedLabels.of_vocabulary(seen, np.concatenate(numbers)), strings)

    def label_column(self, column: int | str | None) -> int:
        """Return the index of the label column for a name, or a number from 1 as users give it; None is the default."""
        if isinstance(column, str):
            column = self.columns.column(column, "it holds the labels") + 1
        if column is None:
            column = self.layout.label or self.tables[0].columns
        if column < 1:
            raise InputError(f"--column counts from 1, so it cannot be {column}")
        for table in self.tables:
            self._check_column(table, column - 1)
        if column - 1 == self.word_column:
            raise InputError(
                f"{self.tables[0].name}: column {column} holds the words, and the labels must be in another one"
            )
        return column - 1

    def with_labels(
        self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int | str | None, k: int = 1
    ) -> bytes:
        """Return the text of one file with labels in a new column, or in CoNLL-U and CoNLL-U Plus in the one given."""
        (table,) = self.tables
        return table.with_labels(labels, numbers, self._place_of_labels(column), k)

    def _place_of_labels(self, column: int | str | None) -> int:
        return 0 if self.format == CONLL else self.label_column(column)

    def with_confidence(
        self,
        labels: _core.Vocabulary,
        numbers: NDArray[np.integer],
        column: int | str | None,
        confidence: NDArray[np.float64],
    ) -> bytes:
        """Return the same as `with_labels` with a column for the confidence, or an entry of MISC."""
        (table,) = self.tables
        place = self._place_of_labels(column)
        return table.with_columns([(place, labels, numbers.astype(np.uint32)), self._confidence_column(confidence)])

    def _confidence_column(self, confidence: NDArray[np.float64]) -> tuple[int, _core.Vocabulary, NDArray[np.uint32]]:
        texts = map(confidence_text, confidence.tolist())
        if self.format == CONLL:
            return 0, *numbered_cells(texts)
        place = self.layout.column("MISC")
        if place is None:
            raise InputError(
                f"{self.tables[0].name}: the format {self.format} has no column MISC, where confidence is written; "
                "convert it to CoNLL-U"
            )
        cells = self.labels(place, strings=True).values().tolist()
        return place, *numbered_cells(map(misc_with, cells, texts))

    def column(self, name: str) -> int:
        """Return the index of a column by what it is called in CoNLL-U; `InputError` if there is none."""
        return self.columns.column(column_name(name))

    def with_trees(
        self,
        heads: NDArray[np.integer],
        labels: _core.Vocabulary | None = None,
        numbers: NDArray[np.integer] | None = None,
        confidence: NDArray[np.float64] | None = None,
        least: float | None = None,
    ) -> bytes:
        """Return the text of one file with trees in HEAD and DEPREL, and ``_`` in other columns on trees.

        Everything else stays as it is, byte for byte.

        Parameters
        ----------
        heads : array of int
            The head of every word, from 1; 0 for roots.
        labels : Vocabulary, optional
            The labels that there are. Without it the label is ``root`` where the head is 0, and ``dep`` elsewhere.
        numbers : array of int, optional
            The number of each word's label.
        confidence : array of float, optional
            The probability of each word's arc, for MISC.
        least : float, optional
            Write ``_`` for the labels of arcs with less.
        """
        (table,) = self.tables
        if labels is None or numbers is None:
            labels, numbers = _vocabulary(["root", "dep"]), heads != 0
        further = []
        if confidence is not None:
            labels, numbers = withheld(labels, numbers, confidence, least)
            further = [self._confidence_column(confidence)]
        places = _vocabulary(map(str, range(int(heads.max(initial=0)) + 1)))
        columns = [
            (self.column("HEAD"), places, heads.astype(np.uint32)),
            (self.column("DEPREL"), labels, numbers.astype(np.uint32)),
        ]
        nothing, zeros = _vocabulary(["_"]), np.zeros(heads.size, dtype=np.uint32)
        others = (self.layout.column(name) for name in OTHER_TREES)
        empty = [(column, nothing, zeros) for column in others if column is not None]
        return table.with_columns([*columns, *empty, *further])

    @staticmethod
    def _check_column(table: _core.ColumnTable, column: int) -> None:
        if table.tokens and column >= table.columns:
            raise InputError(
                f"{table.name}, line {table.line_number(0)}: found {table.columns} columns, and column {column + 1} "
                "was asked for; name another with --column"
            )


def _vocabulary(names: Iterable[str]) -> _core.Vocabulary:
    found = _core.Vocabulary()
    add_strings(found, names)
    return found


def parse(data: bytes, format: str, name: str) -> ColumnCorpus:
    r"""Parse the text of a file, of which every line must have as many columns as the first line has, or the format.

    Examples
    --------
    >>> parse(b"a X\nb Y\n", "conll", "example").tables[0].tokens
    2
    """
    text = decode_utf8(data, name)
    layout = Layout.of(format, text, name)
    table = layout.parse(text.encode(), name, 1, 0)
    if table.line_with_spaces is not None:
        warnings.warn(
            InputWarning(
                f"{name}, line {table.line_with_spaces}: the line has tabs, and spaces within what they separate, "
                "which separate columns too; write something else if they should not, such as _"
            ),
            stacklevel=2,
        )
    return ColumnCorpus(layout, [table])


def read_corpus(
    paths: Sequence[StrPath], format: str | None = None, trained: str | None = None, known: KnownFormats = LABELLED
) -> ColumnCorpus:
    """Read column files, which must be of one format and have a sentence between them.

    Parameters
    ----------
    paths : sequence of paths
        The files, plain, .gz or .xz.
    format : str, optional
        ``conll``, ``conllu``, ``conlluplus`` or ``conllx``, of those that are known; by default as the names say.
    trained : str, optional
        The format of the files that the model was trained on.
    known : KnownFormats
        The formats that the task reads, and what ends of names mean to it.

    Returns
    -------
    ColumnCorpus
        Their sentences.
    """
    chosen = common_format(paths, format, trained, known)
    if chosen not in (CONLL, CONLLU, CONLLU_PLUS, CONLLX):
        raise InputError(f"{shown(paths[0])}: the format is {chosen}, which has no columns")
    files = [parse(read_bytes(path, copies=4), chosen, shown(path)) for path in paths]
    for file in files:
        (table,) = file.tables
        if table.tokens == 0:
            raise InputError(
                f"{table.name}: found no sentence, expected one token a line with a blank line between sentences"
            )
        if file.layout != files[0].layout:
            raise InputError(
                f"{table.name}, line 1: found the columns {' '.join(file.layout.names)}, expected those of "
                f"{files[0].tables[0].name}: {' '.join(files[0].layout.names)}"
            )
    return ColumnCorpus(files[0].layout, [file.tables[0] for file in files])


def stream_corpora(stream: BinaryIO, format: str, name: str) -> Iterator[ColumnCorpus]:
    """Yield a stream's sentences piece by piece, as soon as they are complete, in bounded memory."""
    return _parsed_pieces(stream_pieces(stream, _SENTENCE_END), format, name)


def stream_sentences(stream: BinaryIO, format: str, name: str) -> Iterator[ColumnCorpus]:
    """Yield a stream's sentences one by one; a piece without a sentence is what is left at the end."""
    pieces = stream_pieces(stream, _SENTENCE_END)
    return _parsed_pieces((part for piece, line in pieces for part in _single_sentences(piece, line)), format, name)


def _single_sentences(piece: bytes, line: int) -> Iterator[tuple[bytes, int]]:
    """Cut a piece after each sentence; each part comes with the number of its first line."""
    start = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(piece)), len(piece)]:
        if end > start:
            yield piece[start:end], line
            line += piece.count(b"\n", start, end)
            start = end


def _parsed_pieces(pieces: Iterable[tuple[bytes, int]], format: str, name: str) -> Iterator[ColumnCorpus]:
    layout, columns, name = None, 0, shown(name)
    for piece, line in pieces:
        text = decode_utf8(piece, name, line)
        try:
            layout = layout or Layout.of(format, text, name)
            table = layout.parse(text.encode(), name, line, columns)
        except InputError as error:
            if "\t" in text:
                raise
            raise InputError(f"{error}; if this is plain text, use --format text") from error
        yield ColumnCorpus(layout, [table])
        columns = columns or table.columns
