"""Why a classifier gives this class: differences of feature vectors of two classes, with names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.example_shares import (
    Product,
    TrainingExamples,
    check_training,
    checked_state,
    dual_terms,
    example_shares,
)
from marginloom.tasks.base.explanation import Compared, Explanation, FeatureWeights, Part, Wanted, explained
from marginloom.tasks.base.row_parts import row_of
from marginloom.tasks.multiclass.features import LabelledRows
from marginloom.tasks.multiclass.model import MulticlassModel
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.state import State


def compared(model: MulticlassModel, X: Any, example: int, wanted: Wanted) -> Compared:
    """Return the predicted class of an example next to what is to be compared with it."""
    wanted.whole_only()
    x, features = row_of(X, example, model.bias)
    numbers, _ = model.predict_k_best(x, 2)
    best, other = int(numbers[0, 0]), int(numbers[0, 1])
    chosen = wanted.gold if wanted.gold is not None else wanted.instead
    if chosen is not None:
        other = _class(model, chosen)
    names, stride = model.labels.names, model.task_of(x).core.stride
    parts = [
        Part(place * stride + number, sign * value, name, str(names[number]))
        for place, value, name in features
        for number, sign in (((best, 1.0), (other, -1.0)) if best != other else ())
    ]
    return Compared(names[best], names[other], parts)


def _class(model: MulticlassModel, name: Any) -> int:
    names = model.labels.names
    return model.labels.find(next((own for own in names if str(own) == str(name)), name))


def features_of(model: MulticlassModel, X: Any, example: int) -> list[FeatureWeights]:
    """Return the features of an example with their weights."""
    x, features = row_of(X, example, model.bias)
    rows = model.task_of(x).class_weights(model.weights)
    names = [str(name) for name in model.labels.names]
    return [
        FeatureWeights(name, value, {names[c]: float(rows[place, c]) for c in np.flatnonzero(rows[place]).tolist()})
        for place, value, name in features
    ]


def training_examples(model: MulticlassModel, labelled: LabelledRows) -> TrainingExamples:
    """Return the examples that the classifier was trained on."""
    gold = model.labels.encode(labelled.labels)
    if gold.max(initial=0) >= len(model.labels.names):
        raise InputError("the training examples have classes that the model does not know: give those of its training")
    task = MulticlassTask(labelled.X, gold, len(model.labels.names), cost_matrix=model.costs, bias=model.bias)
    return TrainingExamples(task, [f"row {i + 1}" for i in range(task.core.size)])


def product(training: TrainingExamples, gold: NDArray[np.uint16], delta: NDArray[np.float64]) -> Product:
    """Return what computes d_iy.delta: by how much the gold class is ahead of another one with the weights delta."""
    task = training.task
    assert isinstance(task, MulticlassTask)
    scores = task.scores(delta)

    def of(example: int, output: bytes) -> float:
        return float(scores[example, gold[example]] - scores[example, int.from_bytes(output, "little")])

    return of


def explain(
    model: MulticlassModel,
    X: Any,
    example: int,
    wanted: Wanted,
    training: LabelledRows | None = None,
    state: State | None = None,
) -> Explanation:
    """Return why the classifier gives an example its class, with shares of training examples if these are given."""
    if training is not None:
        state = checked_state(model.state if state is None else state, model.weights)
    found = compared(model, X, example, wanted)
    shares = None
    if training is not None and state is not None:
        examples, delta = training_examples(model, training), found.difference(model.dimension)
        check_training(state, examples.task)
        terms = dual_terms(state, product(examples, model.labels.encode(training.labels), delta))
        shares = example_shares(state, examples, model.weights, delta, terms)
    return explained(found.output, found.instead, found.contributions(model.weights), shares)
