"""Other people's taggers behind one small interface."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

Items = Sequence[Sequence[str]]


class Crfsuite:
    """python-crfsuite with its own defaults.

    Parameters
    ----------
    algorithm : str
        ``lbfgs``, ``ap`` (averaged perceptron), ...
    **parameters
        Passed on to it.
    """

    def __init__(self, algorithm: str, **parameters: float) -> None:
        self.algorithm = algorithm
        self.parameters = parameters

    def fit(self, sentences: Iterable[tuple[Items, Sequence[str]]]) -> float:
        """Train and return the seconds that its training took, without the hand-over of the data."""
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm=self.algorithm, params=self.parameters, verbose=False)
        for items, labels in sentences:
            trainer.append(items, labels)
        with tempfile.TemporaryDirectory() as folder:
            path = os.fspath(Path(folder, "model"))
            start = time.perf_counter()
            trainer.train(path)
            seconds = time.perf_counter() - start
            self._model = Path(path).read_bytes()  # the tagger points into it
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open_inmemory(self._model)
        return seconds

    def tag(self, items: Items) -> list[str]:
        """Label one sentence."""
        labels: list[str] = self._tagger.tag(items)
        return labels
