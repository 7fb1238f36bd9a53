"""The feature set `words`: the word itself, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.features.base import (
    Encoded,
    drop_unknown,
    keep_frequent,
    load_vocabulary,
    vocabulary_tensors,
)
from marginloom.io.conll import ColumnCorpus


class Words:
    """One indicator per token, its word: the first column, or FORM in CoNLL-U.

    Parameters
    ----------
    min_count : int
        Words seen less often in training are not in the vocabulary.

    Examples
    --------
    >>> words = Words()
    >>> words.fit([["the", "end"], ["the"]]).features.tolist()
    [0, 1, 0]
    """

    name = "words"

    def __init__(self, min_count: int = 1) -> None:
        self.min_count = min_count
        self._vocabulary = _core.Vocabulary()

    def fit(self, source: Any) -> Encoded:
        """Learn the words and encode the training sentences."""
        sentences, numbers = _encode(source, self._vocabulary, grow=True)
        self._vocabulary, numbers = keep_frequent(self._vocabulary, numbers, self.min_count)
        return self._encoded(sentences, numbers)

    def transform(self, source: Any) -> Encoded:
        """Encode other sentences; unknown words have no feature."""
        return self._encoded(*_encode(source, self._vocabulary, grow=False))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the vocabulary as arrays."""
        return vocabulary_tensors(self._vocabulary, "features")

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> Words:
        """Make the feature set from its arrays."""
        words = cls()
        words._vocabulary = load_vocabulary(tensors, "features")
        return words

    def describe(self, feature: int) -> str:
        """Name a feature."""
        return f"word={self._vocabulary.name(feature)}"

    def _encoded(self, sentences: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> Encoded:
        tokens = np.arange(numbers.size + 1, dtype=np.uint64)
        tokens, numbers, _ = drop_unknown(tokens, numbers, None)
        return Encoded(sentences, tokens, numbers, None, len(self._vocabulary))


def _encode(source: Any, vocabulary: _core.Vocabulary, grow: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    if isinstance(source, ColumnCorpus):
        return source.sentences, source.encode_column(vocabulary, source.word_column, grow)
    words: list[str] = []
    offsets = [0]
    for i, sentence in enumerate(source):
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            raise InputError(f"sentence {i} must be a list of words or of rows of columns, not {sentence!r}")
        words.extend(_word(token, i) for token in sentence)
        offsets.append(len(words))
    try:
        return np.array(offsets, dtype=np.uint64), vocabulary.encode_strings(words, grow)
    except ValueError as error:
        raise InputError(f"a word cannot be encoded: {error}") from error


def _word(token: str | Sequence[str], sentence: int) -> str:
    word = token if isinstance(token, str) else token[0] if isinstance(token, Sequence) and len(token) else None
    if not isinstance(word, str):
        raise InputError(f"sentence {sentence}: a token must be a word or a row of columns, not {token!r}")
    return word
