"""What is checked before any work: needs against capabilities, the loss, and the weights of examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.algorithms import ALGORITHMS, Algorithm
from marginloom.common.parameters import listed
from marginloom.common.threads import resolve_threads
from marginloom.core.task import Task
from marginloom.engines import ENGINES
from marginloom.engines.base import Engine
from marginloom.errors import InputError
from marginloom.learners.base import NEEDS, Learner


def check_needs(task: Task, algorithm: Algorithm, loss: str | None = None) -> None:
    """Raise `InputError`, naming both sides, if the learner or the engine needs something that the task has not.

    Examples
    --------
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> from marginloom.algorithms import find_algorithm
    >>> task = SequenceTask.from_lists([[[0]]], None, feature_count=1, label_count=2)
    >>> check_needs(task, find_algorithm("perceptron"))
    Traceback (most recent call last):
    marginloom.errors.InputError: perceptron needs examples with their gold output, and the task sequence has none
    """
    _check_side(task, algorithm.name, algorithm.learner.all_needs(loss))
    check_engine_needs(task, algorithm.engine)


def check_engine_needs(task: Task, engine: Engine) -> None:
    """Raise `InputError`, naming both sides, if the engine needs something that the task has not.

    Examples
    --------
    >>> from marginloom.engines import Pipelined
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0]]], None, feature_count=1, label_count=2)
    >>> check_engine_needs(task, Pipelined())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    marginloom.errors.InputError: the engine pipelined needs joint features that are products ...
    """
    _check_side(task, f"the engine {engine.name}", engine.needs)
    if reason := engine.why_not(task.core.capabilities):
        raise InputError(f"the engine {engine.name} does not train the task {task.name}: {reason}")


def _check_side(task: Task, side: str, needs: frozenset[str]) -> None:
    for need in sorted(needs - set(task.core.capabilities)):
        raise InputError(f"{side} needs {NEEDS[need]}, and {task.why_it_lacks(need)}")


def check_reproducible(algorithm: Algorithm, n_threads: int, *, named: bool = True) -> None:
    """Raise `InputError` if the same seed does not give the same bits; `named` tells whether users named the algorithm.

    Examples
    --------
    >>> from marginloom.algorithms import find_algorithm
    >>> check_reproducible(find_algorithm("shared-dcd"), n_threads=1)
    """
    if not algorithm.engine.gives_same_bits(n_threads):
        engine = f"the engine {algorithm.engine.name}"
        raise InputError(
            f"{f'{algorithm.name} on ' if named else ''}{engine} does not give the same bits with {n_threads} threads; "
            "train without --reproducible (reproducible=False in Python), or leave the "
            f"{'algorithm' if named else 'engine'} to auto"
        )


def check_in_parts(algorithm: Algorithm) -> None:
    """Raise `InputError` if the engine of an algorithm cannot be divided among processes.

    Examples
    --------
    >>> from marginloom.algorithms import find_algorithm
    >>> check_in_parts(find_algorithm("sgd"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    marginloom.errors.InputError: sgd does not train on a cluster, because its engine serial works in one process; ...
    """
    if not algorithm.engine.in_parts:
        engines = [name for name, engine in ENGINES.items() if engine.in_parts]
        raise InputError(
            f"{algorithm.whole_name} does not train on a cluster, because its engine {algorithm.engine.name} works in "
            f"one process; engines that work in many: {listed(engines)}"
        )


def check_threads(algorithm: Algorithm, n_threads: int | None, *, named: bool = True) -> int:
    """Return the number of threads, one for None; `InputError` that says what to do if the engine needs more.

    `named` tells whether users named the algorithm.

    Examples
    --------
    >>> from marginloom.algorithms import find_algorithm
    >>> check_threads(find_algorithm("ms-dcd"), 4)
    4
    """
    threads = 1 if n_threads is None else resolve_threads(n_threads)
    least = algorithm.engine.least_threads()
    if threads >= least:
        return threads
    given = {None: "a named algorithm has one by default", -1: f"this process may use only {threads} core"}.get(
        n_threads, f"{threads} was given"
    )
    with_fewer = [
        name
        for name, preset in ALGORITHMS.items()
        if type(preset.learner) is type(algorithm.learner) and preset.engine.least_threads() <= threads
    ]
    instead = f", or use {with_fewer[0]}" if named and with_fewer else ""
    engine = f"engine {algorithm.engine.name}"
    needs = f"needs at least {least} threads"
    raise InputError(
        f"{f'{algorithm.name} {needs} for its {engine}' if named else f'the {engine} {needs}'}, and {given}; give "
        f"--threads {least} (n_threads={least} in Python) or more{instead}"
    )


def check_loss_name(loss: str | None) -> None:
    """Raise `InputError` if there is no such loss.

    Examples
    --------
    >>> check_loss_name("hinge")
    """
    if loss is not None and loss not in ("hinge", "squared_hinge"):
        raise InputError(f"loss must be 'hinge' or 'squared_hinge', not {loss!r}")


def check_loss(learner: Learner, loss: str | None) -> str | None:
    """Return the loss that a learner will have, its own if none is asked for; `InputError` if it cannot have it.

    Examples
    --------
    >>> from marginloom.learners import DCD
    >>> check_loss(DCD(), None)
    'squared_hinge'
    """
    check_loss_name(loss)
    if not learner.losses:
        return None
    if loss is not None and loss not in learner.losses:
        raise InputError(f"the learner {learner.name} has the loss {' and '.join(learner.losses)}, not {loss}")
    return loss or learner.losses[0]


_COST_RANGE = (1e-100, 1e100)


def checked_sample_weight(sample_weight: ArrayLike | None, size: int, C: float) -> NDArray[np.float64]:
    """Return one finite weight per example, not all 0, whose product with C is within the range of numbers.

    Examples
    --------
    >>> checked_sample_weight([1, 0], 2, C=0.1).tolist()
    [1.0, 0.0]
    """
    weights = np.ones(size) if sample_weight is None else checked_weights(sample_weight, size)
    with np.errstate(over="ignore", under="ignore"):
        costs = C * weights[weights > 0]
    if costs.size and not _COST_RANGE[0] <= costs.min() <= costs.max() <= _COST_RANGE[1]:
        raise InputError(
            f"C times the weight of an example must lie between {_COST_RANGE[0]} and {_COST_RANGE[1]}, "
            f"and here it reaches from {costs.min()} to {costs.max()}"
        )
    return weights


def checked_weights(sample_weight: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return one finite weight per example, not all 0.

    Examples
    --------
    >>> checked_weights([1, 0], 2).tolist()
    [1.0, 0.0]
    """
    try:
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("sample_weight must be a sequence of numbers") from error
    if weights.shape != (size,):
        raise InputError(f"sample_weight must have one number per example, {size}, not the shape {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise InputError(f"sample_weight[{bad[0]}] must be finite and not negative, not {weights[bad[0]]}")
    if size and not weights.any():
        raise InputError("sample_weight is zero for every example, which leaves nothing to learn from")
    return weights
