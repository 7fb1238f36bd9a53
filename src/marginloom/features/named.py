"""Features that the user has already by name: strings, names with values, and what is nested of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError
from marginloom.features.base import Encoded, drop_unknown, keep_frequent
from marginloom.io.crfsuite import NAME_SEPARATOR, AttributeCorpus

#: Between the names of a nested feature: a byte that no text has, so that no other feature has the same name.
PATH_SEPARATOR = b"\xff"
#: What stood there in models of before, and so in their vocabularies.
_FORMER_SEPARATOR = b"="


class NamedFeatures:
    """Per token a list or set of strings, or a dict from name to value; or a file that holds them.

    Values are numbers (True and False count as 1 and 0), strings, or lists, sets and dicts of the same. A feature is
    the names on the way to it, so ``{"a": "b"}``, ``{"a": ["b"]}`` and ``{"a": {"b": 1}}`` are the same one, shown as
    ``a:b``, and ``"a:b"`` is another.

    Parameters
    ----------
    min_count : int
        Features seen less often in training are left out.

    Examples
    --------
    >>> features = NamedFeatures()
    >>> features.fit([[["a", "b"], {"b": 0.5, "a": {"b": True}}]]).values.tolist()
    [1.0, 1.0, 0.5, 1.0]
    >>> [features.describe(number) for number in range(features.feature_count)]
    ['b', 'a', 'a:b']
    """

    name = "named"

    def __init__(self, min_count: int = 1) -> None:
        self.min_count = min_count
        self._vocabulary = _core.Vocabulary()
        self._separator = PATH_SEPARATOR
        self._as_shown: _core.Vocabulary | None = None

    @property
    def kind(self) -> str:
        """The kind that a model file names; programs of before cannot read what they would get wrong."""
        return "named" if self._separator == _FORMER_SEPARATOR else "paths"

    def fit(self, source: Any) -> Encoded:
        """Learn the names and encode the training sentences."""
        if isinstance(source, AttributeCorpus):  # names in a file are in one piece: so are those that are nested, then
            self._separator = NAME_SEPARATOR.encode()
        sentences, tokens, features, values = self._encode(source, grow=True)
        self._vocabulary, features = keep_frequent(self._vocabulary, features, self.min_count)
        tokens, features, values = drop_unknown(tokens, features, values)
        return Encoded(sentences, tokens, features, values, len(self._vocabulary))

    def transform(self, source: Any) -> Encoded:
        """Encode other sentences; unknown features are left out."""
        return Encoded(*self._encode(source, grow=False), len(self._vocabulary))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the vocabulary as arrays."""
        tensors = vocabulary_tensors(self._vocabulary, "features")
        if self._separator != _FORMER_SEPARATOR:
            tensors["features_separator"] = np.frombuffer(self._separator, dtype=np.uint8)
        return tensors

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> NamedFeatures:
        """Make the feature set from its arrays."""
        features = cls()
        features._vocabulary = load_vocabulary(tensors, "features", separator=PATH_SEPARATOR[0])
        stored = tensors.get("features_separator")
        features._separator = _FORMER_SEPARATOR if stored is None else stored.tobytes()
        if features._separator not in (_FORMER_SEPARATOR, PATH_SEPARATOR, NAME_SEPARATOR.encode()):
            raise ValueError("the separator of names is none")
        return features

    @property
    def feature_count(self) -> int:
        """Number of features."""
        return len(self._vocabulary)

    def describe(self, feature: int) -> str:
        """Name a feature."""
        return self._vocabulary.name(feature)

    def _encode(
        self, source: Any, grow: bool
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32] | None]:
        if isinstance(source, AttributeCorpus):
            vocabulary = self._vocabulary if grow else self._vocabulary_of_files()
            return source.sentences, *source.encode_attributes(vocabulary, grow)
        try:
            rows = self._vocabulary.encode_tokens(source, grow, self._separator)
        except (TypeError, ValueError) as error:
            raise InputError(f"X: {error}") from error
        return rows.sentences, rows.tokens, rows.features, rows.values

    def _vocabulary_of_files(self) -> _core.Vocabulary:
        """Return the names as files have them, in which nothing is nested."""
        if self._separator != PATH_SEPARATOR:
            return self._vocabulary
        if self._as_shown is None:
            try:
                self._as_shown = self._vocabulary.with_names_as_shown()
            except ValueError as error:
                raise InputError(
                    f"{error} in a file of CRFsuite's format: use the model from Python, or train it with other names"
                ) from error
        return self._as_shown


__all__ = ["NamedFeatures"]
