"""Spans that labels mark: by the rules of conlleval, or only those that keep to a scheme."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.sequence.schemes import SCHEMES as CONSTRAINED

Span: TypeAlias = tuple[str, int, int]

OUTSIDE = "O"
#: The type of spans whose labels have none, as seqeval calls it.
UNTYPED = "_"

#: What can be scored strictly, with the prefixes as `Scheme.marks` has them.
SCHEMES = {**{name: scheme.marks for name, scheme in CONSTRAINED.items()}, "ioe": "IIEE"}

#: How labels are written: B-PER or PER-B, or without a type.
_PREFIXED = re.compile(r"(?P<prefix>[BIESLU])(-(?P<type>.+))?", re.DOTALL)
_SUFFIXED = re.compile(r"((?P<type>.+)-)?(?P<prefix>[BIESLU])", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class SpanLabels:
    """What labels say of spans, by number: the number of the type, 0 for outside, and the prefix."""

    types: list[str]
    kinds: NDArray[np.int64]
    prefixes: NDArray[np.str_]

    @classmethod
    def of(cls, names: Sequence[Any], style: re.Pattern[str]) -> SpanLabels:
        """Read labels that are written in a style; those that are not are outside every span."""
        matches = [style.fullmatch(str(name)) for name in names]
        found = [(match["prefix"], match["type"] or UNTYPED) if match else (OUTSIDE, "") for match in matches]
        types = sorted({"", *(kind for _, kind in found)})
        numbers = {kind: number for number, kind in enumerate(types)}
        kinds = np.array([numbers[kind] for _, kind in found], dtype=np.int64)
        return cls(types, kinds, np.array([prefix for prefix, _ in found], dtype="U1"))

    def spans(
        self, numbers: NDArray[Any], bounds: NDArray[np.int64], strict: str | None = None
    ) -> tuple[NDArray[np.int64], ...]:
        """Return type, first token and one past the last token of each span of sentences in a row, in order."""
        first, inner, last, only = tuple(SCHEMES[strict]) if strict else ("B", "I", "IEL", "")
        kind = self.kinds[numbers]
        goes_on = self._has(last + inner, numbers) & (kind > 0)
        goes_on[1:] &= (kind[1:] == kind[:-1]) & self._has(first + inner, numbers[:-1])
        goes_on[bounds[:-1][bounds[:-1] < numbers.size]] = False
        begins = np.flatnonzero((kind > 0) & ~goes_on)
        is_last = kind > 0
        is_last[:-1] &= ~goes_on[1:]
        ends = np.flatnonzero(is_last)
        if strict:
            alone = begins == ends
            whole = self._has(first, numbers[begins]) & self._has(last, numbers[ends]) & ~alone
            kept = whole | (self._has(only, numbers[begins]) & alone)
            begins, ends = begins[kept], ends[kept]
        return kind[begins], begins, ends + 1

    def _has(self, prefixes: str, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell for each label whether its prefix is one of these."""
        is_one: NDArray[np.bool_] = np.isin(self.prefixes, list(prefixes))
        return np.asarray(is_one[numbers])


def spans(labels: Sequence[str], strict: str | None = None) -> list[Span]:
    """Find the labelled spans of one sentence.

    By the rules of conlleval a token continues the span before it when its prefix is I, E or L, the types are equal and
    the token before it does not end a span (prefix E, L, S or U). Any other token with a prefix starts a span, so an
    I- without its B- does too. Labels of another form are outside every span, as "O" is.

    Parameters
    ----------
    labels : sequence of str
        The labels of the tokens: BIO, BIOES or BILOU, as "B-PER", "PER-B", or "B" without a type, which is "_" then.
    strict : {"bio", "bioes", "bilou", "ioe"}, optional
        Only spans that are well formed in this scheme count.

    Returns
    -------
    list of (str, int, int)
        Type, first token and one past the last token of each span, in order.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 5)]
    >>> spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"], strict="bio")
    [('PER', 0, 2), ('LOC', 4, 5)]
    """
    check_scheme(strict)
    read = SpanLabels.of(labels, span_style(labels) or _PREFIXED)
    kinds, starts, ends = read.spans(np.arange(len(labels)), np.array([0, len(labels)]), strict)
    names = [read.types[kind] for kind in kinds.tolist()]
    return list(zip(names, starts.tolist(), ends.tolist(), strict=True))


def is_span_labelling(labels: Iterable[str]) -> bool:
    """Tell whether labels mark spans.

    Each is "O", or a prefix B, I, E, S, L or U with a type before or after it and a hyphen between, or a prefix alone;
    where none has a type, one of them must be B or I.

    Parameters
    ----------
    labels : iterable of str
        All labels, or the distinct ones.

    Returns
    -------
    bool
        True too where every label is "O"; False where there is no label at all.

    Examples
    --------
    >>> is_span_labelling(["O", "B-PER", "I-PER"]), is_span_labelling(["PER-B", "O"]), is_span_labelling("BIO")
    (True, True, True)
    >>> is_span_labelling(["O", "NOUN"])
    False
    """
    return span_style(labels) is not None


def span_style(labels: Iterable[Any]) -> re.Pattern[str] | None:
    """Return how labels write spans, or None if they do not mark any, see `is_span_labelling`."""
    distinct = set(labels)
    marked = distinct - {OUTSIDE}
    if not distinct or not all(isinstance(label, str) for label in marked):
        return None
    for style in (_PREFIXED, _SUFFIXED):
        matches = [match for match in map(style.fullmatch, marked) if match]
        told = any(match["type"] or match["prefix"] in "BI" for match in matches)
        if len(matches) == len(marked) and (told or not marked):
            return style
    return None


def check_scheme(strict: str | None, name: str = "strict") -> None:
    """Raise `InputError`, which calls it by a name, if there is no such scheme."""
    if strict is not None and strict not in SCHEMES:
        raise InputError(f"{name} must be one of the schemes {', '.join(SCHEMES)}, not {strict!r}")


def check_labels(labels: Iterable[Any], strict: str) -> None:
    """Raise `InputError` if right labels are not of a scheme: then it is not theirs."""
    distinct = sorted(set(labels), key=str)
    style = span_style(distinct)
    allowed = SCHEMES[strict] + OUTSIDE
    read = SpanLabels.of(distinct, style) if style else None
    strange = [str(name) for i, name in enumerate(distinct) if read is None or read.prefixes[i] not in allowed]
    if strange:
        shown = ", ".join(strange[:5]) + (" ..." if len(strange) > 5 else "")
        raise InputError(
            f"strict is {strict!r}, and gold labels are not of this scheme: {shown}; name the scheme of the labels "
            f"({', '.join(SCHEMES)}), or score without strict"
        )
