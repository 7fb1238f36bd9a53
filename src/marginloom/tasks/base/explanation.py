"""Why an output scores more than another: the difference of their scores, split by feature or by training example."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

#: Rows that a repr shows.
_SHOWN = 20


@dataclasses.dataclass(frozen=True)
class Contribution:
    """What a feature adds to the difference of two scores.

    Attributes
    ----------
    feature : str
        Its name.
    label : str
        What the weight belongs to: a label, a class, an arc.
    place : str
        The tokens that have it; empty where there are none.
    value : float
        The value of the feature in the output minus that in the other one.
    weight : float
        The weight of the feature and the label.
    contribution : float
        Their product.
    """

    feature: str
    label: str
    place: str
    value: float
    weight: float
    contribution: float


@dataclasses.dataclass(frozen=True)
class ExampleShare:
    """What a training example adds to the difference of two scores, by the weights that it has put there.

    Attributes
    ----------
    example : int or None
        Its number in training, from 0; None for the weights that no example accounts for, such as those of averaging.
    text : str
        The example, if the training file was given; or what the row is about.
    contribution : float
        The share.
    """

    example: int | None
    text: str
    contribution: float


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation:
    """Why the model gives one output and not another.

    Attributes
    ----------
    output, instead : object
        The two outputs, as `predict` has them.
    difference : float
        The score of `output` minus that of `instead`.
    features : tuple of Contribution
        The difference by feature, largest first; the contributions sum to it.
    examples : tuple of ExampleShare or None
        The difference by training example, largest first, if that was asked for; the contributions sum to it.
    """

    output: Any
    instead: Any
    difference: float
    features: tuple[Contribution, ...]
    examples: tuple[ExampleShare, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        found = dataclasses.asdict(self)
        found["features"] = [dataclasses.asdict(row) for row in self.features]
        found["examples"] = None if self.examples is None else [dataclasses.asdict(row) for row in self.examples]
        return found

    def tables(self, most: int | None = None) -> list[tuple[list[str], list[list[str]]]]:
        """Return headers and rows as texts, one table by feature and one by example; at most `most` rows of each."""
        headers = ["contribution", "value", "weight", "feature", "label", "at"]
        rows = [
            [f"{row.contribution:+.4f}", f"{row.value:+g}", f"{row.weight:+.4f}", row.feature, row.label, row.place]
            for row in self.features
        ]
        found = [(headers, _shortened(rows, [row.contribution for row in self.features], most))]
        if self.examples is not None:
            rows = [
                [f"{row.contribution:+.4f}", "" if row.example is None else str(row.example), row.text]
                for row in self.examples
            ]
            shortened = _shortened(rows, [row.contribution for row in self.examples], most)
            found.append((["contribution", "example", "text"], shortened))
        return found

    @property
    def summary(self) -> str:
        """A line on the two outputs."""
        return f"{self.output!r} and not {self.instead!r}: ahead by {self.difference:.6g}"

    def __repr__(self) -> str:
        lines = [self.summary]
        for headers, rows in self.tables(_SHOWN):
            widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
            numbers = 3 if len(headers) == 6 else 2
            for row in (headers, *rows):
                cells = [
                    cell.rjust(width) if place < numbers else cell.ljust(width)
                    for place, (cell, width) in enumerate(zip(row, widths, strict=True))
                ]
                lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show tables in notebooks."""
        parts = [f"<p>{html.escape(self.summary)}</p>"]
        for headers, rows in self.tables(_SHOWN):
            head = "".join(f"<th>{html.escape(text)}</th>" for text in headers)
            body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "".join(parts)


def _shortened(rows: list[list[str]], contributions: list[float], most: int | None) -> list[list[str]]:
    """Put rows beyond a number together into one."""
    if most is None or len(rows) <= most + 1 or not rows:
        return rows
    rest = math.fsum(contributions[most:])
    return [*rows[:most], [f"{rest:+.4f}", *[""] * (len(rows[0]) - 2), f"{len(rows) - most} more"]]


@dataclasses.dataclass(frozen=True)
class FeatureWeights:
    """A feature that an input has, with its weights.

    Attributes
    ----------
    feature : str
        Its name.
    value : float
        Its value.
    weights : dict
        From labels to weights, without those that are 0.
    """

    feature: str
    value: float
    weights: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return dataclasses.asdict(self)


def explained(
    output: Any, instead: Any, rows: Iterable[Contribution], examples: Sequence[ExampleShare] | None = None
) -> Explanation:
    """Return an explanation with its rows in order; rows of 0 are left out.

    Examples
    --------
    >>> rows = [Contribution("a", "N", "", 1.0, 0.5, 0.5), Contribution("b", "V", "", -1.0, 2.0, -2.0)]
    >>> explained("N", "V", rows)
    'N' and not 'V': ahead by -1.5
    contribution  value   weight  feature  label  at
         -2.0000     -1  +2.0000  b        V
         +0.5000     +1  +0.5000  a        N
    """
    kept = sorted((row for row in rows if row.contribution), key=lambda row: -abs(row.contribution))
    difference = math.fsum(row.contribution for row in kept)
    shares = None if examples is None else tuple(sorted(examples, key=lambda row: -abs(row.contribution)))
    return Explanation(output, instead, difference, tuple(kept), shares)


class Part(NamedTuple):
    """A term of the difference of two feature vectors: the number of a weight, the value there, and what it is."""

    number: int
    value: float
    feature: str
    label: str
    place: str = ""


class Compared(NamedTuple):
    """Two outputs of an input as users have them, and the difference of their feature vectors."""

    output: Any
    instead: Any
    parts: list[Part]

    def contributions(self, weights: NDArray[np.float64]) -> list[Contribution]:
        """Return what each term adds to the difference of the scores."""
        return [
            Contribution(
                part.feature,
                part.label,
                part.place,
                part.value,
                float(weights[part.number]),
                float(part.value * weights[part.number]),
            )
            for part in self.parts
        ]

    def difference(self, dimension: int) -> NDArray[np.float64]:
        """Return the difference as a vector."""
        found = np.zeros(dimension)
        for part in self.parts:
            found[part.number] += part.value
        return found


class Wanted(NamedTuple):
    """What is to be compared with the prediction.

    Attributes
    ----------
    token : int or None
        The token, from 0, whose label or head is to be explained; None for the output as a whole.
    instead : object
        The label, head, pair, class or set to compare with; None for the second best.
    gold : object
        The gold output to compare with, if that is wanted.
    """

    token: int | None = None
    instead: Any = None
    gold: Any = None

    def check_token(self, length: int) -> int:
        """Return the token; `InputError` if there is none."""
        if self.token is None:
            raise InputError("instead (--instead) is the label of one token: name the token too (--token)")
        if isinstance(self.token, bool) or not 0 <= self.token < length:
            raise InputError(f"there is no token {self.token + 1}: the sentence has {length} tokens (counted from 1)")
        return self.token

    def whole_only(self) -> None:
        """Raise `InputError` if a token is named where there are none."""
        if self.token is not None:
            raise InputError("token (--token) is for sentences, and these examples have no tokens: leave it out")
