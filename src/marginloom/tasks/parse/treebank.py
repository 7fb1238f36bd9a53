"""Sentences with their trees, from files or from Python."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.io.columns import FORM
from marginloom.io.conll import ColumnCorpus
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.parse.sentences import (
    checked_sentences,
    checked_trees,
    lengths_of,
    named_rows,
    offsets_of,
    place_in_lists,
)

_NUMBER = re.compile("[0-9]{1,18}")  # no more than 64 bits hold
_NO_NUMBER = -1
#: Words of a sentence, of which the heads have 16 bits.
MOST_WORDS = 65_534


@dataclasses.dataclass(frozen=True)
class Treebank:
    """Sentences with the right heads of their words. Whether heads make trees is not looked at here.

    Attributes
    ----------
    source : ColumnCorpus or NamedRows
        What features are extracted from: files, or the sentences that a Python user gave.
    sentences : array of uint64
        Where sentences begin and end, counted in words.
    heads : array of int64
        The head of every word, from 1 within its sentence; 0 for roots. None is beyond its sentence.
    labels : NumberedLabels or None
        What every word is to its head.
    """

    source: Any
    sentences: NDArray[np.uint64]
    heads: NDArray[np.int64]
    labels: NumberedLabels | None

    @classmethod
    def from_corpus(cls, corpus: ColumnCorpus, labelled: bool = True) -> Treebank:
        r"""Take heads, and labels unless they are not wanted, from the columns HEAD and DEPREL.

        Raises
        ------
        InputError
            If there is no such column, or a head is no number or beyond its sentence, or words are not numbered from
            1 on; the message names file and line.

        Examples
        --------
        >>> from marginloom.io.conll import parse
        >>> text = "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
        >>> Treebank.from_corpus(parse(text.encode(), "conllu", "example")).heads.tolist()
        [2, 0]
        """
        sentences = corpus.sentences
        column, label_column = corpus.column("HEAD"), corpus.column("DEPREL") if labelled else None
        check_numbering(corpus)
        bank = cls(
            corpus,
            sentences,
            _read_heads(corpus, column, sentences),
            None if label_column is None else corpus.labels(label_column),
        )
        bank._check_range()
        return bank

    @classmethod
    def from_lists(cls, X: Any, y: Any, columns: tuple[str, ...] | None = None) -> Treebank:
        """Take sentences and trees as Python users have them.

        Parameters
        ----------
        X : iterable of sentences
            Each with a tuple for every word.
        y : iterable of trees
            For each sentence the head of every word, from 1, or pairs (head, label); the head of roots is 0.
        columns : tuple of str, optional
            What the tuples hold; by default (form, upos), (form, upos, xpos) or (form, upos, xpos, feats).

        Raises
        ------
        InputError
            If they are something else, do not go together, or a head is beyond its sentence; the message names
            sentence and word.

        Examples
        --------
        >>> bank = Treebank.from_lists([[("dogs", "NOUN"), ("bark", "VERB")]], [[2, 0]])
        >>> bank.heads.tolist(), bank.labels, bank.place(1)
        ([2, 0], None, 'sentence 0, word 2')
        """
        sentences = checked_sentences(X, columns)
        heads, labels = checked_trees(y, sentences)
        bank = cls(named_rows(sentences, columns), offsets_of(sentences), heads, labels)
        bank._check_range()
        return bank

    def place(self, token: int) -> str:
        """Say where a word is that has the number `token` of all: file and line, or sentence and word."""
        return _place(self.source, self.sentences, token)

    def forms(self) -> NumberedLabels:
        """Return the form of every word."""
        if isinstance(self.source, ColumnCorpus):
            return self.source.labels(self.source.word_column)
        place = self.source.names.index(FORM)
        return NumberedLabels.of([word[place] for sentence in self.source for word in sentence])

    def _check_range(self) -> None:
        bounds = self.sentences.astype(np.int64)
        lengths = bounds[1:] - bounds[:-1]
        most = np.repeat(lengths, lengths)
        beyond = np.flatnonzero((self.heads < 0) | (self.heads > most))
        if beyond.size:
            token = int(beyond[0])
            raise InputError(
                f"{self.place(token)}: found the head {self.heads[token]}, expected the number of one of the "
                f"{most[token]} words of its sentence, or 0 for a root"
            )


def check_lengths(source: Any, sentences: NDArray[np.uint64]) -> None:
    """Raise `InputError` if a sentence is longer than a parser can take, naming the place where it begins.

    Examples
    --------
    >>> check_lengths([], np.array([0, 70_000], np.uint64))
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: sentence 0, word 1: here begins a sentence of 70,000 words, and a sentence has at \
most 65,534; split it, with a blank line between sentences in files
    """
    lengths = lengths_of(sentences)
    long = np.flatnonzero(lengths > MOST_WORDS)
    if long.size:
        sentence = int(long[0])
        raise InputError(
            f"{_place(source, sentences, int(sentences[sentence]))}: here begins a sentence of {lengths[sentence]:,} "
            f"words, and a sentence has at most {MOST_WORDS:,}; split it, with a blank line between sentences in files"
        )


def _place(source: Any, sentences: NDArray[np.uint64], token: int) -> str:
    before = 0
    for table in getattr(source, "tables", ()):
        if token < before + table.tokens:
            return f"{table.name}, line {table.line_number(token - before)}"
        before += table.tokens
    sentence = int(np.searchsorted(sentences, token, side="right")) - 1
    return place_in_lists(sentence, token - int(sentences[sentence]) + 1)


def _read_numbers(cells: NumberedLabels) -> NDArray[np.int64]:
    """Return the numbers that cells are; what is no number becomes -1."""
    numbers = [int(name) if _NUMBER.fullmatch(name) else _NO_NUMBER for name in cells.names.tolist()]
    return np.array(numbers, dtype=np.int64)[cells.numbers]


def _read_heads(corpus: ColumnCorpus, column: int, sentences: NDArray[np.uint64]) -> NDArray[np.int64]:
    cells = corpus.labels(column)
    heads = _read_numbers(cells)
    wrong = np.flatnonzero(heads == _NO_NUMBER)
    if wrong.size:
        token = int(wrong[0])
        found = str(cells.names[cells.numbers[token]])
        problem = (
            "found _ for a head, so that there is no tree; give a file with trees: the number of each word's head in "
            "HEAD, 0 for the root"
            if found == "_"
            else f"found the head {found[:80]!r}, expected the number of a word, or 0 for the root"
        )
        raise InputError(f"{_place(corpus, sentences, token)}: {problem}")
    return heads


def check_numbering(corpus: ColumnCorpus) -> None:
    r"""Raise `InputError` unless words are numbered from 1 on, since heads go by these numbers.

    Examples
    --------
    >>> from marginloom.io.conll import parse
    >>> check_numbering(parse(("5\tdogs" + "\t_" * 8 + "\n").encode(), "conllu", "example"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: example, line 1: found the ID '5', expected 1; ...
    """
    if corpus.layout.column("ID") is None:
        return
    sentences = corpus.sentences
    cells = corpus.labels(corpus.column("ID"))
    starts = sentences.astype(np.int64)
    expected = np.arange(1, len(cells) + 1) - np.repeat(starts[:-1], np.diff(starts))
    wrong = np.flatnonzero(_read_numbers(cells) != expected)
    if wrong.size:
        token = int(wrong[0])
        found = str(cells.names[cells.numbers[token]])
        raise InputError(
            f"{_place(corpus, sentences, token)}: found the ID {found[:80]!r}, expected {expected[token]}; number the "
            "words of each sentence from 1 on, as heads refer to these numbers"
        )
