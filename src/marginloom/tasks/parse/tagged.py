"""Words that a tagger gives their parts of speech, for parsers that read these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.io.columns import FORM, UPOS, XPOS
from marginloom.io.conll import ColumnCorpus
from marginloom.io.formats import CONLLX
from marginloom.labels.label_set import LabelSet


class Tagger(Protocol):
    """What is needed of a tagger."""

    labels: LabelSet
    settings: dict[str, Any]

    def predict(self, source: Any, n_threads: int | None = 1) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return sentence offsets and the number of the best label of every token."""


def checked_tagger(tagger: Any) -> Tagger:
    """Return the model of a tagger that Python users give, an estimator or its model."""
    found: Tagger = getattr(tagger, "model_", tagger)
    if not hasattr(found, "predict_spans"):
        raise InputError(f"tagger is {type(tagger).__name__}; give a fitted SequenceTagger")
    return found


def tag_column(tagger: Tagger) -> str:
    """Return the column that a tagger was trained to fill: ``xpos`` if its training file said so, else ``upos``."""
    return XPOS if tagger.settings.get("label_name") == XPOS else UPOS


def tagged_corpus(tagger: Tagger, corpus: ColumnCorpus, n_threads: int | None = 1) -> ColumnCorpus:
    """Return sentences of a file with the labels of a tagger in their column, in place of what was there."""
    if not corpus.layout.names:
        raise InputError("a tagger fills a column of CoNLL-U, and plain columns have no names: give CoNLL-U or text")
    (table,) = corpus.tables
    place = corpus.layout.column(tag_column(tagger))
    if place is None or corpus.format == CONLLX:
        raise InputError(f"{table.name}: the format {corpus.format} cannot be tagged on the way: give CoNLL-U or text")
    _, numbers = tagger.predict(corpus, n_threads)
    text = table.with_labels(tagger.labels.vocabulary, numbers, place, 1)
    return ColumnCorpus(corpus.layout, [corpus.layout.parse(text, table.name, 1, 0)])


def tagged_words(
    tagger: Tagger, X: Any, columns: Sequence[str], n_threads: int | None = 1
) -> list[list[tuple[str, ...]]]:
    """Return the words of sentences with what a parser reads, of which the tagger gives the part of speech."""
    name = tag_column(tagger)
    for column in columns:
        if column not in (FORM, name):
            raise InputError(f"the parser reads the column {column}, and the tagger gives {name} only: give X with it")
    sentences = [list(sentence) for sentence in X]
    _, numbers = tagger.predict(sentences, n_threads)
    tags = iter(tagger.labels.decode(numbers).tolist())
    return [[(_word(token), str(next(tags))) for token in sentence] for sentence in sentences]


def _word(token: Any) -> str:
    return token if isinstance(token, str) else str(token[0])
