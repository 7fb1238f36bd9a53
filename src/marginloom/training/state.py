"""Everything that the next iteration of a run depends on, as a value: checkpoints and warm starts are made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.learners.base import Learner
from marginloom.training.earlier import present_learner


@dataclasses.dataclass(frozen=True)
class State:
    """The state of training after some iteration.

    Attributes
    ----------
    learner : str
        Name of the learner that it belongs to. Some learners understand those of others, too.
    fingerprint : str
        Of the training examples; a state continues only on the same ones. What comes before a colon names a way to
        train, where a task has several whose states are not for each other.
    iteration : int
        Passes done.
    arrays : dict
        Weights, duals with the outputs they belong to, random state, and what else the learner has.
    problem : str
        Of everything that the objective depends on: features, losses, constraints and costs. A state of another problem
        may be a start; what does not follow from its duals is then forgotten. Empty if it is not known.
    """

    learner: str
    fingerprint: str
    iteration: int
    arrays: dict[str, NDArray[Any]]
    problem: str = ""

    def header(self) -> dict[str, Any]:
        """Return what is not an array, as a file's header has it."""
        return {
            "learner": self.learner,
            "fingerprint": self.fingerprint,
            "iteration": self.iteration,
            "problem": self.problem,
        }

    def tensors(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays under the names that they have in a file."""
        return {f"{prefix}{name}": array for name, array in self.arrays.items()}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], prefix: str) -> State:
        """Put together what `header` and `tensors` returned; `ValueError` if it is something else."""
        if not isinstance(header["learner"], str) or not isinstance(header["fingerprint"], str):
            raise ValueError("the state does not say what it belongs to")
        checked("the iteration of the state", header["iteration"], "count")
        arrays = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
        return cls(arrays=arrays, **{**header, "learner": present_learner(header["learner"], arrays)})

    def suits(self, learner: Learner) -> bool:
        """Tell whether a learner understands it.

        Examples
        --------
        >>> from marginloom.learners import DCD, FSMO
        >>> state = State("dcd", "", 1, {})
        >>> state.suits(DCD()), state.suits(FSMO())
        (True, False)
        """
        return self.learner == learner.name or self.learner in learner.takes_states_of

    def check(self, learner: Learner, fingerprint: str) -> None:
        """Raise `InputError` unless the learner understands the state, which must be on these examples."""
        if not self.suits(learner):
            raise InputError(f"the state to start from is one of the learner {self.learner}, not of {learner.name}")
        here, there = (text.rpartition(":")[0] for text in (fingerprint, self.fingerprint))
        if here != there:
            raise InputError(
                f"the state to start from was trained {_way(there)}, and now it is {_way(here)}: its weights are those "
                "of other features; train in the same way, or without that state"
            )
        if fingerprint != self.fingerprint:
            raise InputError(
                "the state to start from belongs to other training examples; dual variables only make sense for the "
                "sentences and labels, in the same order, on which they were trained"
            )


def _way(named: str) -> str:
    return f"with {named}" if named else "in the usual way"
