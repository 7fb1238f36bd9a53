"""What has changed in an array that every part has from the question before, so that little has to be sent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from marginloom.clusters.messages import check_finite
from marginloom.errors import PartError
from marginloom.training.world import Answer, Arrays

#: Numbers that are one place.
EACH = 4
#: Share of the numbers from which all are sent.
_MOST = 0.5

_PLACES, _NUMBERS = ":places", ":numbers"


def only_changes(common: Arrays, changed: Arrays) -> tuple[Arrays, tuple[str, ...]]:
    """Return what is sent instead of common arrays, and of which only changes are.

    Parameters
    ----------
    common : mapping
        Arrays.
    changed : mapping
        The places of those whose last version is known, see `World.ask`.

    Examples
    --------
    >>> sent, names = only_changes({"weights": np.arange(9.0)}, {"weights": np.array([1], dtype=np.uint64)})
    >>> names, sent["weights:places"].tolist(), sent["weights:numbers"].tolist()
    (('weights',), [1], [4.0, 5.0, 6.0, 7.0, 8.0])
    """
    sent: dict[str, NDArray[np.generic]] = {}
    names = []
    for name, array in common.items():
        places = changed.get(name)
        if places is not None and places.size and places[-1] == array.size // EACH:
            places = places[:-1]  # the few numbers behind the last four are always sent
        if places is None or EACH * places.size > _MOST * array.size:
            sent[name] = array
            continue
        names.append(name)
        rows, rest = _rows(array)
        sent[name + _PLACES] = places
        sent[name + _NUMBERS] = numbers = np.empty(EACH * places.size + rest.size, dtype=array.dtype)
        np.take(rows, places.astype(np.intp), out=_rows(numbers[: EACH * places.size])[0], mode="clip")
        numbers[EACH * places.size :] = rest
    return sent, tuple(names)


def with_changes(known: Answer, sent: Arrays, names: tuple[str, ...]) -> Answer:
    """Return the common arrays of a question; those that were known are changed in place.

    Parameters
    ----------
    known : dict
        Arrays of the question before.
    sent, names
        What `only_changes` has returned; `PartError` if that does not fit.

    Examples
    --------
    >>> known = {"weights": np.zeros(9)}
    >>> sent, names = only_changes({"weights": np.arange(9.0)}, {"weights": np.array([1], dtype=np.uint64)})
    >>> with_changes(known, sent, names)["weights"].tolist()
    [0.0, 0.0, 0.0, 0.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    check_finite(sent)
    changes = {name + suffix for name in names for suffix in (_PLACES, _NUMBERS)}
    result = {name: array for name, array in sent.items() if name not in changes}
    for name in names:
        result[name] = _changed(known, name, sent)
    return result


def _changed(known: Mapping[str, NDArray[np.generic]], name: str, sent: Arrays) -> NDArray[np.generic]:
    try:
        array, places, numbers = known[name], sent[name + _PLACES], sent[name + _NUMBERS]
    except KeyError as error:
        raise PartError(f"a message is damaged: it has changes of {name!r}, and no {error} is there") from error
    rows, rest = _rows(array)
    whole = EACH * places.size
    if numbers.size != whole + rest.size or (places.size and int(places.max()) >= len(rows)):
        raise PartError(f"a message is damaged: the changes of {name!r} do not fit it")
    np.put(rows, places.astype(np.intp), _rows(numbers[:whole])[0])
    rest[:] = numbers[whole:]
    return array


def _rows(array: NDArray[np.generic]) -> tuple[NDArray[np.void], NDArray[np.generic]]:
    """Return views of the places, in one piece each, and of the few numbers that are left."""
    whole = array.size // EACH * EACH
    return array[:whole].view(f"V{EACH * array.itemsize}"), array[whole:]
