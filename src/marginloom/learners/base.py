"""What all learners have in common: their description, their needs and how their native part is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import Configured
from marginloom.common.registry import Type, check_parameters, declared_types
from marginloom.core.row import Row
from marginloom.errors import InputError

NEEDS = {
    "gold": "examples with their gold output",
    "loss-augmented": "loss-augmented inference",
    "k-best": "k-best inference",
    "factored": "joint features that are products of an input's features and an output's columns",
    "decisions": "outputs of independent yes-or-no decisions (such as labels that do not interact)",
    "own-slacks": "a slack of its own for every decision",
}

#: What a learner may offer to engines, of which each names what it requires.
OFFERS = {
    "batches": "one step from what was found in a batch of examples",
    "mixing": "results that can be mixed",
    "late steps": "steps on candidates that were found before other steps",
    "steps on copies": "steps on a copy of a block, made of its scores",
    "solutions in parts": "solutions of many blocks together, by examples apart",
    "own blocks": "steps that concern one block and that threads can make side by side",
}

#: Common options that C++ classes may take as parameters.
_COMMON = {"C": "float", "loss": "str", "memory": "int"}


NativeLearner: TypeAlias = _core.OnlineLearner | _core.BlockLearner | _core.PassLearner


@dataclasses.dataclass(frozen=True)
class CommonOptions:
    """What the user asked for, as a learner receives it."""

    C: float
    loss: str
    instance_weights: NDArray[np.float64]  # of the examples as users see them
    memory: int  # bytes for working sets; 0 for learners that have none


@dataclasses.dataclass(frozen=True)
class Learner(Configured):
    """How the weights move. Subclasses declare their parameters as fields."""

    #: How an engine drives it: online learners make a step of candidates, dual ones have a block of candidates for each
    #: example, and whole-pass learners are dual, have no blocks and make passes by themselves.
    kind: ClassVar[Literal["online", "dual", "whole-pass"]]
    losses: ClassVar[tuple[str, ...]]  # the objectives it can have, the default first; () if it has none
    common: ClassVar[frozenset[str]]  # which of the common options C, tol, loss and memory it uses
    needs: ClassVar[frozenset[str]]  # keys of NEEDS
    offers: ClassVar[frozenset[str]] = frozenset()  # keys of OFFERS
    #: Whether it takes all parts of a row together, where the objective does not depend on how rows are cut.
    whole_rows: ClassVar[bool] = False
    fixed: ClassVar[Mapping[str, Any]] = {}  # parameters of the C++ class that are always the same
    objective: ClassVar[str]
    update: ClassVar[str]
    #: What symbols of the objective and the update mean, where that is not what `commands/terms.py` says.
    symbols: ClassVar[Mapping[str, str]] = {}
    paper: ClassVar[str]
    default_max_iter: ClassVar[int]
    threaded: ClassVar[bool] = False  # whether it has threads of its own, on engines that have one
    #: Bytes that it keeps of every example of a native task, at least: its weight.
    example_bytes: ClassVar[int] = 8
    #: Other learners whose states it understands: it can start from them.
    takes_states_of: ClassVar[frozenset[str]] = frozenset()
    #: What to do where dual variables whose number is known in advance do not fit.
    way_to_need_less: ClassVar[str] = ""

    @classmethod
    def has_dual(cls) -> bool:
        """Tell whether it solves a dual problem, so that training ends with a certificate.

        Examples
        --------
        >>> from marginloom.learners import DCD, SGD
        >>> DCD.has_dual(), SGD.has_dual()
        (True, False)
        """
        return cls.kind != "online"

    def all_needs(self, loss: str | None = None) -> frozenset[str]:
        """Return what it needs of a task with the parameters that it has, where the objective has this loss."""
        return self.needs | (frozenset({"k-best"}) if getattr(self, "k_best", 1) > 1 else frozenset())

    def converged(self, rows: Sequence[Row]) -> str | None:
        """Return the reason to stop after the last of these rows of the trace, or None to go on."""
        return None

    def weight_copies(self, task: _core.Task) -> int:
        """Return how many vectors as large as the weights it takes beside them for a task."""
        return 0

    def vector_bytes(self, entries: int) -> int:
        """Return what it keeps of examples beside working sets, at least, where all of them have so many features."""
        return 0

    def dual_bytes(self, task: _core.Task) -> int:
        """Return what its dual variables take for a task, and a state of them again at most.

        0 if it keeps working sets instead, whose size only training shows.
        """
        return _core.learner_needs(self.native_name(), task, 1).get("duals", 0)

    def buffer_bytes(self, task: _core.Task, n_threads: int) -> int:
        """Return what it takes for the work of its threads on a task, where that can be much."""
        return _core.learner_needs(self.native_name(), task, n_threads).get("buffers", 0)

    def chosen(self, native: Any) -> dict[str, float]:
        """Return the parameters that the native learner has chosen by itself."""
        return {}

    def build(self, task: _core.Task, options: CommonOptions) -> NativeLearner:
        """Make the native learner for a task.

        The C++ class gets the parameters that it declares, whether they are the learner's or common options, and a
        number for every example: C times its weight, or the weight alone, as it is registered.
        """
        native = _native(type(self))
        given = {
            "C": options.C,
            "loss": options.loss,
            "memory": options.memory,
            **self.fixed,
            **self.native_values(),
        }
        weights = options.instance_weights
        return _core.make_learner(
            native.name,
            task,
            options.C * weights if native.takes_costs else weights,
            {parameter.name: given[parameter.name] for parameter in native.parameters},
        )


def _native(learner: type[Learner]) -> _core.RegisteredLearner:
    name = learner.native_name()
    found = [native for native in _core.registered_learners() if native.name == name]
    if len(found) == 1 and found[0].kind == learner.kind:
        return found[0]
    there = "several C++ classes are" if len(found) > 1 else "no C++ class is"
    raise InputError(
        f"the learner {learner.name} ({learner.__module__}.{learner.__qualname__}) is for the native {learner.kind} "
        f"learner {name!r}, and {there} registered under that name; see docs/adding_a_learner.md"
    )


def check_native(learner: type[Learner]) -> None:
    """Raise `InputError` if the parameters of a learner are not those of its C++ class.

    Examples
    --------
    >>> from marginloom.learners import DCD
    >>> check_native(DCD)
    """
    native = _native(learner)
    declared = {**declared_types(learner), **{name: _type_of(value) for name, value in learner.fixed.items()}}
    words = {"loss": frozenset(learner.losses)}
    for parameter in native.parameters:
        if parameter.name in learner.common & _COMMON.keys():
            declared[parameter.name] = (_COMMON[parameter.name], words.get(parameter.name, frozenset()))
    check_parameters(learner, declared, native.parameters)


def _type_of(value: Any) -> Type:
    return type(value).__name__, frozenset()
