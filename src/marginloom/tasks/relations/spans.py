"""Spans that a trained tagger finds."""

from __future__ import annotations

from typing import Any, Protocol

from marginloom.errors import InputError
from marginloom.io.columns import FORM, UPOS, XPOS, NamedRows
from marginloom.tasks.relations.sentences import POS, Corpus

#: What taggers may call the column of tags.
_TAGS = (POS, UPOS, XPOS)


class Tagger(Protocol):
    """What is needed of a tagger: which columns it reads, and the spans that it finds."""

    @property
    def columns(self) -> list[str]:
        """The columns that the features read; none where they are ready."""

    def predict_spans(self, source: Any, n_threads: int | None = 1) -> list[list[tuple[str, int, int]]]:
        """Return for every sentence its spans: type, first token and one past the last token."""


def found_spans(tagger: Tagger, corpus: Corpus, n_threads: int | None = 1) -> Corpus:
    """Return the sentences with the spans that a tagger finds; `InputError` if it is no tagger of spans."""
    found = tagger.predict_spans(_rows(tagger, corpus), n_threads)
    return Corpus(
        [
            sentence.with_spans([(start, end) for _, start, end in spans])
            for sentence, spans in zip(corpus.sentences, found, strict=True)
        ]
    )


def checked_tagger(spans: Any, name: str = "spans") -> Tagger:
    """Return the model of a tagger that Python users give, an estimator or its model."""
    tagger = getattr(spans, "model_", spans)
    if not hasattr(tagger, "predict_spans") or not hasattr(tagger, "columns"):
        raise InputError(
            f"{name} is {type(spans).__name__}; give a fitted SequenceTagger, whose labels mark spans, such as B-PER"
        )
    found: Tagger = tagger
    return found


def _rows(tagger: Tagger, corpus: Corpus) -> NamedRows:
    """Return sentences with the columns that the tagger reads."""
    others = [name for name in tagger.columns if name != FORM]
    if not tagger.columns:
        raise InputError(
            "the tagger reads ready features, and sentences here have tokens and tags: train one on words or columns"
        )
    if not others:
        return corpus.rows(with_pos=False)
    numbers = [name for name in others if name.isdecimal()]
    unknown = [name for name in others if name not in _TAGS and name not in numbers]
    if unknown or len(numbers) > 1:
        raise InputError(
            f"the tagger reads the column {(unknown or numbers)[0]}, and sentences here have tokens and pos only; "
            "train one that reads no other column"
        )
    rows = corpus.rows(with_pos=True).sentences
    if numbers:  # plain columns: the tags stand where the tagger has read them
        width = int(numbers[0])
        return NamedRows([[(word, *["_"] * (width - 2), tag) for word, tag in row] for row in rows])
    names = (FORM, *others)
    return NamedRows([[(word, *[tag] * len(others)) for word, tag in row] for row in rows], names)
