"""Features that the user has already as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.sparse_matrices import checked_csr
from marginloom.errors import InputError
from marginloom.features.base import MAX_FEATURES, Encoded
from marginloom.io.libsvm_sequences import LibsvmCorpus


class MatrixFeatures:
    """A matrix with a row per token, dense or sparse, with the lengths of the sentences; or one matrix a sentence.

    Examples
    --------
    >>> features = MatrixFeatures()
    >>> encoded = features.fit([np.eye(2), np.ones((1, 2))])
    >>> encoded.sentences.tolist(), encoded.feature_count
    ([0, 2, 3], 2)
    """

    kind = "matrix"
    name = "matrix"

    def __init__(self) -> None:
        self._feature_count = 0

    def fit(self, source: Any) -> Encoded:
        """Take over the number of columns and encode the training sentences."""
        sentences, matrix = _stacked(source)
        self._feature_count = int(matrix.shape[1])
        if self._feature_count > MAX_FEATURES:
            raise InputError(f"X has {self._feature_count} columns; {MAX_FEATURES} are possible")
        return self._encoded(sentences, matrix)

    def transform(self, source: Any) -> Encoded:
        """Encode other sentences, which must have the same columns."""
        sentences, matrix = _stacked(source, self._feature_count)
        if matrix.shape[1] != self._feature_count:
            raise InputError(f"X has {matrix.shape[1]} columns, and training had {self._feature_count}")
        return self._encoded(sentences, matrix)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the number of columns as an array."""
        return {"features_columns": np.array([self._feature_count], dtype=np.uint64)}

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> MatrixFeatures:
        """Make the feature set from its arrays."""
        columns = tensors["features_columns"]
        if columns.dtype != np.uint64 or columns.shape != (1,) or columns[0] > MAX_FEATURES:
            raise ValueError("the number of columns is damaged")
        features = cls()
        features._feature_count = int(columns[0])
        return features

    @property
    def feature_count(self) -> int:
        """Number of columns."""
        return self._feature_count

    def describe(self, feature: int) -> str:
        """Name a feature."""
        return f"column {feature}"

    def _encoded(self, sentences: NDArray[np.uint64], matrix: Any) -> Encoded:
        if isinstance(matrix, np.ndarray):
            values = _single_precision(matrix).reshape(-1)
            return Encoded(sentences, None, None, values, self._feature_count)
        rows = checked_csr(matrix, "X")
        values = _single_precision(rows.data)
        return Encoded(
            sentences,
            rows.indptr.astype(np.uint64),
            rows.indices.astype(np.uint32),
            None if (values == 1).all() else values,
            self._feature_count,
        )


def _single_precision(values: Any) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"X does not hold numbers: {error}") from error
    bad = np.flatnonzero(~np.isfinite(single))
    if bad.size:
        where = np.unravel_index(bad[0], single.shape)
        place = f"row {where[0]}, column {where[1]}" if single.ndim == 2 else f"stored value {where[0]}"
        raise InputError(f"X has a value that is NaN, infinite or beyond single precision at {place}")
    return single


def _stacked(source: Any, columns: int | None = None) -> tuple[NDArray[np.uint64], Any]:
    """Return sentence offsets and one matrix, from (matrix, lengths), a list of matrices, or files."""
    if isinstance(source, LibsvmCorpus):
        return source.sentences, source.matrix(columns)
    if isinstance(source, tuple):
        matrix, lengths = source
        matrix = matrix if hasattr(matrix, "tocsr") else _as_array(matrix)
        if matrix.ndim != 2:
            raise InputError(f"X must have two dimensions when lengths are given, not {matrix.ndim}")
        return sentence_offsets(lengths, matrix.shape[0]), matrix
    parts = list(source)
    if not parts:
        return np.zeros(1, dtype=np.uint64), np.zeros((0, columns or 0), dtype=np.float32)
    widths = {part.shape[1] if getattr(part, "ndim", 0) == 2 else None for part in parts}
    if len(widths) != 1 or None in widths:
        raise InputError(
            "every sentence must be a matrix with two dimensions, all with the same number of columns, as in training"
        )
    offsets = np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])]).astype(np.uint64)
    if all(isinstance(part, np.ndarray) for part in parts):
        return offsets, np.concatenate(parts)
    from scipy.sparse import csr_matrix, vstack

    rows = [
        checked_csr(part, f"X[{i}]") if hasattr(part, "tocsr") else csr_matrix(part) for i, part in enumerate(parts)
    ]
    return offsets, vstack(rows, format="csr")


def _as_array(matrix: Any) -> NDArray[Any]:
    try:
        return np.asarray(matrix)
    except ValueError as error:
        raise InputError("X is not a matrix: its rows differ in length") from error


def sentence_offsets(lengths: Any, token_count: int) -> NDArray[np.uint64]:
    """Turn the lengths of sentences into offsets, checking that they add up.

    Examples
    --------
    >>> sentence_offsets([2, 1], 3).tolist()
    [0, 2, 3]
    """
    counts = np.asarray(lengths if len(lengths) else [], dtype=None if len(lengths) else np.int64)
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise InputError("lengths must be a list of whole numbers, 0 or more")
    if int(counts.sum()) != token_count:
        raise InputError(f"lengths add up to {int(counts.sum())}, and X has {token_count} rows")
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)


__all__ = ["MatrixFeatures", "sentence_offsets"]
