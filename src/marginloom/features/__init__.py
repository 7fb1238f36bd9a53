"""Features of tokens: extracted from columns by templates, computed by the user, or matrices."""

from __future__ import annotations

from typing import Any

from marginloom.features.base import Encoded, FeatureSet
from marginloom.features.extracted import ExtractedFeatures, check_feature_set
from marginloom.features.matrices import MatrixFeatures
from marginloom.features.named import NamedFeatures
from marginloom.features.word_lists import Lists

__all__ = [
    "STORED",
    "Encoded",
    "ExtractedFeatures",
    "FeatureSet",
    "Lists",
    "MatrixFeatures",
    "NamedFeatures",
    "check_feature_set",
]

#: Feature sets by the kind that a model file names.
STORED: dict[str, Any] = {
    "extracted": ExtractedFeatures,
    "matrix": MatrixFeatures,
    "named": NamedFeatures,  # of models in which a string as a value was joined to its name by =
    "paths": NamedFeatures,
}
