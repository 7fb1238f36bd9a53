"""Features of tokens: extracted from columns by templates, computed by the user, or matrices."""

from __future__ import annotations

from typing import Any

from marginloom.features.base import Encoded, FeatureSet
from marginloom.features.extracted import ExtractedFeatures, Lists, check_feature_set
from marginloom.features.ready import MatrixFeatures, NamedFeatures

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
STORED: dict[str, Any] = {kind.kind: kind for kind in (ExtractedFeatures, NamedFeatures, MatrixFeatures)}
