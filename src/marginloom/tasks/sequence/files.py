"""Sentences with a label per token, read from files of columns into Python lists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.columns import column_name
from marginloom.io.conll import ColumnCorpus, read_corpus
from marginloom.io.files import StrPath
from marginloom.io.formats import CONLL, CONLLU, CONLLU_PLUS, LABELLED, KnownFormats

_COLUMN_FORMATS = KnownFormats((CONLL, CONLLU, CONLLU_PLUS), LABELLED.endings, CONLL)


def read_conll(
    path: StrPath,
    columns: int | str | Sequence[int | str] | None = None,
    *,
    column: int | str | None = None,
    format: str | None = None,
) -> tuple[list[list[Any]], list[list[str]]]:
    r"""Read sentences and the labels of their tokens from a file of columns.

    Parameters
    ----------
    path : str or path-like
        The file, plain, .gz or .xz: one token a line, a blank line after each sentence.
    columns : int, str or sequence of these, optional
        The columns to return for each token, by number from 1; in CoNLL-U and CoNLL-U Plus also by name, such as
        ``"FORM"``. One column gives strings, a sequence gives tuples. By default the words.
    column : int or str, optional
        The column of the labels; by default the last one, in CoNLL-U UPOS.
    format : {"conll", "conllu", "conlluplus"}, optional
        By default as the name says: ``.conllu`` is CoNLL-U, ``.conllup`` CoNLL-U Plus, everything else plain columns.

    Returns
    -------
    X : list of list
        The sentences: for each token a string, or a tuple of strings.
    y : list of list of str
        The labels.

    Raises
    ------
    InputError
        If the file cannot be read or a column is missing; the message names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.conll")
    ...     size = path.write_text("He PRP B-NP\nsleeps VBZ B-VP\n")
    ...     read_conll(path), read_conll(path, columns=(1, 2))[0]
    (([['He', 'sleeps']], [['B-NP', 'B-VP']]), [[('He', 'PRP'), ('sleeps', 'VBZ')]])
    """
    corpus = read_corpus([os.fspath(path)], format, known=_COLUMN_FORMATS)
    label_column = corpus.label_column(None if column is None else _place(corpus, column) + 1)
    if columns is None:
        tokens = _cells(corpus, corpus.word_column)
    elif isinstance(columns, (int, str)):
        tokens = _cells(corpus, _place(corpus, columns))
    else:
        chosen = [_place(corpus, one) for one in columns]
        if not chosen:
            raise InputError("columns is empty; name at least one column, or leave it out for the words")
        tokens = list(zip(*(_cells(corpus, one) for one in chosen), strict=True))
    labels = _cells(corpus, label_column)
    parts = [slice(start, end) for start, end in pairwise(corpus.sentences.tolist())]
    return [tokens[part] for part in parts], [labels[part] for part in parts]


def _cells(corpus: ColumnCorpus, index: int) -> list[Any]:
    cells: list[Any] = corpus.labels(index, strings=True).values().tolist()
    return cells


def _place(corpus: ColumnCorpus, column: int | str) -> int:
    """Return the index of a column that is named by number, from 1, or by name."""
    if isinstance(column, str):
        return corpus.columns.column(column_name(column))
    return corpus.columns.column(checked("column", column, "positive count"))
