"""Types and relations as numbers, of all sentences in a row and of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.relations.sentences import Corpus, Sentence, pair_row


class Outputs(NamedTuple):
    """Types of all spans in a row, and labels of all ordered pairs; the label 0 is none."""

    types: NDArray[np.uint8]
    labels: NDArray[np.uint8]


def by_sentence(corpus: Corpus, outputs: Outputs) -> list[tuple[Sentence, list[int], list[int]]]:
    """Cut outputs at the ends of sentences."""
    spans, pairs = corpus.spans.offsets.tolist(), corpus.pair_offsets.tolist()
    types, labels = outputs.types.tolist(), outputs.labels.tolist()
    return [
        (sentence, types[spans[i] : spans[i + 1]], labels[pairs[i] : pairs[i + 1]])
        for i, sentence in enumerate(corpus.sentences)
    ]


def related_pairs(types: Sequence[int], labels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield head, tail and number of every relation of a sentence with these labels of pairs.

    Examples
    --------
    >>> list(related_pairs([0, 0], [2, 0]))
    [(0, 1, 1)]
    """
    count = len(types)
    for head in range(count):
        for tail in range(count):
            if head != tail and (label := labels[pair_row(count, head, tail)]):
                yield head, tail, label - 1
