"""Labels as they are written in files: names, or whole numbers."""

from __future__ import annotations

import decimal
import re

from marginloom.errors import InputError
from marginloom.labels.arrays import plain_labels
from marginloom.labels.numbered import NumberedLabels

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


def written_labels(labels: NumberedLabels, strings: bool | None = None) -> NumberedLabels:
    """Return labels as they are, or for False as the whole numbers that they are; `InputError` if one is none.

    Examples
    --------
    >>> written_labels(NumberedLabels.of(["7", "+7"]), strings=False).values().tolist()
    [7, 7]
    """
    if strings is not False:
        return labels
    numbers = [whole_number(name) for name in labels.names.tolist()]
    for name, number in zip(labels.names.tolist(), numbers, strict=True):
        if number is None:
            raise InputError(f"found the label {name!r}, expected a whole number, as those of the model are")
    together = NumberedLabels.of(plain_labels(numbers))
    return NumberedLabels(together.names, together.numbers[labels.numbers])


def whole_number(label: str) -> int | None:
    """Return the whole number that a label in a file is, exactly, and None if it is a name.

    Raises
    ------
    InputError
        If it is a number, but not a whole one of 64 bits.

    Examples
    --------
    >>> whole_number("9007199254740993"), whole_number("+1"), whole_number("2.50e2"), whole_number("1_000")
    (9007199254740993, 1, 250, None)
    """
    if _NUMBER.fullmatch(label):
        try:
            number = decimal.Decimal(label)
        except decimal.InvalidOperation:  # an exponent of twenty digits or so
            number = decimal.Decimal("nan")
        if not number:
            return 0
        fits = number.is_finite() and number.adjusted() < 20 and number == number.to_integral_value()
        if fits and -(2**63) <= number < 2**64:
            return int(number)
    elif not _NO_NUMBER.fullmatch(label):
        return None
    raise InputError(f"found the label {label!r}, expected a whole number of 64 bits or a name")
