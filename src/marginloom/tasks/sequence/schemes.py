"""Labels that mark spans: which may follow each other, and how those that do not are mended."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.labels.numbered import NumberedLabels

_SPAN_LABEL = re.compile(r"([A-Z])-(.+)", re.DOTALL)
_OUTSIDE = "O"


@dataclasses.dataclass(frozen=True)
class Scheme:
    """What the prefixes of labels are called.

    Attributes
    ----------
    name : str
        What users call it.
    end, single : str
        Prefixes of the last token of a span, and of a span of one token; empty if the scheme has none, and then the
        last token is as those within, and a single one as a first one.
    """

    name: str
    end: str = ""
    single: str = ""

    @property
    def prefixes(self) -> str:
        """All prefixes."""
        return f"BI{self.end}{self.single}"

    def parts(self, label: Any) -> tuple[str, str]:
        """Return a label's prefix and type; `InputError` if it is no label of the scheme.

        Examples
        --------
        >>> SCHEMES["bilou"].parts("U-PER"), SCHEMES["bio"].parts("O")
        (('U', 'PER'), ('O', ''))
        """
        if label == _OUTSIDE:
            return _OUTSIDE, ""
        matched = _SPAN_LABEL.fullmatch(label) if isinstance(label, str) else None
        if matched is None or matched[1] not in self.prefixes:
            wanted = ", ".join(f"{prefix}-TYPE" for prefix in self.prefixes)
            raise InputError(f"the constraints {self.name} need labels O, {wanted}, and there is {label!r}")
        return matched[1], matched[2]

    def goes_on(self, prefix: str) -> bool:
        """Tell whether a token with this prefix belongs to the span of the token before it."""
        return prefix in ("I", self.end)

    def leaves_open(self, prefix: str) -> bool:
        """Tell whether a token with this prefix must, or in schemes without ends may, have another one after it."""
        return prefix in ("B", "I")

    def allows(self, before: tuple[str, str], after: tuple[str, str]) -> bool:
        """Tell whether labels, as `parts` returns them, may follow each other; outside stands for a sentence's ends."""
        is_joined = self.leaves_open(before[0]) and before[1] == after[1]
        if self.goes_on(after[0]):
            return is_joined
        return not self.end or not self.leaves_open(before[0])

    def repaired(self, labels: NumberedLabels, bounds: NDArray[np.int64]) -> NumberedLabels:
        """Return labels that keep to the scheme: a span that has no beginning gets one, and one without an end too.

        Types stay as they are. A token goes on with the span before it if its prefix says so, that span is of its type
        and has not ended; else it begins one.

        Parameters
        ----------
        labels : NumberedLabels
            Those of sentences in a row.
        bounds : array of int
            Where sentences begin and end.

        Examples
        --------
        >>> given = NumberedLabels.of(["I-PER", "I-PER", "I-LOC", "O"])
        >>> SCHEMES["bio"].repaired(given, np.array([0, 4])).values().tolist()
        ['B-PER', 'I-PER', 'B-LOC', 'O']
        >>> SCHEMES["bioes"].repaired(given, np.array([0, 4])).values().tolist()
        ['B-PER', 'E-PER', 'S-LOC', 'O']
        """
        parts = [self.parts(name) for name in labels.names.tolist()]
        types = ["", *sorted({kind for _, kind in parts if kind})]
        kind = np.array([types.index(kind) for _, kind in parts], dtype=np.int64)[labels.numbers]
        goes_on = np.array([self.goes_on(prefix) for prefix, _ in parts], dtype=bool)[labels.numbers]
        is_open = np.array([self.leaves_open(prefix) for prefix, _ in parts], dtype=bool)[labels.numbers]
        joined = np.zeros(kind.size + 1, dtype=bool)  # to the token before; one more for what follows the last
        joined[1:-1] = goes_on[1:] & is_open[:-1] & (kind[1:] == kind[:-1])
        joined[bounds] = False
        return self._marked(types, kind, joined[:-1], joined[1:])

    def _marked(
        self, types: list[str], kind: NDArray[np.int64], joined: NDArray[np.bool_], followed: NDArray[np.bool_]
    ) -> NumberedLabels:
        """Return the labels of tokens by their types, and by whether others of their span come before and after."""
        prefixes = [self.single or "B", "B", self.end or "I", "I"]
        names = [f"{prefix}-{name}" if name else _OUTSIDE for name in types for prefix in prefixes]
        different = list(dict.fromkeys(names))
        number = np.array([different.index(name) for name in names], dtype=np.uint32)
        used, numbers = np.unique(number[4 * kind + 2 * joined + followed], return_inverse=True)
        return NumberedLabels(np.array([different[place] for place in used], dtype=object), numbers.astype(np.uint32))


SCHEMES = {scheme.name: scheme for scheme in (Scheme("bio"), Scheme("bioes", "E", "S"), Scheme("bilou", "L", "U"))}
