"""A difference of scores, split by the training examples that put the weights there.

The weights that belong to dual variables are w = sum of alpha_iy d_iy over examples i and wrong outputs y, with d_iy
the difference of the feature vectors of the gold output and of y. So the contribution of example i to a difference of
scores w.delta is the sum over y of alpha_iy d_iy.delta. What the weights of the model have besides, by averaging,
rounding or pruning, is a row of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom.core.task import Task
from marginloom.errors import InputError
from marginloom.tasks.base.explanation import Compared, ExampleShare, Explanation, explained
from marginloom.tasks.base.model import Model
from marginloom.training.state import State

#: Says what the row is about that no example accounts for.
REST = "weights that no example accounts for (averaging, rounding, pruning)"

#: What is said of a state whose parts do not fit together.
DAMAGED = "the saved state is damaged: its dual variables do not fit together"

#: d_iy.delta for an example and the bytes of an output.
Product = Callable[[int, bytes], float]


#: The training examples with alpha_iy d_iy.delta of all dual variables, given the state and delta.
TermsOf = Callable[[State, NDArray[np.float64]], "tuple[TrainingExamples, Iterable[tuple[int, float]]]"]


class TrainingExamples(NamedTuple):
    """The examples that a model was trained on.

    Attributes
    ----------
    task : Task
        Encoded with their gold outputs.
    texts : sequence of str
        What to show of each.
    """

    task: Task
    texts: Sequence[str]


def explanation_of(model: Model, found: Compared, terms_of: TermsOf | None = None) -> Explanation:
    """Return the difference of two scores by feature, and with the terms of training examples also by these."""
    shares = None
    if terms_of is not None:
        state, delta = checked_state(model.state, model.weights), found.difference(model.dimension)
        training, terms = terms_of(state, delta)
        shares = example_shares(training, model.weights, delta, terms)
    return explained(found.output, found.instead, found.contributions(model.weights), shares)


def checked_state(state: State | None, weights: NDArray[np.float64]) -> State:
    """Return a state with dual variables of these weights; `InputError` in a sentence otherwise."""
    if state is None:
        raise InputError(
            "the model has no saved state, which explanations by training example need: train with --save-state "
            "(warm_start=True in Python) and a dual learner"
        )
    if "constraint_duals" in state.arrays:
        raise InputError(
            f"the dual variables of the learner {state.learner} belong to constraints over all examples, and not to "
            "single ones, so they cannot be split by example; train with dcd-ssvm"
        )
    if "duals" not in state.arrays and "decision_duals" not in state.arrays:
        raise InputError(
            f"the learner {state.learner} has no dual variables, which explanations by training example need: train "
            "with a dual learner, such as dcd-ssvm"
        )
    stored = state.arrays.get("weights")
    if stored is None or stored.shape != weights.shape:
        raise InputError("the state belongs to a model with other weights: give that of this model")
    if not np.linalg.norm(stored - weights) <= 0.5 * np.linalg.norm(weights):
        raise InputError("the state belongs to other weights than those of the model: give that of this model")
    return state


def example_shares(
    training: TrainingExamples,
    weights: NDArray[np.float64],
    delta: NDArray[np.float64],
    terms: Iterable[tuple[int, float]],
) -> list[ExampleShare]:
    """Return what each training example adds to weights.delta, and what no example accounts for.

    Parameters
    ----------
    training : TrainingExamples
        The examples that the dual variables belong to.
    weights : array
        The weights of the model.
    delta : array
        The difference of the feature vectors of two outputs.
    terms : iterable of tuple
        alpha_iy d_iy.delta with the number of the example, as `dual_terms` has them.
    """
    totals: dict[int, list[float]] = {}
    for example, value in terms:
        totals.setdefault(example // training.task.core.examples_per_row, []).append(value)
    shares = [
        ExampleShare(example, training.texts[example], math.fsum(values))
        for example, values in totals.items()
        if any(values)
    ]
    used = np.flatnonzero(delta)
    whole = math.fsum(weights[used] * delta[used])
    rest = whole - math.fsum(share.contribution for share in shares)
    return [*shares, ExampleShare(None, REST, rest)]


def check_training(state: State, task: Task) -> None:
    """Raise `InputError` unless a state belongs to the examples of a task."""
    if task.fingerprint != state.fingerprint:
        raise InputError(
            "the training examples are not those that the state belongs to: give the same examples with the same gold "
            "outputs, in the same order"
        )


def dual_terms(state: State, product: Product) -> Iterator[tuple[int, float]]:
    """Yield alpha_iy d_iy.delta for all dual variables, with the numbers of the examples."""
    arrays = state.arrays
    if "duals" not in arrays:
        raise InputError(f"the dual variables of the learner {state.learner} cannot be split by example here")
    for name, size in (("duals", 0), ("dual_examples", 0), ("dual_output_offsets", 1)):
        if name not in arrays or arrays[name].shape != (arrays["duals"].size + size,):
            raise InputError(DAMAGED)
    if "dual_outputs" not in arrays or not np.isfinite(arrays["duals"]).all():
        raise InputError(DAMAGED)
    examples, duals = arrays["dual_examples"].tolist(), arrays["duals"].tolist()
    bounds, outputs = arrays["dual_output_offsets"].tolist(), arrays["dual_outputs"].tobytes()
    for j, (example, dual) in enumerate(zip(examples, duals, strict=True)):
        if dual:
            try:
                yield example, dual * product(example, outputs[bounds[j] : bounds[j + 1]])
            except (IndexError, OverflowError, TypeError, ValueError) as error:  # no such example, or no such output
                raise InputError(DAMAGED) from error


def explicit_terms(
    state: State, training: TrainingExamples, delta: NDArray[np.float64]
) -> tuple[TrainingExamples, Iterator[tuple[int, float]]]:
    """Return the training examples, checked, with their terms; of a task whose differences are lists of weights."""
    task = training.task
    check_training(state, task)

    def product(example: int, output: bytes) -> float:
        candidate = task.core.candidate(example, output)
        return 0.0 if candidate is None else float(candidate.values @ delta[candidate.indices])

    return training, dual_terms(state, product)
