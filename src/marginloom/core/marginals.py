"""Tasks that know how probable outputs and their parts are."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import require_memory
from marginloom.core.task import Task
from marginloom.errors import InputError

#: Stands where an output makes no choice, as gold outputs with a label that training did not see.
NO_CHOICE = np.uint32(2**32 - 1)


@dataclasses.dataclass(frozen=True)
class Tempering:
    """How scores become probabilities: p(y) is proportional to exp(score(y) / temperature + offsets of its choices).

    Attributes
    ----------
    temperature : float
        Positive; larger ones make probabilities more alike.
    offsets : array or None
        For label sets: what is added where a label is present.
    """

    temperature: float = 1.0
    offsets: NDArray[np.float64] | None = None


class Outputs(NamedTuple):
    """Outputs as choices: the label of each token, the head and label of each word, whether each label is in the set.

    Attributes
    ----------
    choices : array of uint32
        Those of all parts of all outputs in a row.
    bounds : array of uint64 or None
        The outputs of example i are those from the i-th number to before the next; None: each example has one.
    """

    choices: NDArray[np.uint32]
    bounds: NDArray[np.uint64] | None = None


class MarginalTask(Task):
    """A task whose native part computes probabilities: of outputs, and of the choices in their parts."""

    core: _core.Task

    @abstractmethod
    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the choices of all parts of all outputs that were predicted, in a row."""

    def marginals(
        self, weights: NDArray[np.float64], tempering: Tempering, outputs: Outputs, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log probabilities of the parts of outputs, and of the outputs as wholes."""
        found = self._ask(weights, tempering.offsets, [tempering.temperature], outputs, n_threads)
        return found.parts, found.wholes

    def log_likelihoods(
        self,
        weights: NDArray[np.float64],
        temperatures: list[float],
        offsets: NDArray[np.float64] | None,
        outputs: Outputs,
        n_threads: int = 1,
        first: int = 0,
    ) -> NDArray[np.float64]:
        """Return the log probabilities of the parts of outputs at several temperatures, a row for each of these.

        Scores are computed once. `outputs` are those of the examples from `first` on.
        """
        found = self._ask(weights, offsets, temperatures, outputs, n_threads, first=first)
        return found.parts.reshape(len(temperatures), -1)

    def tables(
        self, weights: NDArray[np.float64], tempering: Tempering, n_threads: int = 1
    ) -> list[NDArray[np.float64]]:
        """Return for every example the probabilities of all choices, a row for each part."""
        self.require_marginals()
        shapes = list(zip(self.core.part_counts.tolist(), self.core.choice_counts.tolist(), strict=True))
        sizes = [parts * choices for parts, choices in shapes]
        require_memory("the probabilities of all choices", {"tables": 8 * sum(sizes)}, "give fewer examples at a time")
        none = Outputs(np.zeros(0, np.uint32), np.zeros(len(sizes) + 1, np.uint64))
        found = self._ask(weights, tempering.offsets, [tempering.temperature], none, n_threads, tables=True)
        parts = np.split(found.table, np.cumsum(sizes)[:-1]) if sizes else []
        return [table.reshape(shape) for table, shape in zip(parts, shapes, strict=True)]

    def require_marginals(self) -> None:
        """Raise `InputError` where there are no probabilities, and say why."""
        if not self.core.has_marginals:
            raise InputError(self.why_no_marginals)

    @property
    def why_no_marginals(self) -> str:
        """Say in a sentence why there are no probabilities, where there are none."""
        return self.core.why_no_marginals or f"the task {self.name} has no probabilities"

    def _ask(
        self,
        weights: NDArray[np.float64],
        offsets: NDArray[np.float64] | None,
        temperatures: list[float],
        outputs: Outputs,
        n_threads: int,
        *,
        tables: bool = False,
        first: int = 0,
    ) -> _core.Marginals:
        self.require_marginals()
        request = _core.MarginalRequest(
            scales=1 / np.asarray(temperatures, dtype=np.float64),
            offsets=offsets,
            outputs=outputs.choices,
            example_bounds=outputs.bounds,
            tables=tables,
            first=first,
        )
        try:
            return self.core.marginals(weights, request, n_threads)
        except ValueError as error:
            raise InputError(str(error)) from error
