"""What all tasks have in common on the Python side."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.core.choice import Choice, Circumstances, Costs, usual_choice
from marginloom.errors import CertificateError, InputError
from marginloom.tasks.registry import name_of


class Task(ABC):
    """What is predicted: examples, features, loss and inference, all in a native task.

    Attributes
    ----------
    core : _core.Task
        The native task.
    fingerprint : str
        Identifies the examples and their right outputs, for warm starts and checkpoints.
    """

    core: _core.Task

    @property
    def name(self) -> str:
        """Its name in code, from the registry; that of its class if it is not registered."""
        return name_of(type(self))

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Identify the examples and their right outputs."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify everything that training depends on, by the name of the setting, for checkpoints."""
        return {"examples": self.fingerprint}

    @property
    def identity(self) -> str:
        """Identify the problem: two tasks with the same one have the same outputs, features and losses."""
        return json.dumps(self.fingerprints, sort_keys=True)

    @property
    def example_count(self) -> int:
        """Number of examples as users see them; the native task may make several of each."""
        return self.core.size // self.core.examples_per_row

    @property
    @abstractmethod
    def memory(self) -> int:
        """Bytes that the examples take."""

    @property
    def entries(self) -> int:
        """Features of all examples together; 0 if that is not known."""
        return 0

    @property
    def buffer_bytes(self) -> int:
        """Bytes that the inference of one thread takes, where they can be many."""
        return 0

    @property
    def pass_work(self) -> float:
        """Products of a feature with a weight in a pass of inference, roughly, or what takes as long."""
        return 1000.0 * self.core.size

    @property
    def costs(self) -> Costs:
        """What passes and steps cost: an output with a dual for every example, and differences that may be dense."""
        size, weights = self.core.size, self.core.dimension
        return Costs(weights, self.pass_work, size, weights / 2)

    def choose(self, circumstances: Circumstances) -> Choice:
        """Return the algorithm that ``auto`` stands for: a fixed rule, which does not look at the clock."""
        choice = usual_choice(self.core.capabilities, circumstances)
        return dataclasses.replace(choice, newton_passes=self.costs.newton_passes)

    def why_it_lacks(self, need: str) -> str:
        """Say why a learner or an engine that needs this cannot have it: the rest of a sentence.

        Parameters
        ----------
        need : str
            A key of `marginloom.learners.base.NEEDS` that is not among the capabilities.
        """
        return f"the task {self.name} has none"

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return "take fewer features or labels"

    def _predictions(self, weights: NDArray[np.float64], n_threads: int, k: int) -> _core.Predictions:
        """Return the k best outputs of every example, as the native task has them."""
        try:
            return self.core.predict(weights, n_threads, k)
        except ValueError as error:
            raise InputError(str(error)) from error

    def contradiction(self, bounds: str) -> Exception:
        """Return the error for a dual above the primal, which no rounding explains."""
        return CertificateError(
            f"the certificate has {bounds}, so one of them is wrong: this is a bug, please report it"
        )
