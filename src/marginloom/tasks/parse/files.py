"""Sentences and trees in files, as Python users read and write them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from marginloom.errors import InputError
from marginloom.io.columns import checked_columns
from marginloom.io.compression import compressing_write
from marginloom.io.conll import read_corpus
from marginloom.io.files import StrPath
from marginloom.io.formats import TREEBANKS
from marginloom.tasks.parse.sentences import USUAL_COLUMNS
from marginloom.tasks.parse.treebank import Treebank

#: What is written of words, as CoNLL-U has it around trees.
_WRITTEN = ("form", "lemma", "upos", "xpos", "feats", "misc")


def read_conllu(
    path: StrPath, format: str | None = None, columns: Sequence[str] = USUAL_COLUMNS[:3]
) -> tuple[list[list[tuple[str, ...]]], list[list[tuple[int, str]]]]:
    r"""Read sentences and their trees from a file.

    Parameters
    ----------
    path : str or path-like
        The file, plain, .gz or .xz.
    format : {"conllu", "conlluplus", "conllx"}, optional
        By default as the name says: ``.conllup`` is CoNLL-U Plus, ``.conll`` and ``.conllx`` CoNLL-X, everything else
        CoNLL-U.
    columns : sequence of str
        What words hold: names of CoNLL-U in small letters, or those that the first line of CoNLL-U Plus has. For a
        parser that was trained on files, its `columns_`.

    Returns
    -------
    X : list of list of (form, upos, xpos)
        The words of each sentence, or tuples of other `columns`. In CoNLL-X ``upos`` is CPOSTAG and ``xpos`` POSTAG.
    y : list of list of (head, label)
        Their trees; the head of roots is 0.

    Raises
    ------
    InputError
        If the file cannot be read, a column is missing or a head is none; the message names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "example.conllu")
    ...     size = path.write_text("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    ...     read_conllu(path)
    ([[('Go', 'VERB', 'VB')]], [[(0, 'root')]])
    """
    corpus = read_corpus([os.fspath(path)], format, known=TREEBANKS)
    names = checked_columns(list(columns))
    assert names is not None
    cells = [corpus.labels(corpus.column(name), strings=True).values().tolist() for name in names]
    bank = Treebank.from_corpus(corpus)
    assert bank.labels is not None
    words = list(zip(*cells, strict=True))
    nodes = list(zip(bank.heads.tolist(), bank.labels.values().tolist(), strict=True))
    bounds = bank.sentences.tolist()
    parts = [slice(start, end) for start, end in pairwise(bounds)]
    return [words[part] for part in parts], [nodes[part] for part in parts]


def write_conllu(path: StrPath, X: Any, y: Any, columns: Sequence[str] | None = None) -> None:
    r"""Write sentences with their trees in CoNLL-U.

    Parameters
    ----------
    path : str or path-like
        The file to write, in UTF-8, compressed if its name ends in .gz or .xz; it is replaced in one step.
    X : iterable of sentences
        Each with a tuple (form, upos) or (form, upos, xpos) for every word, or a tuple of other `columns`.
    y : iterable of trees
        For each sentence the head of every word, from 1, or pairs (head, label). Without labels ``root`` is written
        where the head is 0, and ``dep`` elsewhere.
    columns : sequence of str, optional
        What words hold, of ``form``, ``lemma``, ``upos``, ``xpos``, ``feats`` and ``misc``.

    Raises
    ------
    InputError
        If they do not go together, a sentence is empty, a field is empty, has a tab or the end of a line in it, or
        cannot be written in UTF-8, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.conllu")
    ...     write_conllu(path, [[("Go", "VERB")]], [[(0, "root")]])
    ...     path.read_text()
    '1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n'
    """
    bank = Treebank.from_lists(X, y, checked_columns(None if columns is None else list(columns)))
    places = _places(bank.source.names)
    heads = bank.heads.tolist()
    labels = ["dep" if head else "root" for head in heads] if bank.labels is None else bank.labels.values().tolist()
    words = [word for sentence in bank.source for word in sentence]
    _check_fields(bank, words, labels)
    with compressing_write(path) as file:
        for start, end in pairwise(bank.sentences.tolist()):
            for number, token in enumerate(range(start, end), 1):
                cells = ["_" if place is None else words[token][place] for place in places]
                tree = [str(heads[token]), labels[token], "_"]
                file.write("\t".join([str(number), *cells[:-1], *tree, cells[-1]]).encode() + b"\n")
            file.write(b"\n")


def _places(names: Sequence[str]) -> list[int | None]:
    """Return where words have what is written of them; `InputError` if they hold something else."""
    for name in names:
        if name not in _WRITTEN:
            raise InputError(
                f"columns has {name!r}, and words are written with {', '.join(_WRITTEN)} only; leave it out"
            )
    return [names.index(name) if name in names else None for name in _WRITTEN]


def _check_fields(bank: Treebank, words: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
    for i, sentence in enumerate(bank.source):
        if not sentence:
            raise InputError(f"sentence {i} (counted from 0) is empty, which CoNLL-U cannot hold; leave it out")
    unfit = re.compile(r"[\t\n\r\ud800-\udfff]|^$").search
    for token, (word, label) in enumerate(zip(words, labels, strict=True)):
        for field in (*word, label):
            if unfit(field):
                raise InputError(
                    f"{bank.place(token)}: found the field {field[:80]!r}; CoNLL-U cannot hold empty fields, tabs, "
                    "ends of lines or halves of letters, replace it"
                )
