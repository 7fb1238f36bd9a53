"""Inputs of estimators for rows of numbers, checked as scikit-learn does it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from marginloom.common.sparse_matrices import check_sparse

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6 it was a method

    def validate_data(estimator: Any, *arguments: Any, **options: Any) -> Any:
        """Check inputs, and that they fit those of `fit`."""
        return estimator._validate_data(*arguments, **options)


#: What scikit-learn takes for "there is no y here", which is not None: that would be a y that was forgotten.
_WITHOUT = "no_validation"
#: More numbers than this take longer to classify than scikit-learn to check them.
_FEW = 1 << 14


def validated_rows(estimator: Any, X: Any, y: Any = _WITHOUT, **options: Any) -> Any:
    """Return X as a matrix that tasks read without a copy, and y if it is given; remember or compare its columns.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if y is given or ``reset=True``; else X must agree with them.
    X : sparse matrix or array of shape (examples, features)
        The examples.
    y : array, optional
        The right outputs.
    **options
        Of scikit-learn's ``validate_data``.

    Returns
    -------
    array or CSR matrix, or a tuple with y
        In single or double precision.
    """
    for name, given in (("X", X), ("y", y)):
        if hasattr(given, "tocsr"):
            check_sparse(given, name)
    layout = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}
    if isinstance(y, str) and y == _WITHOUT:
        if not options and _is_fine(estimator, X):
            return X
        return validate_data(estimator, X, **{"reset": False, **layout, **options})
    return validate_data(estimator, X, y, **layout, **options)


def _is_fine(estimator: Any, X: Any) -> bool:
    """Tell whether X is few rows that scikit-learn would find nothing to convert or to say of; it takes long to see."""
    if type(X) is np.ndarray:
        values, readable = X, X.flags.c_contiguous
    elif type(X) in (csr_matrix, csr_array):
        values, readable = X.data, True
    else:
        return False
    return bool(
        readable
        and X.ndim == 2
        and X.shape[0] > 0
        and 0 < X.shape[1] == estimator.n_features_in_
        and values.dtype in (np.float64, np.float32)
        and values.size <= _FEW
        and not hasattr(estimator, "feature_names_in_")
        and np.isfinite(values).all()
    )
