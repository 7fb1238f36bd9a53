"""Why a classifier gives this class: differences of feature vectors of two classes, with names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.example_shares import (
    Product,
    TrainingExamples,
    check_training,
    dual_terms,
    explanation_of,
)
from marginloom.tasks.base.explanation import Compared, Explanation, FeatureWeights, Part, Wanted
from marginloom.tasks.base.row_parts import row_of, row_weights
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
    return row_weights(features, model.task_of(x).class_weights(model.weights), model.labels.names)


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
) -> Explanation:
    """Return why the classifier gives an example its class, with shares of training examples if these are given."""
    found = compared(model, X, example, wanted)
    if training is None:
        return explanation_of(model, found)

    def terms_of(state: State, delta: NDArray[np.float64]) -> tuple[TrainingExamples, Iterable[tuple[int, float]]]:
        examples = training_examples(model, training)
        check_training(state, examples.task)
        return examples, dual_terms(state, product(examples, model.labels.encode(training.labels), delta))

    return explanation_of(model, found, terms_of)
