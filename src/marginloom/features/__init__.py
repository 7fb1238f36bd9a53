"""Features of tokens: from words, from what the user has computed, or from matrices."""

from __future__ import annotations

from typing import Any

from marginloom.errors import InputError
from marginloom.features.base import Encoded, FeatureSet
from marginloom.features.ready import MatrixFeatures, NamedFeatures
from marginloom.features.words import Words

__all__ = [
    "FEATURE_SETS",
    "Encoded",
    "FeatureSet",
    "MatrixFeatures",
    "NamedFeatures",
    "Words",
    "make_feature_set",
]

#: Feature sets that are extracted from columns, by the name that users give.
FEATURE_SETS: dict[str, type[Words]] = {"words": Words}

#: All feature sets by the name that a model file has.
STORED: dict[str, Any] = {"words": Words, "named": NamedFeatures, "matrix": MatrixFeatures}


def make_feature_set(name: str, min_count: int = 1) -> FeatureSet:
    """Return a new feature set of that name.

    Examples
    --------
    >>> make_feature_set("words").name
    'words'
    """
    if name not in FEATURE_SETS:
        raise InputError(f"there is no feature set {name!r}; there are: {', '.join(FEATURE_SETS)}")
    return FEATURE_SETS[name](min_count)
