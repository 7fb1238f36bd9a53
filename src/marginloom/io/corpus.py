"""Sentences from files of any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.io import conll, crfsuite, libsvm_sequences
from marginloom.io.files import StrPath
from marginloom.io.formats import CRFSUITE, LIBSVM, common_format
from marginloom.labels.numbered import NumberedLabels


class Corpus(Protocol):
    """Sentences of one or several files, with what the commands need of them."""

    @property
    def format(self) -> str:
        """One of `marginloom.io.formats.FORMATS`."""

    @property
    def byte_count(self) -> int:
        """Size of the text."""

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sentences begin and end, counted in tokens over all files."""

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the sentences; None if all are 1."""

    def label_column(self, column: int | str | None) -> int:
        """Return the index of the label column for a name, or a number from 1 as users give it; None is the default."""

    def labels(self, column: int, strings: bool | None = None) -> NumberedLabels:
        """Return the labels of all tokens: as strings, as whole numbers, or, for None, as the format has them."""

    def with_labels(
        self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int | str | None, k: int = 1
    ) -> bytes:
        """Return what the format has predictions look like, for the text of one file; `column` as users give it."""

    def with_confidence(
        self,
        labels: _core.Vocabulary,
        numbers: NDArray[np.integer],
        column: int | str | None,
        confidence: NDArray[np.float64],
    ) -> bytes:
        """Return the same with the confidence of every label."""


def read_corpus(paths: Sequence[StrPath], format: str | None = None, trained: str | None = None) -> Corpus:
    """Read files, which must be of one format and have a sentence each.

    Parameters
    ----------
    paths : sequence of paths
        The files, plain, .gz or .xz.
    format : str, optional
        By default as the names say.
    trained : str, optional
        The format of the files that the model was trained on, which these must go with.

    Returns
    -------
    Corpus
        Their sentences.
    """
    chosen = common_format(paths, format, trained)
    if chosen == CRFSUITE:
        return crfsuite.read_corpus(paths)
    if chosen == LIBSVM:
        return libsvm_sequences.read_corpus(paths)
    return conll.read_corpus(paths, chosen)


def stream_corpora(stream: BinaryIO, format: str, name: str) -> Iterator[Corpus]:
    """Yield a stream's sentences piece by piece, as soon as they are complete, in bounded memory."""
    if format == CRFSUITE:
        yield from crfsuite.stream_corpora(stream, name)
    elif format == LIBSVM:
        yield from libsvm_sequences.stream_corpora(stream, name)
    else:
        yield from conll.stream_corpora(stream, format, name)
