"""How taggers search: which options fit together, and what exact search of order 2 may take."""

from __future__ import annotations

import warnings

from marginloom.core.prefixes import DEFAULT_BEAM, UPDATES, checked_beam, checked_update
from marginloom.errors import InputError, InputWarning
from marginloom.features import ExtractedFeatures, FeatureSet
from marginloom.features.template_lines import BEFORE

#: Of exact search of order 2, if no label can be left out.
_SECONDS_PER_TRIPLE = 5e-10


def checked_search(order: int, beam: int | None, update: str) -> int:
    """Return how many labels before a token count; `InputError` in one sentence if the options do not fit together.

    Examples
    --------
    >>> checked_search(1, 8, "early"), checked_search(1, None, "max-violation")
    (2, 1)
    """
    if isinstance(order, bool) or order not in (1, 2):
        raise InputError(f"order must be 1 or 2, the labels before a token that count, not {order!r}")
    checked_update(update)
    if beam is not None:
        checked_beam(beam)
        return 2
    if update != UPDATES[0]:
        raise InputError(
            f"update says what is learnt from a beam search, and there is none: give a beam (--beam {DEFAULT_BEAM}, "
            f"beam={DEFAULT_BEAM} in Python)"
        )
    return int(order)


def warn_of_slow_search(tokens: int, labels: int) -> None:
    """Warn if exact search of order 2 may take hours."""
    hours = tokens * labels**3 * _SECONDS_PER_TRIPLE / 3600
    if hours > 1:
        warnings.warn(
            InputWarning(
                f"exact search of order 2 looks at {labels**2:,} pairs of labels for each of {tokens:,} tokens, which "
                f"may take up to {hours:,.0f} hours a pass; a beam (--beam {DEFAULT_BEAM}) takes far less"
            ),
            stacklevel=2,
        )


def check_templates(features: FeatureSet, order: int) -> None:
    """Raise `InputError` if a template reads a label that the tagger does not look back to."""
    if order == 2:
        return
    for line in features.of_histories if isinstance(features, ExtractedFeatures) else ():
        if line.reach != BEFORE:
            raise InputError(
                f"{line.place}: the template {line.text!r} reads the label two before the token, and a tagger of first "
                "order only reads the one before; search with a beam (--beam 8), or exactly with --order 2"
            )
