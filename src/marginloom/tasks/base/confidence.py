"""What estimators have once they are calibrated."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

from sklearn.exceptions import NotFittedError

from marginloom.tasks.base.model import NOT_CALIBRATED


class CalibratedMethod:
    """A method that is there only after `calibrate`, so that ``hasattr`` tells whether an estimator has probabilities.

    It is the ``available_if`` of scikit-learn with an error that says what to do.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)  # type: ignore[arg-type]
        self._function = function

    def __get__(self, estimator: Any, owner: type[Any] | None = None) -> Any:
        """Return the method of an estimator; `AttributeError` before it is calibrated."""
        if estimator is None:
            return self._function
        name = f"{type(estimator).__name__}.{self._function.__name__}"
        if not hasattr(estimator, "model_"):
            raise NotFittedError(f"{name}: this estimator is not fitted yet; call fit, and then calibrate")
        if estimator.model_.calibration is None:
            raise AttributeError(f"{name}: {NOT_CALIBRATED}")
        return MethodType(self._function, estimator)


def calibrated_method(function: Callable[..., Any]) -> Any:
    """Make a method of an estimator one that is there only after `calibrate`.

    Examples
    --------
    >>> class Model:
    ...     calibration = None
    >>> class Estimator:
    ...     model_ = Model()
    ...     @calibrated_method
    ...     def predict_proba(self, X):
    ...         return X
    >>> hasattr(Estimator(), "predict_proba")
    False
    >>> Model.calibration = 1.0
    >>> Estimator().predict_proba(2)
    2
    """
    return CalibratedMethod(function)
