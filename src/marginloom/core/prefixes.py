"""What tasks with the capability ``prefixes`` share: beam search, and the prefixes that are learnt from.

Such a task builds outputs step by step and may miss the best one. A candidate is the first steps of what was found
against as many steps of the gold output; `cpp/core/prefix_update.hpp` says which. No search with a beam has
loss-augmented or k-best inference, and nothing it finds is certified.
"""

from __future__ import annotations

from marginloom.common.parameters import checked, one_of

#: Which prefix is learnt from, the default first.
UPDATES = ("max-violation", "early", "standard")
DEFAULT_BEAM = 8


def checked_beam(beam: object) -> int:
    """Return the number of states that a beam holds; `InputError` in one sentence unless it is one.

    Examples
    --------
    >>> checked_beam(8)
    8
    """
    return int(checked("beam", beam, "beam"))


def checked_update(update: object) -> str:
    """Return the name of a rule; `InputError` in one sentence unless it is one.

    Examples
    --------
    >>> checked_update("early")
    'early'
    """
    return str(checked("update", update, one_of(*UPDATES)))


def why_a_beam_lacks(searched_with: str) -> str:
    """Return the rest of a sentence on a learner that needs what a beam search has not.

    Examples
    --------
    >>> why_a_beam_lacks("method=transition")
    'beam search has none: train with perceptron or 1-best MIRA with method=transition'
    """
    return f"beam search has none: train with perceptron or 1-best MIRA with {searched_with}"
