"""From what users give, in Python or in files, to rows of numbers with their classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.labels.arrays import label_array, plain_labels, whole_floats
from marginloom.labels.numbered import NumberedLabels


@dataclasses.dataclass(frozen=True)
class LabelledRows:
    """Examples, one a row, with their right classes."""

    X: Any
    labels: Iterable[Any] | NumberedLabels


def as_label_array(y: Any) -> Any:
    """Return a list of labels as an array that does not change them; everything else is left to scikit-learn."""
    is_list = isinstance(y, (list, tuple)) and not any(isinstance(label, (list, tuple, np.ndarray)) for label in y)
    return label_array(y) if is_list or (isinstance(y, np.ndarray) and y.dtype.kind == "T") else y


def one_type(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels in an array of one type, or of objects if they are strings or if no type holds them."""
    if y.dtype != object:
        return y
    labels = label_array(y)
    return labels.astype(object) if labels.dtype.kind == "U" else labels


def stored_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a model stores them: strings, or whole numbers, which truth values and 1.0 become too."""
    return plain_labels(whole_floats(labels.tolist()) if labels.dtype.kind == "f" else labels)
