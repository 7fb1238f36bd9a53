"""Vocabularies as the arrays of a file."""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core

_PART = 1 << 20  # bytes or names that are looked at together


def vocabulary_tensors(vocabulary: _core.Vocabulary, name: str) -> dict[str, NDArray[Any]]:
    """Return a vocabulary as two arrays."""
    return {
        f"{name}_text": np.frombuffer(vocabulary.text(), dtype=np.uint8),
        f"{name}_offsets": vocabulary.offsets(),
    }


def load_vocabulary(tensors: dict[str, NDArray[Any]], name: str, separator: int | None = None) -> _core.Vocabulary:
    """Return the vocabulary that `vocabulary_tensors` stored, on the arrays as they are: those of a file stay there.

    `separator` is a byte that may stand in its texts although it is no text.
    """
    text, offsets = tensors[f"{name}_text"], tensors[f"{name}_offsets"]
    if text.dtype != np.uint8 or offsets.dtype != np.uint64 or text.ndim != 1 or offsets.ndim != 1:
        raise ValueError(f"the vocabulary of {name} has the wrong type")
    vocabulary = _core.Vocabulary(text, np.require(offsets, requirements="A"))
    _check_text(text, separator)
    for start in range(0, offsets.size, _PART):
        starts = offsets[start : start + _PART]
        if ((text[starts[starts < text.size]] & 0xC0) == 0x80).any():
            raise ValueError(f"the vocabulary of {name} is cut within a letter")
    return vocabulary


def _check_text(text: NDArray[np.uint8], separator: int | None) -> None:
    """Raise `ValueError` unless it is UTF-8; looked at in parts, so that it is never in memory as a whole."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, text.size, _PART):
        part = text[start : start + _PART]
        decoder.decode((part if separator is None else np.where(part == separator, ord(" "), part)).tobytes())
    decoder.decode(b"", final=True)
