"""What all tasks have in common on the Python side."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import ClassVar

from numpy.typing import ArrayLike

from marginloom import _core
from marginloom.tasks.base.choice import Choice, Circumstances, usual_choice


class Task(ABC):
    """What is predicted: examples, features, loss and inference, all in a native task.

    Attributes
    ----------
    core : _core.Task
        The native task.
    fingerprint : str
        Identifies the examples and their right outputs, for warm starts and checkpoints.
    """

    name: ClassVar[str]
    core: _core.Task

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

    def choose(self, circumstances: Circumstances) -> Choice:
        """Return the algorithm that ``auto`` stands for: a fixed rule, which does not look at the clock."""
        return usual_choice(self.core.capabilities, circumstances)

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return "take fewer features or labels"

    def example_weights(self, sample_weight: ArrayLike | None) -> ArrayLike | None:
        """Return the weights of the native task's examples, given those of what users see as examples."""
        return sample_weight
