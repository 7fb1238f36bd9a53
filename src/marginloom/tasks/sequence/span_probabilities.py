"""Probabilities of spans: the sum over all labellings that mark them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.tasks.sequence.spans import Span, SpanLabels
from marginloom.tasks.sequence.task import SequenceTask

#: A run of tokens: the first of them, and for each the labels that it may have.
Run = tuple[int, list[NDArray[np.uint16]]]


def span_probabilities(
    task: SequenceTask,
    weights: NDArray[np.float64],
    temperature: float,
    labels: SpanLabels,
    spans: list[list[Span]],
) -> list[list[float]]:
    """Return for every sentence the probabilities that its labels mark exactly these spans.

    A span is there if its first token begins one of its type, its other tokens go on with it, and the token after it
    does not, all by the rules of `marginloom.tasks.sequence.spans.spans`. Whether a token begins a span can depend on
    the label before; the labellings are then those of several runs of tokens, which exclude each other.
    """
    lengths = task.core.part_counts.tolist()
    if len(lengths) != len(spans):
        raise InputError(f"X has {len(lengths)} sentences, and spans has {len(spans)}")
    rules = _Rules(labels)
    runs: list[tuple[int, int, Run]] = []  # sentence, place among all spans, run
    place = 0
    for i, (length, own) in enumerate(zip(lengths, spans, strict=True)):
        for span in own:
            runs += [(i, place, run) for run in rules.runs(span, length, i)]
            place += 1
    found = _sums(task, weights, temperature, runs, place)
    bounds = np.cumsum([0, *map(len, spans)]).tolist()
    return [found[start:end] for start, end in itertools.pairwise(bounds)]


def _sums(
    task: SequenceTask,
    weights: NDArray[np.float64],
    temperature: float,
    runs: list[tuple[int, int, Run]],
    count: int,
) -> list[float]:
    sets: dict[bytes, int] = {}
    members: list[NDArray[np.uint16]] = []
    numbers: list[int] = []
    for _, _, (_, tokens) in runs:
        for allowed in tokens:
            key = allowed.tobytes()
            if key not in sets:
                sets[key] = len(members)
                members.append(allowed)
            numbers.append(sets[key])
    request = _core.LabelRuns(
        sentences=np.array([i for i, _, _ in runs], dtype=np.uint64),
        firsts=np.array([first for _, _, (first, _) in runs], dtype=np.uint64),
        bounds=np.cumsum([0, *(len(tokens) for _, _, (_, tokens) in runs)]).astype(np.uint64),
        sets=np.array(numbers, dtype=np.uint32),
        set_bounds=np.cumsum([0, *map(len, members)]).astype(np.uint64),
        labels=np.concatenate(members) if members else np.zeros(0, np.uint16),
    )
    found = task.core.run_probabilities(weights, 1 / temperature, request)
    places = np.array([place for _, place, _ in runs], dtype=np.int64)
    return np.minimum(np.bincount(places, found, count), 1.0).tolist()  # type: ignore[no-any-return]


class _Rules:
    """Which labels begin spans, go on with them, and stand after them."""

    def __init__(self, labels: SpanLabels) -> None:
        self._labels = labels
        self._inner = np.isin(labels.prefixes, list("IEL"))  # goes on with a span of its type, if there is one
        self._open = np.isin(labels.prefixes, list("BI"))  # what the next token can go on with

    def runs(self, span: Span, length: int, sentence: int) -> list[Run]:
        kind, start, end = span
        if not 0 <= start < end <= length:
            raise InputError(
                f"sentence {sentence}: the span ({kind!r}, {start}, {end}) is not within its {length} tokens"
            )
        if not kind or kind not in self._labels.types:
            return []
        own = self._labels.kinds == self._labels.types.index(kind)
        before_that = own & self._open  # a label after which an inner one of this type begins no span
        rest = [own & self._inner] * (end - start - 1)
        found: list[Run] = []
        for first in (own & ~self._inner, own & self._inner):
            begins = [] if start == 0 or not (first & self._inner).any() else [~before_that]
            tokens = [first, *rest]
            # All but the last token must be such that the next goes on; where not, no labelling marks the span.
            tokens = [*(token & self._open for token in tokens[:-1]), tokens[-1]]
            found += self._with_ends(start - len(begins), begins, tokens, own, after=end < length)
        return found

    def _with_ends(
        self,
        first: int,
        begins: list[NDArray[np.bool_]],
        tokens: list[NDArray[np.bool_]],
        own: NDArray[np.bool_],
        *,
        after: bool,
    ) -> list[Run]:
        """Return the runs in which the last token ends the span: the next does not go on, or the label forbids it."""
        if not after:
            return self._run(first, [*begins, *tokens])
        closed = [*tokens[:-1], tokens[-1] & ~self._open]
        opened = [*tokens[:-1], tokens[-1] & self._open]
        return [
            *self._run(first, [*begins, *closed]),
            *self._run(first, [*begins, *opened, ~(own & self._inner)]),
        ]

    @staticmethod
    def _run(first: int, tokens: list[NDArray[np.bool_]]) -> list[Run]:
        sets = [np.flatnonzero(token).astype(np.uint16) for token in tokens]
        return [(first, sets)] if all(labels.size for labels in sets) else []
