"""What must hold in every case."""

from __future__ import annotations

import traceback
from pathlib import Path

import sklearn

import marginloom
from marginloom.errors import MarginloomError

ACCEPTED, REFUSED = "accepted", "refused"
_OURS, _SCIKIT_LEARN = (str(Path(package.__file__).parent) for package in (marginloom, sklearn))


def outcome(call):
    """Call a function, which may succeed or raise one of our errors; return which it did.

    Anything else goes through to the caller and is a failure of the case.
    """
    try:
        call()
    except MarginloomError as error:
        check_message(str(error))
        return REFUSED
    return ACCEPTED


def outcome_of_inputs(call):
    """Do the same, where scikit-learn's own checks of inputs may speak as well."""
    try:
        return outcome(call)
    except (TypeError, ValueError) as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        ours = max(place for place, name in enumerate(files) if name.startswith(_OURS))
        if ours + 1 < len(files) and files[ours + 1].startswith(_SCIKIT_LEARN):  # we asked it, and it answers
            return REFUSED
        raise


def check_message(message):
    assert message.strip(), "an error without words"
    assert "incompatible function arguments" not in message, f"an error for programmers: {message!r}"
    assert len(message) < 20_000, f"an error of {len(message)} letters: {message[:200]!r}"
