"""Predictions that are lists: one per example, of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class OutputList(list[Any]):
    """A list of outputs that numpy takes for a row of objects, never for a table.

    scikit-learn joins the predictions of folds as arrays; plain lists would become tables where all outputs have the
    same length, and would not become arrays at all where they do not.

    Examples
    --------
    >>> outputs = OutputList([["D", "N"], ["N", "V"]])
    >>> outputs == [["D", "N"], ["N", "V"]]
    True
    >>> np.asarray(outputs).shape
    (2,)
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return an array of one dimension that holds the outputs as objects."""
        if dtype is not None and np.dtype(dtype) != np.dtype(object):
            raise TypeError(f"outputs are objects, and {np.dtype(dtype)} was asked for; flatten them first")
        if copy is False:
            raise ValueError("a list of outputs cannot become an array without a copy")
        array = np.empty(len(self), dtype=object)
        for place, output in enumerate(self):  # all at once, numpy would look into them
            array[place] = output
        return array
