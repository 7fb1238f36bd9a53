"""Sentences in CoNLL columns and in CoNLL-U: whole files, and streams in pieces."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.files import StrPath, decode_utf8, read_bytes, stream_pieces
from marginloom.io.formats import common_format

_WORD_COLUMN = {"conll": 0, "conllu": 1}
_CONLLU_LABEL_COLUMN = 4
_SENTENCE_END = re.compile(rb"\n[ \t]*\r?\n")


@dataclasses.dataclass(frozen=True)
class ColumnCorpus:
    """Sentences of one or several column files.

    Attributes
    ----------
    format : str
        ``conll`` or ``conllu``.
    tables : list
        One per file.
    """

    format: str
    tables: Sequence[_core.ColumnTable]

    @property
    def word_column(self) -> int:
        """Index of the column that holds the words."""
        return _WORD_COLUMN[self.format]

    @property
    def byte_count(self) -> int:
        """Size of the text."""
        return sum(table.bytes for table in self.tables)

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sentences begin and end, counted in tokens over all files."""
        offsets = [np.zeros(1, dtype=np.uint64)]
        for table in self.tables:
            offsets.append(table.sentences()[1:] + offsets[-1][-1])
        return np.concatenate(offsets)

    def encode_column(self, vocabulary: _core.Vocabulary, column: int, grow: bool) -> NDArray[np.uint32]:
        """Return the numbers of a column's cells in a vocabulary, over all files."""
        numbers = [np.zeros(0, dtype=np.uint32)]
        for table in self.tables:
            self._check_column(table, column)
            numbers.append(vocabulary.encode_column(table, column, grow))
        return np.concatenate(numbers)

    def label_column(self, column: int | None) -> int:
        """Return the index of the label column for a number from 1 as users give it; None is the default."""
        if column is None:
            column = default_label_column(self.format) or self.tables[0].columns
        if column < 1:
            raise InputError(f"--column counts from 1, so it cannot be {column}")
        for table in self.tables:
            self._check_column(table, column - 1)
        if column - 1 == self.word_column:
            raise InputError(
                f"{self.tables[0].name}: column {column} holds the words, and the labels must be in another one"
            )
        return column - 1

    def with_labels(self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int, k: int = 1) -> bytes:
        """Return the text of one file with labels in a new column, or in CoNLL-U in the one given."""
        (table,) = self.tables
        return table.with_labels(labels, numbers, column, k)

    @staticmethod
    def _check_column(table: _core.ColumnTable, column: int) -> None:
        if table.tokens and column >= table.columns:
            raise InputError(
                f"{table.name}, line {table.line_number(0)}: found {table.columns} columns, and column {column + 1} "
                "was asked for; name another with --column"
            )


def default_label_column(format: str) -> int | None:
    """Return the column, from 1, in which a format has labels by default; None for the last one."""
    return _CONLLU_LABEL_COLUMN if format == "conllu" else None


def parse(data: bytes, format: str, name: str, first_line: int = 1, columns: int = 0) -> _core.ColumnTable:
    r"""Parse text in columns, of which every line must have as many as `columns` says, or else as the first line has.

    Examples
    --------
    >>> parse(b"a X\nb Y\n", "conll", "example").tokens
    2
    """
    text = decode_utf8(data, name, first_line).encode()
    try:
        return _core.ColumnTable(text, format == "conllu", name, first_line, columns)
    except ValueError as error:
        raise InputError(str(error)) from error


def read_corpus(paths: Sequence[StrPath], format: str | None = None) -> ColumnCorpus:
    """Read column files, which must be of one format and have a sentence between them.

    Parameters
    ----------
    paths : sequence of paths
        The files, plain, .gz or .xz.
    format : str, optional
        ``conll`` or ``conllu``; by default as the names say.

    Returns
    -------
    ColumnCorpus
        Their sentences.
    """
    chosen = common_format(paths, format)
    if chosen not in _WORD_COLUMN:
        raise InputError(f"{os.fspath(paths[0])}: the format is {chosen}, which has no columns")
    tables = [parse(read_bytes(path, copies=4), chosen, os.fspath(path)) for path in paths]
    for table in tables:
        if table.tokens == 0:
            raise InputError(
                f"{table.name}: found no sentence, expected one token a line with a blank line between sentences"
            )
    return ColumnCorpus(chosen, tables)


def stream_tables(stream: BinaryIO, format: str, name: str) -> Iterator[_core.ColumnTable]:
    """Yield a stream's sentences piece by piece, as soon as they are complete, in bounded memory."""
    columns = 0
    for piece, line in stream_pieces(stream, _SENTENCE_END):
        table = parse(piece, format, name, line, columns)
        yield table
        columns = columns or table.columns
